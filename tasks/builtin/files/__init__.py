"""Scanning a tree of files: planning, measuring one file, adding up, and the two job types."""
