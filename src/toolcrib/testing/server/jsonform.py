"""The records of the scripted server as JSON and back, for a control channel between processes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast, get_args

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.actions import Action
from toolcrib.testing.server.behaviour import Group
from toolcrib.testing.server.stdio_wire import ProcessSeen
from toolcrib.testing.server.tally import Counts, Heard

__all__ = ["from_json", "to_json"]

_TAG: Final = "$is"
_RECORDS: Final[Mapping[str, type]] = {
    record.__name__: record
    for record in (*get_args(Action), *get_args(Group), Counts, Heard, ProcessSeen)
}


def to_json(value: object) -> Any:
    """A record, or anything that holds records, as plain JSON values."""
    match value:
        case Kind():
            return {_TAG: "Kind", "label": value.label}
        case Counter():
            return {_TAG: "Counter", "of": dict(cast("Counter[str]", value))}
        case _ if is_dataclass(value):
            members = {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
            return {_TAG: type(value).__name__, **members}
        case Mapping():
            plain = cast("Mapping[str, object]", value)
            return {key: to_json(one) for key, one in plain.items()}
        case list() | tuple():
            return [to_json(one) for one in cast("list[object]", value)]
        case _:
            return value


def from_json(value: object) -> Any:
    """What `to_json` was given, lists in place of tuples.

    Raises `ValueError` for a record that is none of ours.
    """
    match value:
        case list():
            return [from_json(one) for one in cast("list[object]", value)]
        case dict():
            plain = cast("dict[str, object]", value)
            members = {key: from_json(one) for key, one in plain.items() if key != _TAG}
            return _build(str(plain[_TAG]), members) if _TAG in plain else members
        case _:
            return value


def _build(name: str, members: dict[str, Any]) -> Any:
    try:
        match name:
            case "Kind":
                return Kind[str(members["label"]).upper()]
            case "Counter":
                return Counter[str](members["of"])
            case _:
                return _RECORDS[name](**members)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{name} cannot be made of {sorted(members)}: {error}") from None
