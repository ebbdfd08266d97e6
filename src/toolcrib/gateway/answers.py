"""Answers of servers, before a host gets them: is this a result of that method at all."""

from collections.abc import Mapping
from typing import Any, Final, cast

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import literal, quoted
from toolcrib.errors import IncompatibleServer, LimitExceeded, ResultInvalid
from toolcrib.protocol.envelope import without_own
from toolcrib.wire.jsonwire import NotFinite, encode

_LISTS: Final[Mapping[str, str]] = {
    "tools/call": "content",
    "resources/read": "contents",
    "prompts/get": "messages",
}
"""The member of each result that must be an array of objects."""

_DENIALS: Final = ("unknown tool", "not found", "no such tool", "does not exist", "unknown prompt")
_DENIAL_LENGTH: Final = 300


def checked(server: str, method: str, result: dict[str, Any], limit: int) -> dict[str, Any]:
    """A result that fits its method, as a copy that may be changed at the top.

    Keys of ours in its `_meta` are taken out. Raises `IncompatibleServer` for a result type nobody
    asked for, or a shape that hosts could not read, `ResultInvalid` for numbers that JSON has not,
    and `LimitExceeded` above `limit` bytes.
    """
    kind = result.get("resultType", "complete")
    if kind != "complete":
        raise IncompatibleServer(
            f"{quoted(server)} answered with a result of type {literal(kind)}, "
            "which nobody asked for",
            server=server,
        )
    answer = dict(result)
    if "_meta" in answer:
        answer["_meta"] = without_own(answer["_meta"])
    if (field := _LISTS.get(method)) is not None:
        _check_list(server, method, field, answer)
    elif not is_object(answer.get("completion")):
        raise _misshapen(server, method, "completion")
    if (size := _size(server, method, answer)) > limit:
        raise LimitExceeded(
            f"the result of {quoted(server)} has {size} bytes, "
            f"more than result_bytes allows ({limit})",
            server=server,
            remedy="ask for less, or raise result_bytes",
        )
    return answer


def denies_existence(result: Mapping[str, Any], name: str) -> bool:
    """Whether a tool's result says that there is no such tool; many servers use no error for it."""
    if result.get("isError") is not True:
        return False
    blocks = cast("list[Mapping[str, Any]]", result["content"])
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    return any(
        len(text) <= _DENIAL_LENGTH
        and name in text
        and any(word in text.lower() for word in _DENIALS)
        for text in texts
    )


def _check_list(server: str, method: str, field: str, answer: dict[str, Any]) -> None:
    value = answer.get(field)
    if value is None and method == "tools/call" and "structuredContent" in answer:
        answer[field] = []
        return
    if not is_array(value) or not all(is_object(part) for part in value):
        raise _misshapen(server, method, field)


def _size(server: str, method: str, answer: dict[str, Any]) -> int:
    try:
        return len(encode(answer))
    except NotFinite as broken:
        raise ResultInvalid(
            f"the result of {quoted(server)} for {method} is broken: {broken}", server=server
        ) from None


def _misshapen(server: str, method: str, field: str) -> IncompatibleServer:
    return IncompatibleServer(
        f"{quoted(server)} answered {method} without a usable {field!r}", server=server
    )
