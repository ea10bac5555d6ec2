"""celery-redbeat: schedules as keys in Redis."""
