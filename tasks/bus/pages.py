"""The schema and its page: for whoever has a token, and for staff."""

from __future__ import annotations

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template import TemplateDoesNotExist
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from ninja.openapi.docs import Swagger

from jobsplatform.kernel.login import address_of
from tasks.bus import api
from tasks.bus.auth import authenticate
from tasks.bus.door import door
from tasks.bus.errors import Refusal

View = Callable[[HttpRequest], HttpResponse]


def _for_readers(name: str, view: View) -> View:
    @csrf_exempt
    def guarded(request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD"):
            return door(request, name)
        if not _is_staff(request):
            try:
                authenticate(request.META.get("HTTP_AUTHORIZATION", ""), address_of(request))
            except Refusal as refusal:
                return api.answer(refusal.body, refusal.status, refusal.headers)
        return view(request)

    return guarded


def _is_staff(request: HttpRequest) -> bool:
    user = getattr(request, "user", None)
    return user is not None and user.is_active and user.is_staff


def _openapi(request: HttpRequest) -> HttpResponse:
    return JsonResponse(api.schema())


def _docs(request: HttpRequest) -> HttpResponse:
    options = {**Swagger.default_settings, "url": reverse("bus:openapi-json")}
    shown = {"swagger_settings": json.dumps(options), "api": api.api, "add_csrf": False}
    try:
        return render(request, Swagger.template, shown)
    except TemplateDoesNotExist:  # in a project that does not know the package's folder
        return api.api.docs.render_page(request, api.api)


openapi = _for_readers("openapi.json", _openapi)
docs = _for_readers("docs", _docs)
