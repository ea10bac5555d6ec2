"""Celery's own beat: entries in a mapping, kept in a file."""
