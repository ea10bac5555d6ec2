"""What there is is documented, and what is documented is there."""

import dataclasses
import inspect
import re
from importlib import import_module
from pkgutil import walk_packages

import jobsplatform
import scheduler
import tasks
from jobsplatform.kernel import app_events
from jobsplatform.kernel.config_schema import SECTIONS, variables
from jobsplatform.kernel.errors import PlatformError
from scheduler import events as schedule_events
from tasks import events as job_events
from tests.pure.docs.pages import PAGES, ROOT, page, rows, section, spans

SETTING = re.compile(rf"(?:{'|'.join(name.upper() for name in SECTIONS)})__[A-Z_]+")


def unquoted(cell: str) -> str:
    return cell.strip("`")


def event_classes() -> dict[str, list[str]]:
    """Each event and its fields, in order."""
    return {
        name: [field.name for field in dataclasses.fields(found)]
        for events in (job_events, schedule_events, app_events)
        for name, found in inspect.getmembers(events, inspect.isclass)
        if dataclasses.is_dataclass(found) and found.__module__ == events.__name__
    }


def every_error() -> dict[str, type[PlatformError]]:
    """Each error's class by its name, wherever it is defined."""
    for package in (jobsplatform, scheduler, tasks):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            path = ROOT / (module.name.replace(".", "/") + ".py")
            if path.exists() and re.search(r"^    code(: .*)? = \"", path.read_text(), re.MULTILINE):
                import_module(module.name)
    todo, found = [PlatformError], {}
    while todo:
        each = todo.pop()
        found[each.__name__] = each
        todo.extend(each.__subclasses__())
    ours = (jobsplatform.__name__, scheduler.__name__, tasks.__name__)
    return {name: each for name, each in found.items() if each.__module__.partition(".")[0] in ours}


def test_every_setting_that_a_page_names_exists():
    named = {name for path in PAGES for name in SETTING.findall(path.read_text())}
    assert named - set(variables()) == set()


def test_every_setting_is_in_the_table_and_no_other():
    told = [unquoted(row[0]) for row in rows(section(page("settings.md"), "All settings"))]
    assert sorted(told) == sorted(variables())


def test_every_event_has_a_section_with_its_fields_and_no_other():
    text = page("events.md")
    told = re.findall(r"^## (\w+)$", text, re.MULTILINE)
    assert sorted(told) == sorted(event_classes())
    for name, fields in event_classes().items():
        listed = re.search(r"^Fields: (.+)$", section(text, name), re.MULTILINE)
        assert listed, name
        assert re.findall(r"`(\w+)`", listed[1]) == fields, name


def test_every_error_is_in_the_table_and_no_other():
    told = {unquoted(row[1]): (unquoted(row[0]), int(row[2])) for row in rows(page("errors.md"))}
    assert told == {name: (each.code, each.http_status) for name, each in every_error().items()}


def test_every_alarm_of_the_operations_page_is_written_somewhere():
    source = "\n".join(
        path.read_text()
        for package in ("jobsplatform", "scheduler", "tasks")
        for path in (ROOT / package).rglob("*.py")
    )
    told = {
        name for row in rows(section(page("operations.md"), "What an alarm means")) for name in spans(row[0])
    }
    names = {name for name in told if re.fullmatch(r"[a-z]+\.[a-z_]+", name)}
    assert len(names) > 10
    assert {name for name in names if f'"{name}"' not in source} == set()


def test_every_warning_of_a_worker_is_on_the_operations_page():
    told = set(spans(page("operations.md")))
    for path in (ROOT / "tasks" / "worker").glob("*.py"):
        for name in re.findall(r"log\.(?:warning|error|critical)\(\s*\"([a-z_.]+)\"", path.read_text()):
            assert name in told, f"{path.name}: {name}"
