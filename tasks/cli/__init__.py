"""What the commands share: exit codes, the base command, tables, the progress bar, reading of arguments."""
