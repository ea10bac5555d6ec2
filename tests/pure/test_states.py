"""The table of moves: what it says, what the docs show of it, and that nothing but its writer writes a state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tasks.states import (
    ACTIVE,
    BY_NAME,
    FINAL,
    IN_FLIGHT,
    LEGAL,
    MOVES,
    State,
    diagram,
    is_legal,
    page,
    renewed,
)

ROOT = Path(__file__).parents[2]
WRITER = ROOT / "tasks" / "transitions.py"

# Said once more, by hand: a change of the table has to be meant.
LEGAL_BY_HAND = {
    State.PENDING: {State.DISPATCHED, State.CANCELLED, State.COMPLETED, State.FAILED},
    State.DISPATCHED: {State.DISPATCHED, State.PENDING, State.RUNNING, State.CANCELLED},
    State.RUNNING: {
        State.PENDING,
        State.WAITING,
        State.PAUSED,
        State.COMPLETED,
        State.FAILED,
        State.CANCELLED,
    },
    State.WAITING: {
        State.WAITING,
        State.PENDING,
        State.PAUSED,
        State.COMPLETED,
        State.FAILED,
        State.CANCELLED,
    },
    State.PAUSED: {State.PENDING, State.CANCELLED},
    State.COMPLETED: set(),
    State.FAILED: {State.PENDING},
    State.CANCELLED: {State.PENDING},
}


@pytest.mark.parametrize(("source", "target"), list(product(State, State)))
def test_each_pair_of_states_is_legal_or_not(source: State, target: State) -> None:
    assert is_legal(source, target) == (target in LEGAL_BY_HAND[source])


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(MOVES)


def test_what_has_ended_is_left_by_revive_alone() -> None:
    assert {move.name for move in MOVES if move.sources & FINAL} == {"revive"}
    assert State.COMPLETED not in BY_NAME["revive"].sources


def test_every_state_is_reached_and_every_active_one_can_end() -> None:
    reached = {State.PENDING}
    while more := {target for source, target in LEGAL if source in reached} - reached:
        reached |= more
    assert reached == set(State)
    for state in ACTIVE:
        ahead = {state}
        while more := {target for source, target in LEGAL if source in ahead} - ahead:
            ahead |= more
        assert ahead & FINAL, f"{state} never ends"


def test_a_run_begins_in_one_way_only() -> None:
    assert {s for s, target in LEGAL if target is State.RUNNING} == {State.DISPATCHED}
    assert {s for s, target in LEGAL if target is State.DISPATCHED} == {State.PENDING, State.DISPATCHED}
    assert IN_FLIGHT <= ACTIVE


def test_the_docs_show_the_table_as_it_is() -> None:
    document = (ROOT / "docs" / "states.md").read_text(encoding="utf-8")
    assert diagram() in document
    assert renewed(document) == document, "run: python -m tasks.states docs/states.md"


def test_the_diagram_has_one_arrow_a_move_and_source() -> None:
    arrows = [line.strip() for line in diagram().splitlines() if ": " in line]
    expected = {f"{source} --> {move.target}: {move.name}" for move in MOVES for source in move.sources}
    assert set(arrows) == expected | {"[*] --> pending: submit"}
    assert len(arrows) == len(set(arrows))
    assert all(f"| `{move.name}` |" in page() for move in MOVES)


def test_a_document_without_marks_is_not_overwritten() -> None:
    with pytest.raises(ValueError):
        renewed("# nothing here\n")


# -- one writer --------------------------------------------------------------------------------------


def _sources() -> Iterator[tuple[Path, ast.Module]]:
    for folder in ("tasks", "jobsplatform"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path, ast.parse(path.read_text(encoding="utf-8"))


def _moves_written(function: ast.FunctionDef) -> set[str]:
    """The moves that a function hands to the writing helper, by whatever spelling it names them."""
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and _name(n.func) == "_write"]
    if not calls:
        return set()
    texts = {n.value for n in ast.walk(function) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return texts & set(BY_NAME)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_every_move_has_its_writer_and_every_writer_its_move() -> None:
    functions = [
        n for n in ast.parse(WRITER.read_text(encoding="utf-8")).body if isinstance(n, ast.FunctionDef)
    ]
    written = {f.name: _moves_written(f) for f in functions if f.name != "_write"}
    writers = {name: moves for name, moves in written.items() if moves}
    # One function settles aliases as their leader ended, by three moves; every other is named as its move.
    assert writers.pop("settle_aliases") == {"settle_completed", "settle_failed", "cancel"}
    assert writers.pop("hand_back_pack") == writers.pop("hand_back_slot") == {"hand_back"}
    writers["cancel"] = writers.pop("cancel_many")  # one is the case of many
    assert writers == {
        name: {name} for name in set(BY_NAME) - {"settle_completed", "settle_failed"} - set(HOT)
    }
    assert {f.name: _statement(f) for f in functions if _statement(f)} == {
        "claim": "claim", "claim_along": "claim_along", "start": "start", "start_pack": "start_pack",
        "complete_many": "complete", "turn_pack": "complete", "complete_and_start": "complete_and_start",
    }  # fmt: skip


# Moves that are made many at a time, by hand-written statements; ``complete`` has both ways.
HOT = {"claim": "dispatched", "start": "running"}
STATEMENTS = ROOT / "tasks" / "sql" / "writes.py"
SQLITE = ROOT / "tasks" / "sql" / "sqlite.py"  # its part of them
REPORTS = ROOT / "tasks" / "sql" / "progress.py"
NEW_ROWS = ROOT / "tasks" / "sql" / "insert.py"


def _statement(function: ast.FunctionDef) -> str:
    """The hand-written statement that a function hands over to."""
    calls = [
        n.func for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    ]
    return next((c.attr for c in calls if isinstance(c.value, ast.Name) and c.value.id == "writes"), "")


def test_hand_written_statements_make_legal_moves_only() -> None:
    text = " ".join(STATEMENTS.read_text(encoding="utf-8").lower().split())
    assert set(re.findall(r"(?:set|\"\"\") state = '(\w+)'", text)) == {*HOT.values(), "completed"}
    moves = [
        (BY_NAME["claim"], "pending"),
        (BY_NAME["start"], "dispatched"),
        (BY_NAME["complete"], "running"),
    ]
    for move, source in moves:
        assert source in move.sources
        assert f"state = '{source}'" in text


def test_only_the_writer_uses_the_hand_written_statements() -> None:
    users = [
        path.name
        for path, tree in _sources()
        if "tasks.sql.writes" in ast.unparse(tree) and path != STATEMENTS
    ]
    imported = [path for path, tree in _sources() if _imports_writes(tree)]
    assert imported == [WRITER], users


def _imports_writes(tree: ast.Module) -> bool:
    return any(
        isinstance(n, ast.ImportFrom) and n.module == "tasks.sql" and any(a.name == "writes" for a in n.names)
        for n in ast.walk(tree)
    )


def test_the_writing_helper_is_the_only_place_that_sets_a_state() -> None:
    setters = [
        function.name
        for function in ast.walk(ast.parse(WRITER.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef) and any(_sets_state(n) for n in ast.walk(function))
    ]
    assert setters == ["_write"]


def _sets_state(node: ast.AST) -> bool:
    """A call of update, update_or_create … that names ``state``, or a bulk_update of that column."""
    if not isinstance(node, ast.Call):
        return False
    if _name(node.func) in ("update", "aupdate", "update_or_create"):
        named = {k.arg for k in node.keywords}
        in_dict = {
            key.value
            for part in ast.walk(node)
            if isinstance(part, ast.Dict)
            for key in part.keys
            if isinstance(key, ast.Constant)
        }
        return "state" in named | in_dict
    if _name(node.func) in ("bulk_update", "save", "setattr"):
        return any(isinstance(n, ast.Constant) and n.value == "state" for n in ast.walk(node))
    return False


# A row that was changed is told on as it now is; these never save it.
TOLD_ON = {"tasks/call_off.py", "tasks/family.py", "tasks/finish.py", "tasks/run.py"}
# Another noun: a tenant's state.
TENANTS = {"tasks/switches.py"}


def test_nobody_else_writes_a_state() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, tree in _sources()
        if path != WRITER and str(path.relative_to(ROOT)) not in TENANTS
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _sets_state(node)
    }
    assert not found


def test_a_state_assigned_in_memory_is_never_saved() -> None:
    for path, tree in _sources():
        assigned = {
            ast.unparse(part.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
            for target in node.targets
            for part in (target.elts if isinstance(target, ast.Tuple) else [target])
            if isinstance(part, ast.Attribute) and part.attr == "state"
        }
        name = str(path.relative_to(ROOT))
        if name in TENANTS:
            assert assigned == {"tenant"}
            continue
        assert not assigned or name in TOLD_ON, f"{name} assigns the state of {assigned}"
        saved = {
            ast.unparse(node.func.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "save"
        }
        assert not assigned & saved, f"{name} saves a row whose state it assigned"


def test_no_hand_written_sql_elsewhere_writes_jobs() -> None:
    for path, tree in _sources():
        for node in ast.walk(tree) if path not in (STATEMENTS, SQLITE, REPORTS) else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = " ".join(node.value.lower().split())
                assert "update tasks_job" not in text, f"{path.relative_to(ROOT)}:{node.lineno}"
                if path != NEW_ROWS:
                    assert "insert into tasks_job" not in text, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_reports_of_progress_leave_the_state_alone() -> None:
    text = " ".join(REPORTS.read_text(encoding="utf-8").lower().split())
    (written,) = re.findall(r"update tasks_job set (.*?) from picked", text)
    assert "state" not in written and "revision = revision + 1" in written


@pytest.mark.parametrize(
    "code",
    [
        "Job.objects.update(state='x')",
        "rows.update(**{'state': 'x', 'a': 1})",
        "Job.objects.bulk_update(rows, ['state'])",
        "job.save(update_fields=['state'])",
        "setattr(job, 'state', 'x')",
    ],
)
def test_the_search_for_writers_finds_them(code: str) -> None:
    assert any(_sets_state(node) for node in ast.walk(ast.parse(code)))
