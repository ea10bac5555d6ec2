"""A sidecar's view of the bus, in this process: every answer is held against its schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.test import Client

from jobsplatform.kernel import app_rows, clock, tokens
from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.models import AppToken
from tasks.bus import api
from tasks.bus.errors import CODES
from tasks.bus.schemas import ErrorOutput

ACTOR = Actor("tester", "user")


@dataclass(frozen=True)
class Answer:
    """Status, headers and body of an answer."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The error's code; empty for a success."""
        return self.body["error"]["code"] if "error" in self.body else ""


class BusClient:
    """``call`` sends one method; ``ok`` and ``refused`` say what is expected and give the body or the code's error."""

    def __init__(self, app_id: str, text: str, token: AppToken | None) -> None:
        self.app_id = app_id
        self.text = text
        self.token = token
        self.django = Client()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}"}

    def call(self, method: str, body: Any = None, **headers: str) -> Answer:
        """POST one method; ``body`` is any JSON value, or bytes as they are."""
        raw = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        return self.send("POST", method, raw, **headers)

    def send(self, verb: str, method: str, raw: bytes = b"", **headers: str) -> Answer:
        """One HTTP request to a method's address, by whatever verb."""
        response = self.django.generic(
            verb,
            f"/bus/v1/{method}",
            raw,
            content_type="application/json",
            headers={**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}},
        )
        text = response.content
        answer = Answer(response.status_code, json.loads(text) if text else {}, dict(response.headers))
        check(method, answer)
        return answer

    def ok(self, method: str, body: Any = None, **headers: str) -> dict[str, Any]:
        """The body of a success."""
        answer = self.call(method, body, **headers)
        assert answer.status == 200, answer.body
        return answer.body

    def refused(self, code: str, method: str, body: Any = None, **headers: str) -> dict[str, Any]:
        """The error of a refusal with this code."""
        answer = self.call(method, body, **headers)
        assert answer.code == code, answer.body
        return answer.body["error"]


def check(method: str, answer: Answer) -> None:
    """The answer is what the schema of the method says."""
    if answer.status == 200:
        api.METHODS[method.partition("?")[0]].gives.model_validate(answer.body, strict=True)
        return
    ErrorOutput.model_validate(answer.body, strict=True)
    assert CODES[answer.code].status == answer.status, answer.body


def make_client(
    app_id: str = "video",
    scopes: Sequence[str] | None = None,
    *,
    name: str = "test",
    expires_at: datetime | None = None,
    quotas: dict[str, int] | None = None,
) -> BusClient:
    """A client with a new token of the app, which is made when it is new; all scopes unless told."""
    app, _ = app_rows.ensure(app_id, actor=ACTOR)
    if quotas is not None:
        app.quotas = quotas
        app.save(update_fields=["quotas"])
    token, text = tokens.mint(
        app,
        name=name,
        scopes=tokens.SCOPES if scopes is None else scopes,
        expires_at=expires_at,
        actor=ACTOR,
        now=clock.now(),
    )
    return BusClient(app_id, text, token)


MakeClient = Callable[..., BusClient]
