"""What is measured of schedulers: one scenario a file, each giving one or more rows."""
