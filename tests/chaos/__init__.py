"""The platform under fire."""
