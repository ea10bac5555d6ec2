"""Celery without results: messages in Redis, no record of what ran."""
