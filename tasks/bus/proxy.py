"""The handler of a type that a sidecar has bound: everybody knows it, only the sidecar runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobsplatform.kernel.errors import ConfigError, InvalidInput
from tasks.bus.json_schema import JsonSchema
from tasks.context import JobContext
from tasks.declare import declared
from tasks.models import HandlerBinding
from tasks.outcomes import Snooze
from tasks.params import Schema
from tasks.spec import JobSpec, check_rule
from tasks.states import Priority

QUEUE_PREFIX = "bus."

_INLINE_SECONDS = 60.0
_LONGEST_APP = 96


def queue_of_app(app_id: str) -> str:
    """The one queue of an app's bound types: elsewhere its sidecars would count as slots of workers, or of another app.
    A long id is cut, and told apart by its hash."""
    if len(app_id) <= _LONGEST_APP:
        return f"{QUEUE_PREFIX}{app_id}"
    return f"{QUEUE_PREFIX}{app_id[: _LONGEST_APP - 17]}-{hashlib.sha256(app_id.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True)
class BusProxyHandler:
    """A type that ``service`` of its app runs, reached by ``transport``. ``revision``: of the binding's row."""

    spec: JobSpec
    schema: Schema
    service: str
    method: str
    transport: str
    url: str
    approved: bool
    enabled: bool
    continues: bool
    revision: int

    @property
    def place(self) -> str:
        return f"the bus, service {self.service!r} of app {self.spec.app_id!r}"

    @property
    def has_continuation(self) -> bool:
        return self.continues

    @property
    def claimable(self) -> bool:
        """Whether sidecars may fetch its jobs."""
        return self.enabled and self.transport == HandlerBinding.Transport.CLAIM

    @property
    def brought(self) -> bool:
        """Whether the platform brings its jobs to it. No heartbeat says then that it still works on one."""
        return self.transport != HandlerBinding.Transport.CLAIM

    def is_brought_by(self, transport: str) -> bool:
        """Whether the platform may bring its jobs to it in this way; a url needs an operator's approval."""
        approved = self.approved or self.transport != HandlerBinding.Transport.HTTP
        return self.enabled and self.transport == transport and approved

    def run(self, context: JobContext) -> Any:
        """Nothing here can run it: back to its sidecar, free of charge."""
        raise Snooze(_INLINE_SECONDS, reason=f"is run by {self.place}")

    run_continuation = run


def proxy_of(row: HandlerBinding) -> BusProxyHandler:
    """The handler of a binding. Raises InvalidInput for a spec that contradicts itself."""
    options = dict(row.spec)
    continues = bool(options.pop("continuation", False))
    schema = JsonSchema(options.pop("params_schema", None))
    return BusProxyHandler(
        spec=_spec(row.app_id, row.job_type, options, schema),
        schema=schema,
        service=row.service,
        method=row.method,
        transport=row.transport,
        url=row.approved_url,
        approved=bool(row.approved_url) and row.approved_url == row.url,
        enabled=row.enabled,
        continues=continues,
        revision=row.revision,
    )


def _spec(app_id: str, job_type: str, given: Mapping[str, Any], schema: Schema) -> JobSpec:
    own = queue_of_app(app_id)
    try:
        fixed = {"app_id": app_id, "packable": False, "own_queue": True}
        spec = declared(job_type, {"queue": own, **given, **fixed}, "spec")
        check_rule(spec.dedupe_key, schema, "spec")
        check_rule(spec.concurrency_key, schema, "spec")
    except ConfigError as error:
        raise InvalidInput(error.message) from None
    if spec.priority >= Priority.URGENT:
        raise InvalidInput(f"spec: priority {int(Priority.URGENT)} and above are the platform's own.")
    if spec.queue != own:
        raise InvalidInput(
            f"spec: sidecars of this app serve the queue {own!r} alone; leave {spec.queue!r} out."
        )
    return spec
