"""The right answers of a scripted server, before any rule has its say."""

from collections.abc import Mapping
from typing import Any

from toolcrib.core.snapshot import Kind
from toolcrib.testing.server.behaviour import Content, Profile
from toolcrib.testing.server.revision import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    Rejection,
    mapping,
    params_of,
)

__all__ = ["KINDS", "answer", "capabilities"]

KINDS: Mapping[str, Kind] = {kind.method: kind for kind in Kind}
"""The list methods."""

_HINTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_EMPTY_IN_HANDSHAKE = frozenset(
    {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)


def capabilities(profile: Profile, content: Content) -> Mapping[str, Any]:
    """The server capabilities: those given, or tools and what there is content of."""
    if profile.capabilities is not None:
        return profile.capabilities
    changing = {"listChanged": True} if profile.declares_changes else {}
    declared: dict[str, Any] = {"tools": changing}
    if content.prompts:
        declared["prompts"] = changing
    if content.resources or content.templates:
        declared["resources"] = changing
    return declared


def answer(
    request: Mapping[str, Any], profile: Profile, content: Content, *, modern: bool
) -> dict[str, Any] | Rejection:
    """The result of any request that is neither a listing nor a listen."""
    method = str(request["method"])
    params = params_of(request)
    match method:
        case "server/discover" if modern:
            return _discover(profile, content)
        case "initialize":
            return _initialize(params, profile, content)
        case "tools/call" | "prompts/get" | "resources/read" | "completion/complete":
            result = _use(method, params, content)
        case _ if method in _EMPTY_IN_HANDSHAKE and not modern:
            return {}
        case _:
            return Rejection(METHOD_NOT_FOUND, f"method not found: {method}")
    if modern and not isinstance(result, Rejection):
        result |= _HINTS if method == "resources/read" else {"resultType": "complete"}
    return result


def _self_description(profile: Profile, content: Content) -> dict[str, Any]:
    described: dict[str, Any] = {"capabilities": capabilities(profile, content)}
    if profile.instructions is not None:
        described["instructions"] = profile.instructions
    return described


def _discover(profile: Profile, content: Content) -> dict[str, Any]:
    info = {"name": profile.name, "version": profile.version}
    return {
        **_self_description(profile, content),
        **_HINTS,
        "supportedVersions": list(profile.modern),
        "_meta": {"io.modelcontextprotocol/serverInfo": info},
    }


def _initialize(
    params: Mapping[str, Any], profile: Profile, content: Content
) -> dict[str, Any] | Rejection:
    asked = params.get("protocolVersion")
    if not profile.handshake:
        data = {"supported": list(profile.modern), "requested": asked}
        return Rejection(UNSUPPORTED_VERSION, "this server speaks stateless revisions only", data)
    return {
        **_self_description(profile, content),
        "protocolVersion": asked if asked in profile.handshake else profile.handshake[0],
        "serverInfo": {"name": profile.name, "version": profile.version},
    }


def _use(method: str, params: Mapping[str, Any], content: Content) -> dict[str, Any] | Rejection:
    """What a tool, prompt, resource or completion gives: an echo of what it was asked."""
    match method:
        case "tools/call":
            return _call(params, content)
        case "prompts/get":
            text = {"type": "text", "text": f"{params.get('name')}: {params.get('arguments')}"}
            return {"messages": [{"role": "user", "content": text}]}
        case "resources/read":
            return {"contents": [{"uri": params.get("uri"), "text": f"read {params.get('uri')}"}]}
        case _:
            argument = mapping(params.get("argument"))
            return {"completion": {"values": [f"{argument.get('value', '')}!"], "hasMore": False}}


def _call(params: Mapping[str, Any], content: Content) -> dict[str, Any] | Rejection:
    """An echo of the arguments; unknown is what no replica lists (MCP 2026-07-28, tools)."""
    name = params.get("name")
    listed = [*content.tools, *(content.other_tools or ())]
    if name not in [mapping(one).get("name") for one in listed]:
        return Rejection(INVALID_PARAMS, f"unknown tool: {name}")
    arguments = mapping(params.get("arguments"))
    text = ", ".join(f"{key}={value}" for key, value in sorted(arguments.items()))
    return {"content": [{"type": "text", "text": f"{name}({text})"}]}
