"""What servers answer to calls, before anybody gets it: is it a result, and the promised one?

Both forms of a result pass untouched: its content blocks and its structured content (MCP
2026-07-28, tools: tool result). What is taken out are keys of ours in `_meta`, which only we write.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.results.encoding import NotFinite, encode
from toolcrib.core.jsontypes import described, is_array, is_object
from toolcrib.core.quoting import clipped, enumerated, literal, quoted
from toolcrib.core.snapshot import Item
from toolcrib.errors import LimitExceeded, ResultInvalid
from toolcrib.ports import SchemaChecker, SchemaFault, Unchecked
from toolcrib.protocol.envelope import without_own

INPUT_REQUIRED: Final = "input_required"

_TEXTS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri",),
}
"""By type of a content block: members that must be strings. Unknown types pass as they are."""

_RAN: Final = "the tool has run, so calling it again may repeat what it did"


def finished(server: str, result: Mapping[str, Any], limit: int) -> dict[str, Any]:
    """A whole `CallToolResult`, as a copy that may be changed at the top.

    Structured content alone is a result, too: it gets empty content.

    Raises:
        ResultInvalid: It has a type that nobody asked for, a shape that hosts could not read, or
            a number that JSON has not.
        LimitExceeded: It has more than `limit` bytes (`result_bytes`).
    """
    kind = result.get("resultType", "complete")
    if kind != "complete":
        raise _invalid(server, "resultType", f"is {literal(kind)}, which nobody asked for")
    answer = dict(result)
    if "_meta" in answer:
        answer["_meta"] = without_own(answer["_meta"])
    if answer.get("content") is None and "structuredContent" in answer:
        answer["content"] = []
    if answer.get("isError", False) is None:
        del answer["isError"]
    if not isinstance(flag := answer.get("isError", False), bool):
        raise _invalid(server, "isError", f"is {described(flag)}, but must be a boolean")
    _check_content(server, answer.get("content"))
    check_size(server, "tools/call", answer, limit)
    return answer


def output_faults(
    checker: SchemaChecker, item: Item, result: Mapping[str, Any]
) -> tuple[SchemaFault, ...] | Unchecked:
    """Where a finished result does not fit the output schema of its tool; nothing where all does.

    A result with `isError` promises nothing, and a tool without an output schema neither.
    """
    schema = item.definition.get("outputSchema")
    if schema is None or result.get("isError") is True:
        return ()
    found = checker.check(schema, result.get("structuredContent"), mark=f"{item.contract}/output")
    if "structuredContent" in result or isinstance(found, Unchecked):
        return found
    return (SchemaFault("", "structuredContent is missing, which outputSchema wants"),)


def output_invalid(server: str, key: str, faults: tuple[SchemaFault, ...]) -> ResultInvalid:
    """The error for a result that breaks its tool's output schema: where, and why."""
    told = [{"where": clipped(it.where, 200), "what": it.what} for it in faults]
    first = enumerated((_sentence(fault) for fault in faults), 600)
    return ResultInvalid(
        f"the result of {quoted(key)} of {quoted(server)} does not fit its outputSchema: {first}; "
        f"{_RAN}",
        server=server,
        details={"faults": told, "executed": True},
    )


def check_size(server: str, method: str, answer: object, limit: int) -> None:
    """Holds a result to `result_bytes`.

    Raises:
        LimitExceeded: It has more than `limit` bytes as JSON.
        ResultInvalid: It holds NaN or an infinity.
    """
    try:
        size = len(encode(answer))
    except NotFinite as broken:
        raise ResultInvalid(
            f"the result of {quoted(server)} for {method} is broken: {broken}",
            server=server,
            details={"faults": [{"where": broken.place, "what": "no number that JSON has"}]},
        ) from None
    if size > limit:
        raise LimitExceeded(
            f"the result of {quoted(server)} has {size} bytes, "
            f"more than result_bytes allows ({limit})",
            server=server,
            remedy="ask for less, or raise result_bytes",
        )


def _check_content(server: str, content: object) -> None:
    if not is_array(content):
        raise _invalid(server, "content", f"is {described(content)}, but must be an array")
    for position, block in enumerate(content):
        fault = _block_fault(block)
        if fault:
            raise _invalid(server, f"content[{position}]", fault)


def _block_fault(block: object) -> str:
    if not is_object(block):
        return f"is {described(block)}, but must be an object"
    kind = block.get("type")
    if not isinstance(kind, str):
        return f"has a type that is {described(kind)}, but must be a string"
    for member in _TEXTS.get(kind, ()):
        if not isinstance(block.get(member), str):
            return f"is a block of type {literal(kind)} without a string {quoted(member)}"
    return _resource_fault(block.get("resource")) if kind == "resource" else ""


def _resource_fault(resource: object) -> str:
    """An embedded resource has a URI, and text or a blob."""
    if is_object(resource) and isinstance(resource.get("uri"), str):
        if isinstance(resource.get("text"), str) or isinstance(resource.get("blob"), str):
            return ""
        return "holds a resource with neither a string `text` nor a string `blob`"
    return "holds a resource without a string `uri`"


def _invalid(server: str, where: str, what: str) -> ResultInvalid:
    return ResultInvalid(
        f"the result of {quoted(server)} is broken: {quoted(where)} {what}; {_RAN}",
        server=server,
        details={"faults": [{"where": where, "what": what}], "executed": True},
    )


def _sentence(fault: SchemaFault) -> str:
    return f"{quoted(fault.where, 120)}: {fault.what}" if fault.where else fault.what
