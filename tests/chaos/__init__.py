"""The platform under fire, as a part of the suite."""
