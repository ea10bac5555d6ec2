"""JobsPlatform with the defaults that it ships with."""
