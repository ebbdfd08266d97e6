"""`[search]` of `toolcrib.toml`: how tools are searched, and the small model that may choose.

- `method`, `index_wait_seconds`.
- `[search.subagent]`: `url` and `model`; `api`, `key`, `candidates`, `timeout_seconds`,
  `output_tokens`, `per_minute`. `${…}` in its texts is replaced as in an `mcp.json`.

A subagent with an error is left out: half of what was meant is asked of no model.
"""

from dataclasses import fields, replace
from typing import Any, Final, get_args
from urllib.parse import urlsplit

from toolcrib.config import typed
from toolcrib.config.document import Node, Value
from toolcrib.config.expansion import Scope
from toolcrib.config.fields import Fields
from toolcrib.config.launching import is_http
from toolcrib.config.problem import Report
from toolcrib.settings import ModelApi, SearchMethod, SearchSettings, Secret, SubagentSettings

SEARCH_KEYS: Final = frozenset(field.name for field in fields(SearchSettings))
SUBAGENT_KEYS: Final = frozenset(field.name for field in fields(SubagentSettings))
_TEXTS: Final = ("url", "model", "key")


def read_search(node: Node, scope: Scope, report: Report) -> SearchSettings:
    """What the table says; what is wrong with it is reported."""
    given = typed.members(node, SEARCH_KEYS, report)
    found = SearchSettings()
    if "subagent" in given:
        found = replace(found, subagent=_subagent(given["subagent"], scope, report))
    if "index_wait_seconds" in given:
        wait = typed.number(given["index_wait_seconds"], report, whole=False, zero=True)
        found = found if wait is None else replace(found, index_wait_seconds=wait)
    if "method" not in given:
        return found
    method: Any = typed.choice(given["method"], get_args(SearchMethod), report)
    if method == "subagent" and found.subagent is None:
        if "subagent" not in given:
            remedy = "add [search.subagent] with url and model"
            report.error(given["method"], "needs a model to ask", remedy)
        return found
    return found if method is None else replace(found, method=method)


def _subagent(node: Node, scope: Scope, report: Report) -> SubagentSettings | None:
    inner = Report(report.entry)
    found = _read_subagent(node, scope, inner)
    for problem in inner.problems:
        left = ", so no small model is asked" if problem.severity == "error" else ""
        report.problems.append(replace(problem, message=f"{problem.message}{left}"))
    return None if inner.failed else found


def _read_subagent(node: Node, scope: Scope, report: Report) -> SubagentSettings | None:
    given = typed.members(node, SUBAGENT_KEYS, report)
    if not isinstance(node.value, dict):
        return None
    said = {key: _text(node, given[key], scope, report) for key in _TEXTS if key in given}
    for key in ("url", "model"):
        if key not in given:
            report.error(node, f"has no {key}", f"add {key}")
    url, model, key = (said.get(name) for name in _TEXTS)
    if url:
        _check_address(given["url"], url, report)
    if key and not (key.isascii() and key.isprintable()):
        report.error(given["key"], "holds characters that no header may carry", "check the key")
    api: Any = typed.choice(given["api"], get_args(ModelApi), report) if "api" in given else None
    numbers: Value = {it: given[it] for it in given if it not in {*_TEXTS, "api"}}
    base = SubagentSettings(
        url or "", model or "", api or "openai", None if key is None else Secret(key)
    )
    return typed.numbers(replace(node, value=numbers), base, report)


def _text(table: Node, node: Node, scope: Scope, report: Report) -> str | None:
    found = Fields(table, scope, report).text(node, may_vanish=False)
    if found is not None and not found.strip():
        report.error(node, "is empty", "give it a value, or leave it out")
        return None
    return found


def _check_address(node: Node, url: str, report: Report) -> None:
    if not is_http(url):
        report.error(node, "is no http:// or https:// address", "write https://host/v1")
    elif "@" in urlsplit(url).netloc:
        report.error(node, "holds a credential", "put it into key, which is never shown")
