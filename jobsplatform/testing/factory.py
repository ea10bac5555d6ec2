"""Legal job rows in any state: the factory fills in what the state implies."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from jobsplatform.kernel import clock
from jobsplatform.kernel.ids import uuid7
from tasks.models import Job
from tasks.spec import JobHandler
from tasks.states import FINAL, IN_FLIGHT, Cause, Dedupe, Hold, Role, State

_STARTED = frozenset({State.RUNNING, State.WAITING, State.PAUSED, State.COMPLETED, State.FAILED})


def make_job(
    state: State | str = State.PENDING,
    *,
    job_type: JobHandler | str = "test.job",
    app_id: str = "",
    **columns: Any,
) -> Job:
    """Store one job in ``state``; ``columns`` overrule what is filled in. ``job_type``: a handler or a name."""
    now = clock.now()
    if not isinstance(job_type, str):
        columns = _declared(job_type, columns)
        app_id = job_type.spec.app_id
        job_type = job_type.spec.job_type
    wanted = State(state)
    values: dict[str, Any] = {
        "id": uuid7(),
        "app_id": app_id,
        "job_type": job_type,
        "handler_key": f"{app_id}:{job_type}",
        "state": wanted,
        "created_at": now,
        "updated_at": now,
        "due_at": columns.get("run_after") or now,
    }
    if wanted in IN_FLIGHT:
        values |= {"worker_id": uuid7(), "lease": 1, "dispatched_at": now}
    if wanted in _STARTED:
        values |= {"lease": 1, "attempt": 1, "started_at": now, "first_started_at": now}
    if wanted in FINAL:
        values |= {"finished_at": now, "purge_at": now + timedelta(days=7)}
    if wanted is State.FAILED:
        values |= {
            "cause": Cause.HANDLER,
            "failures": 1,
            "error_type": "ValueError",
            "error": "made by a test",
        }
    if wanted is State.CANCELLED:
        values |= {"cause": Cause.CANCELLED, "reason": "user"}
    if columns.get("dedupe_key"):
        values |= {"role": Role.LEADER, "dedupe": Dedupe.ALIAS}
    if wanted is State.PENDING and values["due_at"] > now:
        values["hold"] = Hold.LATER
    values |= columns
    if values.get("role") == Role.ALIAS and wanted is State.PENDING:
        values.setdefault("hold", Hold.ALIAS)
    return Job.objects.create(**values)


def _declared(handler: JobHandler, columns: dict[str, Any]) -> dict[str, Any]:
    """What submitting would take from the handler's declaration."""
    spec = handler.spec
    return {
        "queue": spec.queue,
        "priority": spec.priority,
        "exclusive": spec.exclusive,
        **({"max_attempts": spec.max_attempts} if spec.max_attempts else {}),
        **columns,
        **({"params": handler.schema.normalise(columns["params"])} if "params" in columns else {}),
    }
