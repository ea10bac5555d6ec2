"""The admin user of a machine that nobody has set up yet: ``admin``, with a random password."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth import get_user_model

NAME = "admin"
FILE_NAME = "admin_password"


@dataclass(frozen=True, slots=True)
class FirstAdmin:
    """``password`` only when it has just been made; ``file`` only while it holds a password."""

    name: str
    password: str | None
    file: Path | None


def ensure(folder: Path) -> FirstAdmin:
    """The user ``admin``, made when there is none. The password is kept in ``folder``, for its owner only."""
    users = get_user_model()
    path = folder / FILE_NAME
    if users._default_manager.filter(**{users.USERNAME_FIELD: NAME}).exists():
        return FirstAdmin(NAME, None, path if path.exists() else None)
    password = secrets.token_urlsafe(12)
    _keep(path, password)
    users._default_manager.create_superuser(**{users.USERNAME_FIELD: NAME, "email": "", "password": password})
    return FirstAdmin(NAME, password, path)


def _keep(path: Path, password: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{password}\n")
