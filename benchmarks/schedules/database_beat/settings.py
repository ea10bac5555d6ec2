"""The same Django project as ``startproject`` makes it, with the app of the schedules."""

from __future__ import annotations

from benchmarks.systems.celery_results import settings as project

SECRET_KEY = project.SECRET_KEY
USE_TZ = project.USE_TZ
INSTALLED_APPS = [*project.INSTALLED_APPS, "django_celery_beat"]
MIDDLEWARE = project.MIDDLEWARE
ROOT_URLCONF = project.ROOT_URLCONF
TEMPLATES = project.TEMPLATES
STATIC_URL = project.STATIC_URL
DATABASES = project.DATABASES
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
