"""The JSON Schema that a signature means."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from jobsplatform_sdk.handlers import Handler


def schema_of(function: Any) -> dict[str, Any]:
    return dict(Handler("work", function, {}).options["params_schema"])


def test_annotations_become_types_and_defaults_are_kept() -> None:
    def work(
        ctx: Any,
        name: str,
        mode: Literal["fast", "slow"],
        ratio: float = 0.5,
        tags: list[str] | None = None,
        sizes: dict[str, int] = {},  # noqa: B006 (what is looked at is the declaration)
        anything: Any = None,
        odd: complex = 1j,
    ) -> None: ...

    assert schema_of(work) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "mode": {"enum": ["fast", "slow"]},
            "ratio": {"type": "number", "default": 0.5},
            "tags": {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "default": None,
            },
            "sizes": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {}},
            "anything": {"default": None},
            "odd": {},
        },
        "required": ["name", "mode"],
        "additionalProperties": False,
    }


def test_a_handler_that_takes_anything_says_so() -> None:
    assert schema_of(lambda **params: None)["additionalProperties"] is True


def test_a_schema_of_ones_own_is_left_alone() -> None:
    own = {"type": "object", "required": ["a"]}
    assert Handler("work", lambda **params: None, {"params_schema": own}).options["params_schema"] == own


def test_names_that_exist_for_type_checkers_alone_leave_it_open() -> None:
    def work(ctx: Any, show: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert schema_of(work)["properties"] == {"show": {}}


@pytest.mark.parametrize("doc, described", [(None, None), ("One.\n\nMore.", "One."), ("x" * 600, "x" * 500)])
def test_the_first_line_of_the_docstring_describes_it(doc: str | None, described: str | None) -> None:
    def work(ctx: Any) -> None: ...

    work.__doc__ = doc
    assert Handler("work", work, {}).options.get("description") == described
