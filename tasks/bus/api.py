"""The methods as a django-ninja API: its schema, and how a body becomes the input of a method."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import ValidationError
from ninja.parser import Parser

import jobsplatform
from jobsplatform.kernel.errors import did_you_mean
from tasks.bus import events, jobs, many, running, task_queue
from tasks.bus.calls import Call, Method
from tasks.bus.errors import CODES, Refusal, invalid
from tasks.bus.quotas import take_quota
from tasks.bus.schemas import ErrorOutput
from tasks.json_values import path_of

SERVICES = (jobs, running, many, events, task_queue)
"""Modules with ``METHODS``; a service is mounted by being named here."""

METHODS: Mapping[str, Method] = {method.name: method for service in SERVICES for method in service.METHODS}

MOST_FAULTS = 20

_PROBLEMS = {"extra_forbidden": "unknown field", "missing": "missing"}


class Parsed(Parser):
    """The door has parsed the body already."""

    def parse_body(self, request: HttpRequest) -> Any:
        return request.bus_body


class Api(NinjaAPI):
    """Every error goes to the door, which gives it the one shape."""

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        raise exc


api = Api(
    title="JobsPlatform bus",
    version=jobsplatform.__version__,
    description="For sidecars: create jobs, run some of them, report progress. One POST a method, JSON both ways.",
    urls_namespace="bus",
    openapi_url=None,
    docs_url=None,
    parser=Parsed(),
)


def answer(
    body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """A JSON answer; nobody on the way keeps it."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    response = HttpResponse(text.encode(), status=status, content_type="application/json")
    response["Cache-Control"] = "no-store"
    for name, value in (headers or {}).items():
        response[name] = value
    return response


def _view(method: Method) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, given: Any) -> HttpResponse:
        call: Call = request.bus_call
        take_quota(call, method, given)
        return answer(method.run(call, given))

    view.__name__ = method.name.replace(".", "_")
    view.__annotations__ = {"request": HttpRequest, "given": method.takes, "return": HttpResponse}
    return view


def _mount(method: Method) -> None:
    statuses = sorted({code.status for code in CODES.values()})
    api.post(
        f"/{method.name}",
        response={200: method.gives, **dict.fromkeys(statuses, ErrorOutput)},
        operation_id=method.name.replace(".", "_"),
        summary=method.about,
        description=f"Needs the scope `{method.scope}`.",
        tags=[method.name.partition(".")[0]],
        openapi_extra={"security": [{"token": []}]},
    )(_view(method))


for _method in METHODS.values():
    _mount(_method)

_patterns, _, _ = api.urls
VIEWS: Mapping[str, Callable[..., HttpResponse]] = {str(each.pattern): each.callback for each in _patterns}


def method_named(name: str) -> Method:
    """The method. Raises Refusal: METHOD_UNKNOWN, with the nearest."""
    method = METHODS.get(name)
    if method is None:
        shown = name if len(name) <= 100 else name[:100] + "…"
        raise Refusal("METHOD_UNKNOWN", f"There is no method {shown!r}.{did_you_mean(name[:100], METHODS)}")
    return method


def run(method: Method, request: HttpRequest, call: Call, body: dict[str, Any]) -> HttpResponse:
    """Validate ``body``, call the method and answer. Raises Refusal and what the method raises."""
    request.bus_call, request.bus_body = call, body
    try:
        return VIEWS[method.name](request)
    except ValidationError as error:
        raise invalid(*(_fault(each) for each in error.errors[:MOST_FAULTS])) from None


def _fault(error: Mapping[str, Any]) -> tuple[str, str]:
    # In front stand "body" and the name of the view's argument; a union adds the name of each of its kinds.
    where = path_of(tuple(error["loc"][2:]))
    problem = _PROBLEMS.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
    return where, problem


def schema() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    document: dict[str, Any] = api.get_openapi_schema(path_prefix="/bus/v1/")
    document.setdefault("components", {})["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "A token of an app, jp_…"}
    }
    return document
