"""What models send to the meta-tools, read leniently where the meaning is plain.

A number may come as text, a word in capitals, one name without its list, an object as its JSON;
members that nobody asked for are passed over. Not so in `call_tool`: a member beside `name` and
`args` is most likely an argument of the tool, which must not get lost on the way.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeGuard, get_args

from toolcrib.core.jsontypes import described, is_array, is_integer, is_object
from toolcrib.core.quoting import enumerated, literal, quoted
from toolcrib.discovery.seams import Inner
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits

Detail = Literal["name", "brief", "full"]

DETAILS_MOST: Final = 20
"""Names that are answered in one call of `get_tool_details`."""

_SERVERS_MOST: Final = 1_000
"""Ids of servers in one search."""

_FULL_HITS: Final = 5
"""Hits with whole definitions where no limit is given: one may be as long as twenty lines."""


def full_hits(limits: Limits) -> int:
    """Hits with whole definitions where no limit is given."""
    return min(_FULL_HITS, limits.search_hits)


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """The arguments of `search_tools`."""

    query: str
    """Empty: an overview is asked for."""
    pattern: bool
    """Whether the query is a regular expression."""
    servers: tuple[str, ...]
    """As written; empty: all."""
    detail: Detail
    limit: int | None
    """None: not given."""
    notes: tuple[str, ...] = ()


def search_asked(arguments: Mapping[str, Any], limits: Limits) -> SearchAsked:
    """Read the arguments of `search_tools`. Raises `BadArguments`."""
    query = arguments.get("query")
    if query is None:
        query = ""
    if not isinstance(query, str):
        raise _wrong("query", f"is {described(query)}, but must be text, such as `send an email`")
    if len(query) > limits.search_chars:
        much = f"has {len(query):,} characters, more than {limits.search_chars:,}"
        raise _wrong("query", f"{much} (limit search_chars): say in a few words what is needed")
    query = query.strip()
    limit, notes = _limit(arguments.get("limit"), limits.search_hits_most)
    pattern = len(query) > len("//") and query[0] == query[-1] == "/"
    return SearchAsked(
        query="" if query == "*" else query[1:-1] if pattern else query,
        pattern=pattern,
        servers=_servers(arguments.get("server")),
        detail=_detail(arguments.get("detail")),
        limit=limit,
        notes=notes,
    )


def names_asked(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that `get_tool_details` is asked for, each once. Raises `BadArguments`."""
    names = arguments.get("names", arguments.get("name"))
    if isinstance(names, str):
        names = _parsed(names, "[") or [names]
    if not _is_texts(names) or not names:
        found = "is empty" if names == [] else f"is {described(names)}"
        found = "holds what is no text" if is_array(names) and names else found
        raise _wrong(
            "names", f"{found}, but must be a list of tool names, such as search_tools gives"
        )
    return tuple(dict.fromkeys(names))


def inner_call(arguments: Mapping[str, Any], limits: Limits) -> Inner:
    """The call that `call_tool` is asked for; `arguments` may stand for `args`.

    Raises `BadArguments`.
    """
    name = arguments.get("name")
    if not isinstance(name, str) or not name:
        found = "is empty" if name == "" else f"is {described(name)}"
        raise _wrong("name", f"{found}, but must be the name of a tool, as search_tools gives it")
    stray = [quoted(key) for key in arguments if key not in {"name", "args", "arguments"}]
    if stray:
        what = f"The arguments of {quoted(name)} go into `args`, but beside it stand"
        raise _wrong("", f"{what} {enumerated(stray)}")
    args = _object("args", arguments.get("args", arguments.get("arguments")), limits)
    return Inner(name, args)


def _object(where: str, value: object, limits: Limits) -> dict[str, Any] | None:
    """An object, or the JSON of one; None for nothing."""
    if isinstance(value, str):
        if len(value) > limits.argument_bytes:
            most = f"more than {limits.argument_bytes:,} (limit argument_bytes)"
            raise _wrong(where, f"has {len(value):,} characters, {most}")
        parsed = _parsed(value, "{") if value.strip() else None
        if parsed is None and value.strip():
            raise _wrong(where, "is text that is no JSON object; give an object")
        return parsed
    if value is not None and not is_object(value):
        raise _wrong(where, f"is {described(value)}, but must be an object of the tool's arguments")
    return value


def _limit(value: object, most: int) -> tuple[int | None, tuple[str, ...]]:
    if value is None:
        return None, ()
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < len("1000000000"):
        value = int(value)
    if not is_integer(value) or value < 1:
        raise _wrong("limit", f"is {literal(value)}, but must be a number from 1 to {most}")
    if value > most:
        return most, (
            f"At most {most} hits are given (limit search_hits_most), not {literal(value)}.",
        )
    return int(value), ()


def _detail(value: object) -> Detail:
    word = value.strip().lower() if isinstance(value, str) else value
    for detail in get_args(Detail):
        if word == detail:
            return detail
    if word is None or word == "":
        return "brief"
    known = enumerated(quoted(detail) for detail in get_args(Detail))
    raise _wrong("detail", f"is {literal(value)}, but must be one of {known}")


def _servers(value: object) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    servers = [value] if isinstance(value, str) else value
    if not _is_texts(servers):
        raise _wrong("server", f"is {described(value)}, but must be the id of a server")
    if len(servers) > _SERVERS_MOST:
        raise _wrong("server", f"has {len(servers):,} ids, more than {_SERVERS_MOST}: leave it out")
    return tuple(dict.fromkeys(servers))


def _is_texts(value: object) -> TypeGuard[list[str]]:
    return is_array(value) and all(isinstance(inner, str) for inner in value)


def _parsed(text: str, opening: str) -> Any:
    """The JSON value that a text holds, if it begins like one of that kind; else None."""
    if not text.lstrip().startswith(opening):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _wrong(where: str, what: str) -> BadArguments:
    text = f"`{where}` {what}" if where else what
    return BadArguments(f"{text}.", details={"faults": [{"where": where, "what": what}]})
