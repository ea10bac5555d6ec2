"""Celery in a Django project, with django-celery-results keeping what became of each task."""
