"""``manage.py scheduler``: plan, for ever or for some rounds; or trigger one schedule."""

from __future__ import annotations

import gc
from typing import Any

from django.core.management.base import CommandParser

from jobsplatform.kernel import clock, config
from jobsplatform.kernel.bell import Bell
from jobsplatform.kernel.errors import InvalidInput, Unreachable
from jobsplatform.kernel.ids import uuid7
from scheduler.cli.base import DocumentParser, ScheduleCommand
from scheduler.cli.finding import live, zone_of
from scheduler.cli.installed import modules_of
from scheduler.cli.times import instant
from scheduler.providers import RunReport, get_provider
from scheduler.providers.loop import instance_name
from scheduler.registry import registry
from scheduler.requests import ScheduleTriggerRequest
from scheduler.states import ORIGIN_AUTO
from tasks.cli import arguments, json_output
from tasks.cli.exits import DONE, JOB_FAILED, UNREACHABLE, WRONG_USE, Refused
from tasks.cli.operator import operator
from tasks.worker.preflight import NotReady, check_database, check_settings

PROVIDERS = ("local", "celery_beat", "apscheduler")
_RUN_ONLY = ("provider", "max_iterations", "installed_app")
_ONCE_ONLY = ("tenant", "planned_at")


class AlwaysDocument(DocumentParser):
    """This command speaks JSON only."""

    always = True


class Command(ScheduleCommand):
    help = (
        "Plan and trigger schedules: --run until SIGTERM or Ctrl-C, or for --max-iterations rounds; --run-once "
        "triggers one schedule. Prints one JSON document."
    )
    parser_class = AlwaysDocument

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--run", action="store_true", help="plan until SIGTERM or Ctrl-C")
        add("--run-once", metavar="ID", help="trigger this schedule, and end")
        add("--tenant", metavar="ID", help="--run-once: for this tenant")
        add(
            "--planned-at",
            metavar="TIME",
            help="--run-once: decide this slot (ISO; without an offset in the schedule's zone); again, it is replayed",
        )
        add(
            "--provider",
            metavar="NAME",
            help=f"--run: who ticks: {', '.join(PROVIDERS)} (SCHEDULER__PROVIDER)",
        )
        add("--max-iterations", type=arguments.count, metavar="N", help="--run: end after so many rounds")
        add("--instance-id", metavar="ID", help="the name under which decisions are on record")
        add(
            "--installed-app",
            action="extend",
            nargs="+",
            metavar="LABEL",
            help="--run: store the declared schedules of these apps only; those of others stay as they are",
        )
        parser.set_defaults(json=True)

    def run_from_argv(self, argv: list[str]) -> None:
        # Who runs it for ever looks at the log; a single trigger is typed, or called by a program.
        self.quiet = "--run" not in argv
        super().run_from_argv(argv)

    def do(self, options: dict[str, Any]) -> int:
        if options["run"] == (options["run_once"] is not None):
            raise InvalidInput("Say what to do: --run, or --run-once ID.")
        for name in _ONCE_ONLY if options["run"] else _RUN_ONLY:
            if options[name]:
                said = "--run" if options["run"] else "--run-once"
                raise InvalidInput(f"--{name.replace('_', '-')} does not go with {said}.")
        report = self._run(options) if options["run"] else self._once(options)
        json_output.document(self.out, report.as_dict())
        stopped = options["run"] and options["max_iterations"] is None
        return DONE if report.ok or stopped else JOB_FAILED

    def _run(self, options: dict[str, Any]) -> RunReport:
        provider = get_provider(options["provider"] or "", operator())
        bell = Bell()
        bell.install()
        _refuse_to_start()
        with registry.narrowed(modules_of(options["installed_app"] or ())):
            # A round makes many objects and no rings of them: the collector would look through all that is loaded
            # again and again, which takes a fifth of a round's time.
            gc.collect()
            gc.freeze()
            return provider.run(
                bell=bell,
                max_iterations=options["max_iterations"],
                instance_id=options["instance_id"] or "",
            )

    def _once(self, options: dict[str, Any]) -> RunReport:
        clock.current().sync()
        schedule = live(options["run_once"])
        planned = options["planned_at"]
        name = instance_name(options["instance_id"] or "")
        request = ScheduleTriggerRequest(
            schedule_id=schedule.id,
            tenant_id=options["tenant"] or "",
            planned_at=None
            if planned is None
            else instant(planned, zone_of(schedule), clock.now(), "planned-at"),
            origin=ORIGIN_AUTO if planned is not None else f"manual:{uuid7()}",
            job_origin="live" if planned is not None else "manual",
            by=name,
        )
        provider = get_provider(config.get().scheduler.provider, operator())
        report = RunReport(instance_id=name, tenant_id=request.tenant_id)
        report.add_one(provider.trigger(request))
        return report


def _refuse_to_start() -> None:
    """Once it runs, outages are waited for; at its start they are told, so that whoever watches it sees them."""
    for look, code in ((check_settings, WRONG_USE), (check_database, UNREACHABLE)):
        try:
            look()
        except (NotReady, Unreachable) as error:
            raise Refused(f"The scheduler cannot start: {error.message}", code) from None
