"""``manage.py handlers``: which job types there are."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from jobsplatform.kernel import clock, config, processes
from jobsplatform.kernel.errors import UnknownName
from tasks import registry
from tasks.cli import arguments, json_output, names
from tasks.cli.base import PlatformCommand
from tasks.cli.spans import length
from tasks.cli.tables import Column, facts, table
from tasks.spec import JobHandler, JobSpec


class Command(PlatformCommand):
    quiet = True
    help = "List the job types, or describe one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "type", nargs="?", metavar="[APP:]TYPE", help="describe this job type, with its schema"
        )
        parser.add_argument(
            "--json", action="store_true", help='{"handlers": […]}, or one with its JSON Schema'
        )

    def act(self, options: dict[str, Any]) -> None:
        workers = _workers()
        if options["type"]:
            self._one(_find(options["type"]), workers, as_json=options["json"])
            return
        handlers = registry.all()
        if options["json"]:
            found = [output(handler.spec, workers) for handler in handlers]
            json_output.document(self.out, {"handlers": found, "elsewhere": _elsewhere(workers)})
            return
        if not handlers:
            self.err.line("No job types: declare one with @job in the jobs.py of an installed app.")
        rows = [_row(handler.spec, workers) for handler in handlers]
        rows += [
            [names.shown(key), "-", "-", len(workers[key]), "known to a worker only"]
            for key in _elsewhere(workers)
        ]
        columns = [
            Column("TYPE"),
            Column("QUEUE"),
            Column("LIMITS"),
            Column("WORKERS", right=True),
            Column("DESCRIPTION", shrinks=True),
        ]
        if rows:
            for line in table(self.out, columns, rows):
                self.out.line(line)

    def _one(self, handler: JobHandler, workers: dict[str, list[str]], *, as_json: bool) -> None:
        spec, schema = handler.spec, handler.schema.json_schema()
        if as_json:
            answer = {**output(spec, workers), "place": handler.place, "schema": schema}
            json_output.document(self.out, answer)
            return
        told = {
            "type": names.shown(spec.key),
            "description": spec.description,
            "declared at": handler.place,
            "queue": spec.queue,
            "priority": arguments.priority_name(spec.priority),
            "limits": limits(spec),
            "attempts": spec.max_attempts or config.get().tasks.max_attempts,
            "timeout": length(spec.timeout) if spec.timeout else "none",
            "soft timeout": length(spec.soft_timeout) if spec.soft_timeout else "",
            "kept for": length(spec.retention.total_seconds())
            if isinstance(spec.retention, timedelta)
            else "",
            "confirm": spec.confirm,
            "live workers": ", ".join(workers.get(spec.key, [])) or "none: its jobs wait",
        }
        for line in facts(told):
            self.out.line(line)
        self.out.line("\n" + self.out.paint("params (JSON Schema)", "bold"))
        self.out.line(json.dumps(schema, indent=2, ensure_ascii=False))


def output(spec: JobSpec, workers: dict[str, list[str]]) -> dict[str, Any]:
    """A handler's declaration as JSON. Lengths are seconds."""
    shown = {
        name: value
        for name, value in asdict(spec).items()
        if value is None or isinstance(value, str | int | float | bool | tuple)
    }
    kept = spec.retention.total_seconds() if isinstance(spec.retention, timedelta) else None
    keys = {name: _rule(getattr(spec, name)) for name in ("dedupe_key", "concurrency_key")}
    return {"key": spec.key, **shown, **keys, "retention": kept, "workers": workers.get(spec.key, [])}


def _rule(rule: object) -> str | None:
    """A key's template; of a function, that it is one."""
    return rule if rule is None or isinstance(rule, str) else "(function)"


def limits(spec: JobSpec) -> str:
    """How many of a type may run at once, in a few words."""
    parts = ["exclusive"] if spec.exclusive else []
    if spec.max_concurrency:
        parts.append(f"at most {spec.max_concurrency}")
    if spec.concurrency_key:
        rule = _rule(spec.concurrency_key)
        parts.append(f"{spec.concurrency_limit} a {'key' if rule == '(function)' else rule}")
    if spec.timeout:
        parts.append(f"timeout {length(spec.timeout)}")
    return ", ".join(parts)


def _row(spec: JobSpec, workers: dict[str, list[str]]) -> list[object]:
    text = spec.description.strip().splitlines()
    return [
        names.shown(spec.key),
        spec.queue,
        limits(spec),
        len(workers.get(spec.key, [])),
        text[0] if text else "",
    ]


def _workers() -> dict[str, list[str]]:
    """Handler key -> names of the live processes that know it."""
    clock.current().sync()
    found: dict[str, list[str]] = {}
    for process in processes.live(clock.now(), config.get().tasks.lease_seconds).order_by("name"):
        for key in process.handlers:
            found.setdefault(key, []).append(process.name)
    return found


def _elsewhere(workers: dict[str, list[str]]) -> list[str]:
    """Keys that only a worker of another release knows."""
    return sorted(set(workers) - registry.keys())


def _find(name: str) -> JobHandler:
    handler = registry.find(*names.split(name))
    if handler is None:
        raise UnknownName("job type", name, [names.shown(each.spec.key) for each in registry.all()])
    return handler
