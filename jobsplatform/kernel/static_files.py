"""Static files of the installed packages, from every web process."""

from __future__ import annotations

from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):
    """WhiteNoise, except that an async server gets the whole file at once: Django would read it whole there
    too, and warn at each."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> Any:
        """The answer to a request for ``static_file``, or for a part of it."""
        if not isinstance(request, ASGIRequest):
            return WhiteNoiseMiddleware.serve(static_file, request)
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        return response
