"""A module that no process has imported yet when its job is there."""
