"""Servers as models meet them, and programs over them that are written down as plain text.

    ### what it does
    from tracker import list_issues
    found = await list_issues()
    return len(found["issues"])
    --- 3
    tracker.list_issues {}

The line after the program is the value that comes out; those below it are the calls that arrive, in
their order. Of a program that is refused it is the line that is named and a part of the message:
`--- 3: titel`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolcrib.testing.coded_server import CodedServer, structured, texts

_STRING: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
_NUMBER: Final = {"type": "number"}
_OBJECT: Final = {"type": "object"}
_STATE: Final = {"type": "string", "enum": ["open", "closed"]}
_CALL: Final = re.compile(r"([\w-]+)\.(\S+) (\{.*\})")


@dataclass(frozen=True, slots=True)
class Written:
    """One program, and what has to become of it."""

    name: str
    code: str
    end: str
    """What stands behind the dashes."""
    calls: tuple[tuple[str, str, dict[str, Any]], ...]
    """Server, tool, arguments."""


def written(file: Path) -> list[Written]:
    """The programs of a file."""
    found: list[Written] = []
    for block in file.read_text(encoding="utf-8").split("### ")[1:]:
        name, _, rest = block.partition("\n")
        code, _, after = rest.partition("\n--- ")
        end, *lines = after.strip().splitlines()
        calls = [_CALL.fullmatch(line) for line in lines if line]
        if None in calls:
            raise ValueError(f"{file.name}: no call in {name!r}: {lines}")
        made = tuple((it[1], it[2], json.loads(it[3])) for it in calls if it is not None)
        found.append(Written(name, code, end, made))
    return found


def _closed(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _tool(name: str, takes: Mapping[str, Any], gives: Mapping[str, Any] | None = None) -> Any:
    definition = {"name": name, "description": f"Does {name}.", "inputSchema": takes}
    return definition if gives is None else {**definition, "outputSchema": gives}


def _array(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_PERSON: Final = _closed("login", login=_STRING, name={"type": ["string", "null"]})
_ISSUE: Final = _closed(
    "id title state labels assignee",
    id=_INTEGER,
    title=_STRING,
    state=_STATE,
    labels=_array(_STRING),
    assignee={"anyOf": [_PERSON, {"type": "null"}]},
    points=_NUMBER,
    created_at=_STRING,
)
_DRAFT: Final = {
    "type": "object",
    "properties": {
        "title": _STRING,
        "labels": _array(_STRING),
        "assignee": {"type": "object", "properties": {"login": _STRING}},
    },
    "required": ["title"],
}
_PAGE: Final = _closed("issues next", issues=_array(_ISSUE), next={"type": ["string", "null"]})

_ADA: Final = {"login": "ada", "name": "Ada"}
_BO: Final = {"login": "bo", "name": None}
ISSUES: Final[list[dict[str, Any]]] = [
    {"id": 1, "title": "Crash on save", "state": "open", "labels": ["bug", "ui"], "assignee": _ADA}
    | {"points": 3, "created_at": "2026-07-01T10:00:00Z"},
    {"id": 2, "title": "Slow search", "state": "open", "labels": ["perf"], "assignee": None}
    | {"points": 1.5, "created_at": "2026-07-03T09:30:00Z"},
    {"id": 3, "title": "Typo", "state": "closed", "labels": [], "assignee": _BO},
    {"id": 4, "title": "Crash on load", "state": "open", "labels": ["bug"], "assignee": _ADA}
    | {"points": 5, "created_at": "2026-07-09T23:59:59Z"},
]
"""What the tracker holds."""
_EACH: Final = 2
"""Issues of one page, where there are pages."""


async def _list(arguments: dict[str, Any]) -> dict[str, Any]:
    state = arguments.get("state")
    found = [it for it in ISSUES if state in {None, it["state"]}]
    begin = int(arguments.get("cursor", 0))
    size = arguments.get("limit", len(ISSUES) if begin == 0 else _EACH)
    following = begin + size
    more = str(following) if following < len(found) else None
    return structured({"issues": found[begin:following], "next": more})


async def _get(arguments: dict[str, Any]) -> dict[str, Any]:
    found = [it for it in ISSUES if it["id"] == arguments["id"]]
    return structured(found[0]) if found else texts(f"no issue {arguments['id']}", failed=True)


async def _create(arguments: dict[str, Any]) -> dict[str, Any]:
    number = 100 + len(arguments["title"])
    return structured({"id": number, "url": f"https://tracker.example/{number}"})


def tracker() -> CodedServer:
    """A server whose schemas say all there is."""
    created = _closed("id url", id=_INTEGER, url=_STRING)
    create = _closed(
        "title",
        title=_STRING,
        body=_STRING,
        labels=_array(_STRING),
        priority={"type": "integer", "enum": [1, 2, 3]},
        state=_STATE,
        assignee=_PERSON,
    )
    return CodedServer(
        {"list_issues": _list, "get_issue": _get, "create_issue": _create},
        _tool("list_issues", _closed("", state=_STATE, limit=_INTEGER, cursor=_STRING), _PAGE),
        _tool("get_issue", _closed("id", id=_INTEGER), _ISSUE),
        _tool("create_issue", create, created),
        _tool("import_issues", _closed("drafts", drafts=_array(_DRAFT))),
        _tool("add_comment", _closed("issue_id body", issue_id=_INTEGER, body=_STRING)),
        _tool("set_state", _closed("id state", id=_INTEGER, state=_STATE)),
        _tool("label-issue", _closed("id labels", id=_INTEGER, labels=_array(_STRING))),
    )


async def _query(arguments: dict[str, Any]) -> dict[str, Any]:
    rows = [{"host": f"web{n}", "cpu": 0.5 * n, "zone": "eu" if n % 2 else "us"} for n in (1, 2, 3)]
    return structured({"series": arguments["series"], "rows": rows, "unit": "percent"})


async def _counts(_: dict[str, Any]) -> dict[str, Any]:
    by = {"info": 10, "warning": 3, "error": 2}
    return structured({"total": {"errors": 2, "warnings": 3}, "by_level": by, "top": "error"})


def metrics() -> CodedServer:
    """A server whose results have members that its schemas do not name."""
    row = {"type": "object", "properties": {"host": _STRING, "cpu": _NUMBER}}
    result = {
        "type": "object",
        "properties": {"rows": _array({**row, "additionalProperties": True})},
        "required": ["rows"],
        "additionalProperties": True,
    }
    totals = {"errors": _INTEGER, "warnings": _INTEGER}
    counted = _closed(
        "total by_level top",
        total=_closed("errors warnings", **totals),
        by_level={"type": "object", "additionalProperties": _INTEGER},
        top=_STRING,
    )
    since = {"type": "number", "enum": [1.0, 7.0, 30.0]}
    series = _closed("series", series=_STRING, days=since)
    return CodedServer(
        {"query": _query, "count_levels": _counts},
        _tool("query", series, result),
        _tool("count_levels", _closed(""), counted),
    )


def warehouse() -> CodedServer:
    """A server that takes what others gave, and answers with it."""
    anything = {
        "row": _OBJECT,
        "rows": _array(_OBJECT),
        "maybe": {"type": ["object", "null"]},
        "value": {},
        "labels": {"type": "object", "additionalProperties": _STRING},
        "numbers": {"type": "object", "additionalProperties": _NUMBER},
        "issue": _DRAFT,
        "tags": _array(_STRING),
        "ids": _array({"type": ["integer", "string"]}),
        "matrix": _array(_array(_NUMBER)),
        "levels": _array({"enum": ["info", "warning", "error"]}),
    }
    return CodedServer(
        {},
        _tool("put", {**_closed("table", table=_STRING, **anything)}),
        _tool("merge", {"type": "object"}),
    )


async def _post(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments["channel"] == "#gone":
        return texts("channel is archived", failed=True)
    return texts(f"posted to {arguments['channel']}")


async def _people(_: dict[str, Any]) -> dict[str, Any]:
    return texts(json.dumps([{"login": "ada", "mail": "ada@x.org"}, {"login": "bo", "mail": ""}]))


async def _history(_: dict[str, Any]) -> dict[str, Any]:
    return texts("10:01 ERROR db: timeout", "10:02 INFO ok", "10:03 ERROR api: 502")


def chat() -> CodedServer:
    """A server that says nothing of its results."""
    post = _closed(
        "channel text",
        channel=_STRING,
        text=_STRING,
        level={"enum": ["info", "warning", "error"]},
        **{"reply-to": _STRING, "from": _STRING},
    )
    return CodedServer(
        {"post": _post, "people": _people, "history": _history},
        _tool("post", post),
        _tool("people", _closed("")),
        _tool("history", _closed("channel", channel=_STRING)),
    )


def servers() -> dict[str, CodedServer]:
    """All of them, by their ids."""
    return {
        "chat": chat(),
        "metrics": metrics(),
        "tracker": tracker(),
        "ware-house": warehouse(),
    }
