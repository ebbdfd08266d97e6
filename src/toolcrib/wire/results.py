"""Shaping results for the revision of the host.

Services answer in the shape of 2026-07-28. Hosts of that revision get the envelope added; hosts of
a handshake revision get what is newer than they are taken away, so that one modern tool never costs
them the whole list.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.results.encoding import encode
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.errors import ToolcribBug
from toolcrib.protocol.envelope import SERVER_INFO_KEY
from toolcrib.protocol.questions import CAPABILITY_OF, lacking
from toolcrib.wire.faults import missing_capability
from toolcrib.wire.jsonwire import Prepared, Result

MODERN_ONLY: Final = ("resultType", "ttlMs", "cacheScope")
"""Members of results that handshake revisions do not have."""


INPUT_REQUIRED: Final = "input_required"
"""The `resultType` of a result that asks for input instead of answering."""

ASKING_METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods that may be answered with such a result (MCP 2026-07-28, multi round-trip)."""


def asks(result: Result) -> bool:
    """Whether a result asks for input."""
    return not isinstance(result, Prepared) and result.get("resultType") == INPUT_REQUIRED


def asking(
    method: str,
    result: Result,
    capabilities: Mapping[str, Any],
    server_info: Mapping[str, Any],
) -> dict[str, Any]:
    """A result that asks for input, as a host of 2026-07-28 gets it: no hints, nothing unknown.

    Raises `RpcFault` -32021 where the host did not declare that it can be asked that, `ToolcribBug`
    for a result that must not be sent at all.
    """
    members = {} if isinstance(result, Prepared) else result
    questions, state = members.get("inputRequests"), members.get("requestState")
    if method not in ASKING_METHODS:
        raise ToolcribBug(f"{method} was answered with a question")
    if not (questions or isinstance(state, str)):
        raise ToolcribBug("a question was sent that asks nothing and continues nothing")
    for question in questions.values() if is_object(questions) else ():
        _check_askable(question, capabilities)
    shown = {
        "resultType": INPUT_REQUIRED,
        **({"inputRequests": questions} if questions else {}),
        **({"requestState": state} if isinstance(state, str) else {}),
    }
    meta = members.get("_meta")
    return _enveloped({**shown, "_meta": meta} if is_object(meta) else shown, server_info)


def _check_askable(question: object, capabilities: Mapping[str, Any]) -> None:
    asked = question if is_object(question) else {}
    method, params = asked.get("method"), asked.get("params")
    if not isinstance(method, str) or method not in CAPABILITY_OF:
        raise ToolcribBug("a question was sent that hosts cannot be asked")
    if missing := lacking(method, params if is_object(params) else {}, capabilities):
        message = f"the server has to ask {method}, which this host did not declare"
        raise missing_capability(message, missing)


def for_modern(result: Result, server_info: Mapping[str, Any]) -> Result:
    """Add the envelope: `resultType`, and our identity in place of any other server's."""
    if isinstance(result, Prepared):
        members = _enveloped(result.members, server_info)
        return Prepared(result.field, result.items, result.encoded, members)
    return _enveloped(result, server_info)


def for_handshake(method: str, result: Result) -> Result:
    """Take away what the revision does not know."""
    if isinstance(result, Prepared):
        members = _without_modern(result.members)
        return Prepared(result.field, result.items, result.encoded, members)
    plain = _without_modern(result)
    if method == "tools/call":
        return _call_result(plain)
    if method == "tools/list":
        plain["tools"] = [tool_for_handshake(tool) for tool in plain["tools"]]
    return plain


def tool_for_modern(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as 2026-07-28 knows it, where tasks, and so `execution`, are an extension apart."""
    if "execution" not in tool:
        return tool
    return {key: value for key, value in tool.items() if key != "execution"}


def tool_for_handshake(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as handshake revisions may see it: the root of an output schema is an object.

    One tool that breaks this makes clients of those revisions refuse the whole listing; without its
    output schema the tool itself still works.
    """
    output = tool.get("outputSchema")
    if output is None or (is_object(output) and output.get("type") == "object"):
        return tool
    return {key: value for key, value in tool.items() if key != "outputSchema"}


def _enveloped(result: Mapping[str, Any], server_info: Mapping[str, Any]) -> dict[str, Any]:
    meta = result.get("_meta")
    own = {SERVER_INFO_KEY: server_info}
    return {
        "resultType": "complete",
        **result,
        "_meta": {**meta, **own} if is_object(meta) else own,
    }


def _without_modern(result: Mapping[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in result.items() if key not in MODERN_ONLY}
    meta = plain.get("_meta")
    if is_object(meta) and SERVER_INFO_KEY in meta:
        plain["_meta"] = {key: value for key, value in meta.items() if key != SERVER_INFO_KEY}
    return plain


def _call_result(result: dict[str, Any]) -> dict[str, Any]:
    """Structured content is an object in these revisions; anything else travels as text."""
    if "structuredContent" not in result:
        return result
    structured = result["structuredContent"]
    content = result.get("content")
    if content and is_object(structured):
        return result
    blocks = content if is_array(content) else []
    text = encode(structured).decode()
    if not any(_says(block, text) for block in blocks):
        blocks = [*blocks, {"type": "text", "text": text}]
    shaped = {**result, "content": blocks}
    if not is_object(structured):
        del shaped["structuredContent"]
    return shaped


def _says(block: object, text: str) -> bool:
    return is_object(block) and block.get("text") == text
