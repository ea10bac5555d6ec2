"""Calling a URL without being used to reach what only this machine can."""
