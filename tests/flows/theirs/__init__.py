"""An app that was there before the platform: Celery tasks, and tasks of Django, of its own."""
