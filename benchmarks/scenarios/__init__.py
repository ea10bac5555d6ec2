"""What is measured: one scenario a file, each giving one or more rows."""
