"""Every setting of the platform: parsed once from the environment, validated whole, immutable.

This is the only file that reads the environment. Everyone else asks ``get()``. The settings themselves are
listed in ``config_schema``.

A profile (``local``, ``private``, ``cloud``) is only a set of defaults. Nested settings join section and
name by two underscores (``TASKS__BATCH``). An empty variable counts as not set. Lists are separated by
commas, or written as JSON.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from django.conf import settings
from pydantic import TypeAdapter, ValidationError

from jobsplatform.kernel import config_faults, secret
from jobsplatform.kernel.config_schema import PROFILE_DEFAULTS, SECTIONS, Config, field_of, variables
from jobsplatform.kernel.database_url import DatabaseUrlError, parse
from jobsplatform.kernel.errors import ConfigError


def load(environ: Mapping[str, str]) -> Config:
    """The configuration that ``environ`` describes.

    Raises ``ConfigError`` that lists every fault at once. In the local profile a missing SECRET_KEY is
    made once and kept in the data folder.
    """
    known = variables()
    faults = config_faults.unknown_names(environ, known, SECTIONS)
    values: dict[str, Any] = {}
    bad: set[str] = set()
    for variable, path in known.items():
        raw = environ.get(variable, "").strip()
        if not raw:
            continue
        try:
            _put(values, path, _parse(path, raw))
        except (ValidationError, ValueError):
            faults.append(config_faults.wrong_value(variable, field_of(path), raw))
            bad.add(variable)
    return _complete(values, faults, bad)


def from_mapping(values: Mapping[str, Any]) -> Config:
    """The configuration of a host project: its ``JOBSPLATFORM = {…}`` setting, nested, lower case.

    Raises ``ConfigError`` that lists every fault.
    """
    try:
        checked = Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(config_faults.summary(config_faults.of_validation(error))) from None
    return _complete(checked.model_dump(exclude_unset=True), [], set())


def or_exit() -> Config:
    """``load`` for this process's environment; a wrong one is told on stderr and exits with 2."""
    try:
        return load(os.environ)
    except ConfigError as error:
        lines = "\n".join(f"  {line}" for line in error.message.splitlines())
        sys.stderr.write(f"The environment is wrong:\n{lines}\n")
        raise SystemExit(2) from None


def colours_wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a terminal may be painted: no, when NO_COLOR holds anything (no-color.org) or TERM is dumb."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


_loaded: tuple[object, Config] | None = None
_override: Config | None = None


def get() -> Config:
    """The configuration in force: ``settings.JOBSPLATFORM``, or what ``override`` put before it."""
    global _loaded
    if _override is not None:
        return _override
    # Django keeps a setting that was asked for here, until it changes; asking it again costs far more.
    kept = object.__getattribute__(settings, "__dict__").get("JOBSPLATFORM")
    if type(kept) is Config:
        return kept
    setting = getattr(settings, "JOBSPLATFORM", None) or {}
    if isinstance(setting, Config):
        return setting
    if _loaded is None or _loaded[0] is not setting:
        _loaded = (setting, from_mapping(setting))
    return _loaded[1]


def django_setting(name: str) -> Any:
    """One of Django's own settings, or None where it is not set."""
    return getattr(settings, name, None)


@contextmanager
def override(**nested: Any) -> Iterator[Config]:
    """Change settings for a while, in all threads (for tests).

    ``override(redis_url="", tasks={"batch": 1})``; values are validated, unknown names raise ConfigError.
    """
    global _override
    before = _override
    values = get().model_dump()
    for name, value in nested.items():
        values[name] = {**values[name], **value} if name in SECTIONS and isinstance(value, Mapping) else value
    try:
        changed = Config.model_validate(values)
    except ValidationError as error:
        raise ConfigError(config_faults.summary(config_faults.of_validation(error))) from None
    _override = changed
    try:
        yield changed
    finally:
        _override = before


def _parse(path: tuple[str, ...], raw: str) -> Any:
    field = field_of(path)
    whole: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    return TypeAdapter(whole).validate_python(config_faults.decoded(field.annotation, raw))


def _put(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for part in path[:-1]:
        values = values.setdefault(part, {})
    values[path[-1]] = value


def _complete(values: dict[str, Any], faults: list[str], bad: set[str]) -> Config:
    """Fill in what the profile implies, look at contradictions, and build; raise with all faults."""
    profile = values.get("profile", "local")
    for name, default in PROFILE_DEFAULTS[profile].items():
        if name in SECTIONS:
            values[name] = {**default, **values.get(name, {})}
        else:
            values.setdefault(name, default)
    config = Config.model_validate(values)
    changes: dict[str, Any] = {"data_dir": config.data_dir.expanduser().absolute()}
    if not config.secret_key and "SECRET_KEY" not in bad:
        changes["secret_key"] = _default_secret(profile, changes["data_dir"], faults)
    if not config.database_url and "DATABASE_URL" not in bad:
        changes["database_url"] = _default_database(profile, changes["data_dir"], faults)
    faults.extend(config_faults.url_fault("REDIS_URL", config.redis_url, config_faults.REDIS_SCHEMES))
    broker = config.celery_broker_url
    faults.extend(config_faults.url_fault("CELERY_BROKER_URL", broker, config_faults.BROKER_SCHEMES))
    if not config.celery_broker_url:
        changes["celery_broker_url"] = _broker_at(config.redis_url) or "memory://"
    config = config.model_copy(update=changes)
    if config.database_url:
        try:
            parse(config.database_url)
        except DatabaseUrlError as error:
            faults.append(f"DATABASE_URL: {error}")
    faults.extend(config_faults.contradictions(config, bad))
    if faults:
        raise ConfigError(config_faults.summary(faults), faults=faults)
    return config


def _broker_at(redis_url: str) -> str:
    """The broker on this Redis: a Unix socket is spelled differently there."""
    scheme, found, rest = redis_url.partition("unix://")
    return f"redis+socket://{rest.replace('?db=', '?virtual_host=')}" if found and not scheme else redis_url


def _default_secret(profile: str, data_dir: Path, faults: list[str]) -> str:
    if profile != "local":
        faults.append(
            f"SECRET_KEY: the profile {profile} needs one: expected 50 random characters or more, got none."
        )
        return ""
    try:
        return secret.kept_in(data_dir)
    except OSError as error:
        faults.append(f"DATA_DIR: expected a folder to write to, got {str(data_dir)!r} ({error.strerror}).")
        return ""


def _default_database(profile: str, data_dir: Path, faults: list[str]) -> str:
    if profile != "local":
        faults.append(
            f"DATABASE_URL: the profile {profile} needs one: expected "
            "postgresql://user:password@host:5432/name, got none."
        )
        return ""
    return f"sqlite:///{data_dir / 'jobsplatform.sqlite3'}"
