"""Job types that keep an installation clean and tell what is wrong with it."""
