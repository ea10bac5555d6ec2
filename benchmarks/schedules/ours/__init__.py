"""JobsPlatform's scheduler with the defaults that it ships with."""
