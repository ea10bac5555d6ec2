"""What all our screens share: nothing is added, edited or deleted in a form; each verb has an address of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin import helpers
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, checkbox

from jobsplatform.kernel.audit import Actor
from jobsplatform.kernel.errors import PlatformError
from tasks.admin.paging import CappedList, CappedPaginator

View = Callable[..., HttpResponseBase]


def actor_of(request: HttpRequest) -> Actor:
    """The logged-in user as the audit trail names them."""
    user: Any = request.user
    return Actor(user.get_username(), "user", ip=request.META.get("REMOTE_ADDR", ""))


def refuse(request: HttpRequest, error: PlatformError) -> None:
    """Tell the user why nothing was done."""
    messages.error(request, error.message)


def verb(permission: str) -> Callable[[View], View]:
    """A view that changes something: POST alone, and only with the permission. Goes around a method of an admin."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(admin: Any, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.has_perm(permission):
                raise PermissionDenied
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            return view(admin, request, *args, **kwargs)

        return guarded

    return decorate


def frame(request: HttpRequest, whole: Mapping[str, Any]) -> dict[str, Any]:
    """What a page stands in: the ``whole`` admin, or nothing when a script asks for the page's own part alone."""
    if request.headers.get(PART_HEADER):
        return {"base": "tasks/admin/part.html"}
    return {**whole, "base": "admin/base_site.html"}


PART_HEADER = "X-Page-Part"

_PLACE = "the-key-of-the-row"


@cache
def _checkbox() -> str:
    return str(checkbox.render(helpers.ACTION_CHECKBOX_NAME, _PLACE))


class RecordAdmin(ModelAdmin):
    """A read-only list and page. Subclasses say what is shown; ``page_template`` is the page of one record."""

    actions: Any = ()
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    show_facets = ModelAdmin.show_facets.NEVER if hasattr(ModelAdmin, "show_facets") else None
    paginator = CappedPaginator
    list_filter_submit = True
    list_fullwidth = True
    sortable_by: Any = ()
    page_template = "tasks/admin/record.html"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CappedList]:
        return CappedList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """By the filters of the list alone. Django lets an address filter by any column, those included that the
        user may not see (what is found tells what they hold) and those without an index."""
        shown = self.list_filter if request is None else self.get_list_filter(request)
        column = lookup.partition("__")[0]
        if column in [one for one in shown if isinstance(one, str)]:
            return True
        if lookup in [getattr(one, "parameter_name", None) for one in shown]:
            return True
        columns = {
            name for field in self.opts.get_fields() for name in (field.name, getattr(field, "attname", ""))
        }
        return column not in columns | {"pk"}

    @admin.display(description=ModelAdmin.action_checkbox.short_description)
    def action_checkbox(self, obj: Any) -> SafeString:
        """The theme's checkbox, drawn once and not by a template for each row."""
        return SafeString(_checkbox().replace(_PLACE, escape(obj.pk)))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list. An action that the user may not take is refused, not overlooked."""
        if request.method not in {"GET", "HEAD"} and (
            request.method != "POST" or request.POST.get("action") not in self.get_actions(request)
        ):
            raise PermissionDenied
        return super().changelist_view(
            request, {"title": self.opts.verbose_name_plural.capitalize(), **(extra_context or {})}
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page of one record: shown, never edited."""
        if request.method not in {"GET", "HEAD"}:
            raise PermissionDenied
        name = unquote(object_id)
        record = None if "\x00" in name else self.get_object(request, name)
        if not self.has_view_permission(request, record):
            raise PermissionDenied
        if record is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        context = {
            **self.frame(request),
            "opts": self.opts,
            "title": str(record),
            "original": record,
            "record": record,
            **self.page_context(request, record),
            **(extra_context or {}),
        }
        request.current_app = self.admin_site.name
        return TemplateResponse(request, self.page_template, context)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What was done to a record is in the audit trail."""
        if request.method not in {"GET", "HEAD"} or not self.has_view_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(
            f"{reverse('admin:kernel_auditevent_changelist')}?{urlencode({'q': object_id})}"
        )

    def frame(self, request: HttpRequest) -> dict[str, Any]:
        """The context of the page around the record; next to nothing for a script that asks for the part alone."""
        whole = {} if request.headers.get(PART_HEADER) else self.admin_site.each_context(request)
        return frame(request, whole)

    def page_context(self, request: HttpRequest, record: Any) -> dict[str, Any]:
        """What the page shows: by default ``facts``, pairs of a name and a value."""
        return {"facts": self.facts(record)}

    def facts(self, record: Any) -> list[tuple[str, Any]]:
        """Pairs of a name and an already escaped or plain value; plain ones are escaped by the template."""
        return [(field.verbose_name.capitalize(), getattr(record, field.name)) for field in self.opts.fields]
