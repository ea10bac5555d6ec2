"""Django's settings, all of them derived from the platform's own configuration (docs/settings.md)."""

from __future__ import annotations

import zoneinfo
from importlib.util import find_spec
from pathlib import Path

from jobsplatform.kernel import config as configuration
from jobsplatform.kernel.database_url import parse
from jobsplatform.unfold import UNFOLD as UNFOLD

# Zone rules come from the pinned tzdata package: a slot must not move because a machine's files are old.
zoneinfo.reset_tzpath(())

JOBSPLATFORM = configuration.or_exit()

BASE_DIR = Path(__file__).resolve().parent.parent
# What the docs page of the bus shows. As an app the package would be loaded by workers too, with Django's test client,
# which it imports: 6 MiB.
NINJA = Path(find_spec("ninja").origin).parent  # type: ignore[arg-type, union-attr]

SECRET_KEY = JOBSPLATFORM.secret_key
DEBUG = JOBSPLATFORM.debug
ALLOWED_HOSTS = list(JOBSPLATFORM.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(JOBSPLATFORM.csrf_trusted_origins)

INSTALLED_APPS = [
    "jobsplatform.admin_site.Looks",
    "unfold.contrib.filters",
    "jobsplatform.admin_site.Admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "jobsplatform.kernel",
    "django_celery_beat",
    "tasks",
    "scheduler",
    *(
        app
        for app in dict.fromkeys(JOBSPLATFORM.apps)
        if app not in ("jobsplatform.kernel", "django_celery_beat", "tasks", "scheduler", "jobsplatform")
    ),
    # Last: its ready() sees what all others have registered.
    "jobsplatform",
]

MIDDLEWARE = [
    "jobsplatform.kernel.middleware.request_context",
    "django.middleware.security.SecurityMiddleware",
    "jobsplatform.kernel.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "jobsplatform.kernel.middleware.user_context",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "jobsplatform.urls"
ASGI_APPLICATION = "jobsplatform.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates", NINJA / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": parse(JOBSPLATFORM.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
AUTHENTICATION_BACKENDS = ["jobsplatform.kernel.login.LimitedBackend"]
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = JOBSPLATFORM.time_zone

STATIC_URL = "/static/"
STATICFILES_DIRS = [NINJA / "static"]
# Every web process serves the static files of its packages; there is no collecting step.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

# Set up by jobsplatform.telemetry, for every process in the same way.
LOGGING_CONFIG = None

# Tasks of reusable apps run as jobs, in whichever of our queues they name.
TASKS = {
    "default": {"BACKEND": "tasks.backend.JobsBackend", "QUEUES": list(JOBSPLATFORM.tasks.queues)},
}

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = JOBSPLATFORM.profile == "cloud"
SESSION_COOKIE_HTTPONLY = True
DATA_UPLOAD_MAX_MEMORY_SIZE = JOBSPLATFORM.tasks.params_max_bytes * 4
