"""Schedules from elsewhere: crontabs, and the tables of django-celery-beat."""
