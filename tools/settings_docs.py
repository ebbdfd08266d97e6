"""Write the tables of docs/configuration.md from the settings and their defaults."""

import ast
import json
import re
from collections.abc import Collection
from dataclasses import MISSING, fields
from inspect import getsource
from typing import Any, get_args

from generated import ROOT, write_or_check
from toolcrib import settings
from toolcrib.config.code_toml import CODE_KEYS, FLOW_KEYS
from toolcrib.config.skills_toml import SKILL_KEYS
from toolcrib.config.toolcrib_toml import GATEWAY_KEYS, TUNING_KEYS

PAGE = ROOT / "docs" / "configuration.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
COUNTS = {
    "answer_depth",
    "calls",
    "calls_per_server",
    "candidates",
    "give_up_after",
    "handles",
    "in_flight",
    "kept_results",
    "ledger_entries",
    "name_length",
    "output_tokens",
    "parked_calls",
    "per_minute",
    "pinned_tokens",
    "programs",
    "queue_per_server",
    "queued",
    "redirect_port",
    "rounds",
    "schema_depth",
    "schema_work",
    "search_chars",
    "search_hits",
    "search_hits_most",
    "share",
    "source_depth",
    "suspended",
    "token_factor",
    "walk_items",
    "walk_pages",
    "walks_per_minute",
    "window",
}
"""Numbers that are neither seconds nor bytes."""
ELSEWHERE = {"waits", "reconnect", "tools"}
"""Members of a server that are tables of their own."""

Rows = list[tuple[str, str, str]]


def meanings(record: type) -> dict[str, str]:
    """What the text under each field of a record says, on one line."""
    (body,) = ast.parse(getsource(record)).body
    found: dict[str, str] = {}
    name = ""
    for statement in body.body if isinstance(body, ast.ClassDef) else []:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                found[name] = " ".join(text.split())
            case _:
                pass
    return found


def written(name: str, value: Any) -> str:
    """A default as the file would say it, with its unit."""
    match value:
        case bool():
            return f"`{str(value).lower()}`"
        case None:
            return "not set"
        case _ if value is MISSING:
            return "needed"
        case str():
            return f'`"{value}"`'
        case tuple():
            return f"`{json.dumps(value)}`"
        case _ if name.endswith("_bytes"):
            return size(value)
        case _ if name in COUNTS:
            return f"{value:,}"
        case _:
            return f"{value:,.10g} s"


def size(number: int) -> str:
    """A number of bytes in its largest whole unit."""
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if number % factor == 0:
            return f"{number // factor:,} {unit}"
    return f"{number:,} bytes"


def rows_of(record: type, keys: Collection[str] | None = None, prefix: str = "") -> Rows:
    """A row for each field that a file may set."""
    said = meanings(record)
    return [
        (f"{prefix}{field.name}", written(field.name, field.default), said[field.name])
        for field in fields(record)
        if keys is None or field.name in keys
    ]


def of_server() -> Rows:
    """What `[servers.<id>]` may say of a server that is launched elsewhere."""
    plain = rows_of(settings.ServerSettings, (TUNING_KEYS - ELSEWHERE) | {"disabled"})
    words = {"connect": settings.Connect, "strategy": settings.Strategy}
    rows = [
        (name, default, f"{meaning} {choices(words[name])}" if name in words else meaning)
        for name, default, meaning in plain
    ]
    rows += rows_of(settings.ToolFilter, prefix="tools.")
    return [
        *rows,
        ("waits.*", "those of `[waits]`", "Any of the waits, for this server alone."),
        ("reconnect.*", "those of `[reconnect]`", "The same for its connection."),
    ]


def choices(literal: Any) -> str:
    """The words that a choice is made from."""
    return f"One of {', '.join(f'`{word}`' for word in get_args(literal))}."


TABLES = {
    "gateway": rows_of(settings.GatewaySettings, GATEWAY_KEYS),
    "limits": rows_of(settings.Limits),
    "waits": rows_of(settings.Waits),
    "reconnect": rows_of(settings.Reconnect),
    "server": of_server(),
    "oauth": rows_of(settings.OAuthSettings),
    "exposure": rows_of(settings.ExposureSettings),
    "search": rows_of(settings.SearchSettings, {"method", "index_wait_seconds"}),
    "subagent": rows_of(settings.SubagentSettings),
    "dynamic": rows_of(settings.DynamicSettings),
    "code": rows_of(settings.CodeSettings, CODE_KEYS - {"flows"}),
    "flow": rows_of(settings.FlowRule, FLOW_KEYS),
    "skill": rows_of(settings.Skill, SKILL_KEYS),
}


def page(text: str) -> str:
    """The page with every table made anew."""

    def table(found: re.Match[str]) -> str:
        rows = [f"| `{name}` | {default} | {said} |" for name, default, said in TABLES[found[2]]]
        head = ["| key | default | meaning |", "|---|---|---|"]
        return found[1] + "\n".join([*head, *rows, found[3]])

    return TABLE.sub(table, text)


if __name__ == "__main__":
    write_or_check(PAGE, page(PAGE.read_text()), __doc__)
