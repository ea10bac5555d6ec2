"""``jobs enqueue``."""

from __future__ import annotations

import argparse
from typing import Any

from django.db import transaction

from jobsplatform.kernel import audit, clock
from jobsplatform.kernel.errors import InvalidInput, UnknownName
from tasks import queries, registry
from tasks.cli import arguments, json_output, names, params
from tasks.cli.base import PlatformCommand
from tasks.cli.broker_note import broker_note
from tasks.cli.confirm import confirmed
from tasks.cli.exits import DONE
from tasks.cli.jobs.waiting import wait_for
from tasks.cli.operator import operator
from tasks.output import job_output
from tasks.submit import JobRequest, SubmitResult, submit

HELP = "make a job"


def add(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option("type", metavar="[APP:]TYPE", help="the job type")
    option("--app", metavar="APP", help="the app that the job type belongs to")
    option(
        "--param", "-p", action="append", default=[], metavar="NAME=VALUE",
        help="a param, read as the handler's schema says; NAME:=JSON for raw JSON; may be repeated",
    )  # fmt: skip
    option(
        "--params", metavar="JSON|@FILE|-", help="all params as a JSON object: itself, in a file, or on stdin"
    )
    option(
        "--priority",
        type=arguments.priority,
        metavar="NAME|N",
        help="background, normal, user_action, urgent or 0-9999",
    )
    option("--queue", metavar="QUEUE", help="the queue, instead of the handler's")
    option("--run-after", metavar="TIME", help="not before this time (ISO, or +5m)")
    option("--dedupe-key", metavar="KEY", help="join the active job with this key, if there is one")
    option("--idempotency-key", metavar="KEY", help="a repeated call with this key makes no second job")
    option("--concurrency-key", metavar="KEY", help="jobs of this key keep to a limit")
    option("--user", default="", metavar="ID", help="for this user")
    option("--tenant", metavar="ID", help="for this tenant")
    option("--max-attempts", type=arguments.count, metavar="N", help="attempts, instead of the handler's")
    option(
        "--wait",
        action="store_true",
        help="follow it to its end: exit code 0 completed, 1 failed or cancelled",
    )
    option(
        "--timeout",
        type=arguments.seconds,
        metavar="TIME",
        help="with --wait: at most this long (90s, 5m), else exit code 124",
    )
    option("--yes", "-y", action="store_true", help="do not ask, for job types that want to be confirmed")
    option("--json", action="store_true", help="a JobOutput on stdout and nothing else")


def act(command: PlatformCommand, options: dict[str, Any]) -> int:
    if options["timeout"] is not None and not options["wait"]:
        raise InvalidInput("--timeout goes with --wait.")
    clock.current().sync()
    request = _request(options)
    handler = registry.get(request.app_id, request.job_type)
    if handler.spec.confirm and not options["yes"]:
        confirmed(command, handler.spec.confirm)
    with transaction.atomic():
        result = submit(request)
        if result.status not in ("replayed", "skipped"):
            _record(request, result)
    _say(command, options, result)
    note = "" if options["wait"] else broker_note()
    if note:
        command.err.line(note)
    if result.id is None or not options["wait"]:
        return DONE
    return wait_for(command, [result.id], timeout=options["timeout"], as_json=options["json"], single=True)


def _record(request: JobRequest, result: SubmitResult) -> None:
    """Params are payload and stay out of the audit trail."""
    audit.record(
        "job.enqueue",
        "job",
        result.id,
        actor=operator(),
        after={"job_type": request.job_type, "status": result.status},
        tenant_id=request.tenant_id or "",
        app_id=request.app_id,
    )


def _request(options: dict[str, Any]) -> JobRequest:
    now = clock.now()
    app_id, job_type = _handler(options["type"], options["app"])
    schema = registry.get(app_id, job_type).schema.json_schema()
    after = options["run_after"]
    return JobRequest(
        job_type,
        params.gather(options["params"], options["param"], schema),
        app_id=app_id,
        run_after=arguments.instant(after, now) if after is not None else None,
        priority=options["priority"],
        queue=_queue(options["queue"]),
        dedupe_key=options["dedupe_key"],
        idempotency_key=options["idempotency_key"],
        concurrency_key=options["concurrency_key"],
        user_id=options["user"],
        tenant_id=options["tenant"],
        max_attempts=options["max_attempts"],
    )


def _handler(name: str, app: str | None) -> tuple[str, str]:
    """(app_id, job_type) of a registered handler. Raises UnknownName for the app or the type."""
    own_app, job_type = names.split(name)
    if app and own_app and app != own_app:
        raise InvalidInput(f"The job type {name!r} is not of the app {app!r}.")
    app_id = own_app or app or ""
    known = registry.keys()
    if app_id and not any(key.startswith(f"{app_id}:") for key in known):
        raise UnknownName("app", app_id, {names.split(key)[0] for key in known} - {""})
    if registry.find(app_id, job_type) is None:
        wanted = names.shown(f"{app_id}:{job_type}")
        raise UnknownName("job type", wanted, {names.shown(key) for key in known})
    return app_id, job_type


def _queue(name: str | None) -> str | None:
    """A queue that something serves or names: a job in another one would wait for ever."""
    if name is None:
        return None
    known = names.queues(clock.now())
    if name not in known:
        raise UnknownName("queue", name, known)
    return name


def _say(command: PlatformCommand, options: dict[str, Any], result: SubmitResult) -> None:
    """The id on stdout, what is special about it on stderr."""
    remarks = {
        "alias": f"It mirrors job {result.leader_id}, which has the same dedupe key.",
        "successor": f"It waits until job {result.leader_id} has ended.",
        "replayed": "The idempotency key was used before: this is the job that it made.",
    }
    if result.status in remarks:
        command.err.line(remarks[result.status])
    if not options["json"]:
        command.out.line(str(result.id))
    elif not options["wait"] and result.id is not None:
        json_output.document(command.out, job_output(queries.get_job(result.id)))
