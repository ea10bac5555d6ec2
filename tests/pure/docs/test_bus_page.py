"""docs/bus.md tells every code, scope and method, as the code has them."""

from jobsplatform.kernel.tokens import SCOPES
from tasks.bus.api import METHODS
from tasks.bus.errors import CODES
from tests.pure.docs.pages import page, rows, section, spans

PAGE = page("bus.md")


def test_the_codes_are_those_of_the_list() -> None:
    told = {row[0].strip("`"): (int(row[1]), row[2]) for row in rows(section(PAGE, "Answers"))}
    assert told == {name: (code.status, code.when) for name, code in CODES.items()}


def test_the_scopes_are_those_of_tokens() -> None:
    told = {row[0].strip("`"): row[1] for row in rows(section(PAGE, "Scopes"))}
    assert told == SCOPES


def test_each_method_in_a_table_has_its_scope() -> None:
    tables = [*rows(section(PAGE, "jobs")), *rows(section(PAGE, "Running jobs"))]
    told = {row[0].strip("`"): row[1].strip("`") for row in tables}
    assert {name for name in METHODS if name.startswith("jobs.")} == set(told)
    assert told == {name: METHODS[name].scope for name in told}


def test_every_method_is_told() -> None:
    assert set(METHODS) - set(spans(PAGE)) == set()
