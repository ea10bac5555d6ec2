"""What a handler's function takes: its context, and its params with their types and defaults. Pure."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from jobsplatform.kernel.errors import ConfigError

CONTEXT_NAMES = frozenset({"ctx", "context"})
CONTEXT_CLASS = "JobContext"


class Missing:
    """The type of MISSING."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class Signature:
    """``params``: annotation (Any when there is none) and default (or MISSING) by name. ``open_ended``: it
    takes any other named values too. ``context_name``: its own name for the context, which is no param."""

    takes_context: bool
    params: dict[str, tuple[Any, Any]]
    open_ended: bool
    context_name: str = ""


def read_signature(function: Callable[..., Any]) -> Signature:
    """Raises ConfigError, naming the parameter, for what cannot be given by name or whose type is unknown."""
    if not inspect.isfunction(inspect.unwrap(function)):
        raise ConfigError(f"A handler must be a function, got {function!r}.")
    where = getattr(function, "__qualname__", repr(function))
    declared = list(inspect.signature(function).parameters.values())
    takes_context = bool(declared) and _is_context(declared[0])
    params: dict[str, tuple[Any, Any]] = {}
    open_ended = False
    for parameter in declared[1:] if takes_context else declared:
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
            continue
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise ConfigError(
                f"{where}: params are given by name, so {str(parameter)!r} can get none. "
                "Make it an ordinary parameter."
            )
        default = MISSING if parameter.default is parameter.empty else parameter.default
        params[parameter.name] = (_annotation(function, parameter, where), default)
    return Signature(takes_context, params, open_ended, declared[0].name if takes_context else "")


def _is_context(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return parameter.name in CONTEXT_NAMES
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.name in CONTEXT_NAMES or name.strip("'\"").rpartition(".")[2] == CONTEXT_CLASS


def _annotation(function: Callable[..., Any], parameter: inspect.Parameter, where: str) -> Any:
    if parameter.annotation is parameter.empty:
        return Any
    inner = inspect.unwrap(function)
    closure = dict(zip(inner.__code__.co_freevars, inner.__closure__ or (), strict=True))
    enclosed = {}
    for name, cell in closure.items():
        try:
            enclosed[name] = cell.cell_contents
        except ValueError:
            continue  # a name that the enclosing function has not bound yet
    holder = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        hints = typing.get_type_hints(holder, {**inner.__globals__, **enclosed}, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigError(
            f"{where}: the type of {parameter.name!r} ({parameter.annotation}) cannot be found: {error}. "
            "Import it at the top of the module, not only for type checking."
        ) from None
    return hints[parameter.name]
