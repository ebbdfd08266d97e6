"""Answers of servers, before a host gets them: is this a result of that method at all."""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.results.results import check_size
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import literal, quoted
from toolcrib.errors import ResultInvalid
from toolcrib.protocol.envelope import relayed_meta

_LISTS: Final[Mapping[str, str]] = {
    "resources/read": "contents",
    "prompts/get": "messages",
}
"""The member of each result that must be an array of objects."""


def checked(server: str, method: str, result: dict[str, Any], limit: int) -> dict[str, Any]:
    """A result that fits its method, as a copy that may be changed at the top.

    What of its `_meta` is not for hosts is taken out. Raises `ResultInvalid` for a result type
    nobody asked for, a shape that hosts could not read, or numbers that JSON has not, and
    `LimitExceeded` above `limit` bytes.
    """
    kind = result.get("resultType", "complete")
    if kind != "complete":
        raise ResultInvalid(
            f"{quoted(server)} answered with a result of type {literal(kind)}, "
            "which nobody asked for",
            server=server,
        )
    answer = dict(result)
    if "_meta" in answer:
        meta = answer["_meta"]
        answer["_meta"] = relayed_meta(meta) if is_object(meta) else meta
    if (field := _LISTS.get(method)) is not None:
        _check_list(server, method, field, answer)
    elif not is_object(answer.get("completion")):
        raise _misshapen(server, method, "completion")
    check_size(server, method, answer, limit)
    return answer


def _check_list(server: str, method: str, field: str, answer: dict[str, Any]) -> None:
    value = answer.get(field)
    if not is_array(value) or not all(is_object(part) for part in value):
        raise _misshapen(server, method, field)


def _misshapen(server: str, method: str, field: str) -> ResultInvalid:
    return ResultInvalid(
        f"{quoted(server)} answered {method} without a usable {field!r}", server=server
    )
