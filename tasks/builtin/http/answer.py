"""What of an answer is kept: bounded, and without anything that was sent as a secret. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobsplatform.kernel.errors import ParamsInvalid
from tasks.json_values import check_json

REDACTED = "[redacted]"
TEXT_CHARACTERS = 64 * 1024
SHORTEST_SECRET = 6
_TEXT_TYPES = (
    "text/",
    "application/json",
    "application/xml",
    "application/javascript",
    "application/x-www-form",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The last answer of a call, after redirects."""

    status: int
    content_type: str
    retry_after: str
    body: bytes
    truncated: bool
    url: str  # without its query
    redirects: int


def kept(answer: Answer, secrets: Sequence[str]) -> dict[str, Any]:
    """The job's result. A JSON body is stored as ``json``, another text as ``text``, others by size alone.

    A server may send back what it was sent: each of ``secrets`` is blotted out.
    """
    result: dict[str, Any] = {
        "status": answer.status,
        "url": answer.url,
        "redirects": answer.redirects,
        "content_type": answer.content_type[:200],
        "bytes": len(answer.body),
        "truncated": answer.truncated,
    }
    kind, charset = _type_and_charset(answer.content_type)
    if not answer.body or not (kind.startswith(_TEXT_TYPES) or kind.endswith(("+json", "+xml"))):
        return result
    text = without(_decoded(answer.body, charset), secrets)
    if answer.truncated:
        text = text[: -max(map(len, secrets), default=0) or None]  # the cut may have split a secret
    if kind.endswith("json") and not answer.truncated and len(text) <= TEXT_CHARACTERS:
        try:
            result["json"] = check_json(json.loads(text, parse_constant=_refuse), what="body")
            return result
        except (ValueError, RecursionError, ParamsInvalid):
            pass  # kept as text
    result["text"] = text[:TEXT_CHARACTERS]
    result["truncated"] = answer.truncated or len(text) > TEXT_CHARACTERS
    return result


def without(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret blotted out, also as JSON would write it."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, json.dumps(secret)[1:-1]}:
            text = text.replace(form, REDACTED)
    return text


def secrets_of(headers: dict[str, str], harmless: frozenset[str]) -> list[str]:
    """The header values that may be secrets, and what follows a scheme like ``Bearer``.

    Very short values are left out: blotting out every ``1`` helps nobody.
    """
    found: set[str] = set()
    for name, value in headers.items():
        if name.lower() in harmless:
            continue
        value = value.strip()
        found.update((value, value.partition(" ")[2].strip()))
    return [value for value in found if len(value) >= SHORTEST_SECRET]


def _type_and_charset(header: str) -> tuple[str, str]:
    kind, *options = (part.strip().lower() for part in header.split(";"))
    charsets = [option.partition("=")[2].strip("\"'") for option in options if option.startswith("charset=")]
    return kind, charsets[0] if charsets else "utf-8"


def _decoded(body: bytes, charset: str) -> str:
    try:
        text = body.decode(charset, "replace")
    except (LookupError, ValueError):
        text = body.decode("utf-8", "replace")
    return "".join("\ufffd" if mark == "\x00" or "\ud800" <= mark <= "\udfff" else mark for mark in text)


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
