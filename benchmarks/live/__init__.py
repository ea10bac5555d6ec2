"""The live feed and the bus, measured on one web process."""
