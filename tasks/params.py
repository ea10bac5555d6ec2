"""Typed params: a handler's signature, or a pydantic model, is the schema of its jobs' params. Pure.

Values are checked strictly: ``"1"``, ``1.0`` and ``true`` are no int. What has a type of its own (datetime,
Decimal, UUID, Enum, dataclass, model …) is taken as that type or as its JSON spelling, is stored in its JSON
spelling, and reaches the handler as that type again; what would come back different is refused.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic_core import PydanticSerializationError

from jobsplatform.kernel.errors import ConfigError, ParamsInvalid, did_you_mean
from tasks.json_values import check_json, clean_text, fingerprint
from tasks.params_faults import fault_of
from tasks.signatures import MISSING, read_signature

__all__ = ["Schema", "check_json", "clean_text", "fingerprint"]

# Types whose values are their own JSON spelling: no second look is needed.
_PLAIN = (str, int, bool)


def same(given: Any, back: Any) -> bool:
    """Is ``back``, read from JSON, the value that was ``given``, in type and in content?"""
    if isinstance(given, BaseModel):
        return type(back) is type(given) and same(dict(given), dict(back))
    if isinstance(given, Mapping):
        return (
            isinstance(back, Mapping)
            and given.keys() == back.keys()
            and all(same(type(key), type(other)) for key, other in zip(given, back, strict=True))
            and all(same(item, back[key]) for key, item in given.items())
        )
    if isinstance(given, (list, tuple)):
        return (
            isinstance(given, type(back))
            and len(given) == len(back)
            and all(same(one, other) for one, other in zip(given, back, strict=True))
        )
    if hasattr(given, "__dataclass_fields__") and not isinstance(given, type):
        return type(back) is type(given) and same(vars(given), vars(back))
    if hasattr(given, "astimezone") and getattr(given, "tzinfo", None) is not None:
        # Compared as an instant: Python calls a time of a repeated hour unequal to itself in another zone.
        return getattr(back, "tzinfo", None) is not None and given.timestamp() == back.timestamp()
    return bool(isinstance(given, type(back)) and given == back)


class Typed:
    """One annotation: to JSON and back."""

    def __init__(self, name: str, annotation: Any) -> None:
        self.name = name
        self.annotation = annotation
        self.what = f"param {name!r}" if name else "params"
        self.plain = annotation if annotation in _PLAIN else None
        try:
            self.adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        except (PydanticUserError, PydanticSchemaGenerationError, TypeError) as error:
            why = clean_text(str(error).splitlines()[0], 120)
            raise ConfigError(
                f"Param {name!r}: its annotation {annotation!r} has no JSON form: {why}"
            ) from None

    def spell(self, value: Any) -> Any:
        """The JSON spelling to store. Raises ParamsInvalid naming the param."""
        what = self.what
        if type(value) is self.plain or self.annotation is Any:
            return check_json(value, what=what)
        try:
            return self._kept(self.adapter.validate_python(value, strict=True), what)
        except (ValidationError, ParamsInvalid) as error:
            first = error
        try:
            spelled = check_json(value, what=what)
        except ParamsInvalid as unsayable:
            raise ParamsInvalid(self._explain(first, unsayable), param=self.name) from None
        try:
            return self._kept(self._read(spelled), what)
        except ValidationError as error:
            raise ParamsInvalid(fault_of(error, self.name), param=self.name) from None

    def load(self, spelled: Any) -> Any:
        """The typed value of a stored spelling. Raises ParamsInvalid."""
        if type(spelled) is self.plain or self.annotation is Any:
            return spelled
        try:
            return self._read(spelled)
        except ValidationError as error:
            raise ParamsInvalid(fault_of(error, self.name), param=self.name) from None

    def _read(self, spelled: Any) -> Any:
        return self.adapter.validate_json(json.dumps(spelled), strict=True)

    def _kept(self, typed: Any, what: str) -> Any:
        """The spelling of ``typed``, if it reads back as ``typed``."""
        try:
            dumped = self.adapter.dump_python(
                typed, mode="json", by_alias=True, round_trip=True, warnings="error"
            )
            spelled = check_json(dumped, what=what)
            unchanged = same(typed, self._read(spelled))
        except (PydanticSerializationError, ValidationError, UnicodeError):
            unchanged = False
        if not unchanged:
            check_json(typed, what=what)  # it may know a better reason, such as a key that is no text
            raise ParamsInvalid(
                f"{what}: this {type(typed).__name__} would come back from JSON as something else. "
                "Annotate the handler's parameter more precisely, or pass text.",
                param=self.name,
            )
        return spelled

    def _explain(self, first: ValidationError | ParamsInvalid, unsayable: ParamsInvalid) -> str:
        if isinstance(first, ParamsInvalid):
            return first.message
        if any(isinstance(fault["input"], (dict, list)) for fault in first.errors(include_url=False)):
            return unsayable.message
        return fault_of(first, self.name)


@dataclass(frozen=True, slots=True)
class Param:
    """One param of a job type; ``default`` is its JSON spelling, or MISSING when it must be given."""

    name: str
    typed: Typed
    default: Any = MISSING


class Schema:
    """The params of one job type."""

    def __init__(self, params: list[Param], *, open_ended: bool, context_name: str = "") -> None:
        self.params = {param.name: param for param in params}
        self.open_ended = open_ended
        self.context_name = context_name

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Schema:
        """From a handler's signature, its context left out. Raises ConfigError for what has no JSON form."""
        signature = read_signature(function)
        params = []
        for name, (annotation, default) in signature.params.items():
            typed = Typed(name, annotation)
            if default is not MISSING:
                try:
                    default = typed.spell(default)
                except ParamsInvalid as error:
                    raise ConfigError(
                        f"{function.__qualname__}: the default of {name!r} does not fit: {error.message}"
                    ) from None
            params.append(Param(name, typed, default))
        return cls(params, open_ended=signature.open_ended, context_name=signature.context_name)

    @classmethod
    def of_model(cls, model: type[BaseModel], parameter: str) -> Schema:
        """From a pydantic model that stands for all params; ``load`` gives it as ``parameter``."""
        return ModelSchema(model, parameter)

    @property
    def names(self) -> frozenset[str]:
        """The params that have a name of their own."""
        return frozenset(self.params)

    def normalise(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """``params`` complete and as they are stored.

        Raises ParamsInvalid that tells every fault: unknown names (and the nearest), missing and wrong ones.
        """
        given = self._named(params)
        faults: list[str] = []
        stored: dict[str, Any] = {}
        for name, param in self.params.items():
            if name not in given and param.default is MISSING:
                faults.append(f"param {name!r} is missing")
                continue
            try:
                stored[name] = (
                    param.typed.spell(given[name]) if name in given else copy.deepcopy(param.default)
                )
            except ParamsInvalid as error:
                faults.append(error.message.rstrip("."))
        for name in given:
            if name in self.params:
                continue
            if self.context_name and name == self.context_name:
                faults.append(f"param {name!r} is what the handler calls its context")
            elif self.open_ended:
                try:
                    stored[name] = check_json(given[name], what=f"param {name!r}")
                except ParamsInvalid as error:
                    faults.append(error.message.rstrip("."))
            else:
                faults.append(_unknown(name, self.params))
        _raise(faults)
        return stored

    def load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The typed keyword arguments of stored ``params``.

        A param without a stored value is left to the function's default. Raises ParamsInvalid for what a
        newer handler does not take any more.
        """
        faults = [
            f"param {name!r} is missing"
            for name, param in self.params.items()
            if name not in params and param.default is MISSING
        ]
        loaded: dict[str, Any] = {}
        for name, value in params.items():
            if name in self.params:
                try:
                    loaded[name] = self.params[name].typed.load(value)
                except ParamsInvalid as error:
                    faults.append(error.message)
            elif self.open_ended:
                loaded[name] = value
            else:
                faults.append(f"unknown param {name!r}")
        _raise(faults)
        return loaded

    def json_schema(self) -> dict[str, Any]:
        """JSON Schema (2020-12) of the params object, for forms and documentation."""
        keyed = [(name, "validation", param.typed.adapter) for name, param in self.params.items()]
        schemas, rest = TypeAdapter.json_schemas(keyed)  # type: ignore[arg-type]
        properties: dict[str, Any] = {}
        for name, param in self.params.items():
            properties[name] = dict(schemas[(name, "validation")])
            if param.default is not MISSING:
                properties[name]["default"] = copy.deepcopy(param.default)
        required = [name for name, param in self.params.items() if param.default is MISSING]
        return {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": self.open_ended,
            **rest,
        }

    def by_position(self, values: Sequence[Any]) -> dict[str, Any]:
        """Values that stand in the order of the params, by name. Raises ParamsInvalid when there are more."""
        names = list(self.json_schema().get("properties", {}))
        if len(values) > len(names):
            raise ParamsInvalid(
                f"{len(values)} values are given by position, and there are {len(names)} params."
            )
        return dict(zip(names, values, strict=False))

    @staticmethod
    def _named(params: Any) -> Mapping[str, Any]:
        if not isinstance(params, Mapping):
            raise ParamsInvalid(f"params: expected an object of named values, got {type(params).__name__}.")
        for name in params:
            if not isinstance(name, str):
                check_json({name: None}, what="params")
        return params


class ModelSchema(Schema):
    """One pydantic model is the whole object of params."""

    def __init__(self, model: type[BaseModel], parameter: str) -> None:
        self.model = model
        self.parameter = parameter
        self.whole = Typed("", model)  # faults name the fields themselves
        open_ended = model.model_config.get("extra") == "allow"
        super().__init__([], open_ended=open_ended)
        self._known = {
            str(alias)
            for name, field in model.model_fields.items()
            for alias in (name, field.alias, field.validation_alias)
            if alias
        }

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.model.model_fields)

    def normalise(self, params: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(self._named(params))
        if not self.open_ended:
            unknown = sorted(set(given) - self._known)
            _raise([_unknown(name, self._known) for name in unknown])
        stored: dict[str, Any] = self.whole.spell(given)
        return stored

    def load(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {self.parameter: self.whole.load(dict(params))}

    def json_schema(self) -> dict[str, Any]:
        return {**self.model.model_json_schema(), "additionalProperties": self.open_ended}


def _unknown(name: str, known: Iterable[str]) -> str:
    return f"unknown param {name!r}.{did_you_mean(name, known)}".rstrip(".")


def _raise(faults: list[str]) -> None:
    if faults:
        text = "; ".join(faults) + "."
        raise ParamsInvalid(text[0].upper() + text[1:], faults=faults)
