"""The faults, a file a group. Each strikes while jobs flow, and says what must hold beside rows and file."""
