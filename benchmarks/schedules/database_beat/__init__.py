"""django-celery-beat: schedules as rows, loaded whole by its scheduler."""
