"""What a server says of itself when a connection opens, read with every part in doubt."""

from collections.abc import Mapping
from typing import Any

from toolcrib.core.jsontypes import is_object
from toolcrib.ports import Era, ServerFacts
from toolcrib.protocol.envelope import SERVER_INFO_KEY

Result = Mapping[str, Any]


def modern_facts(version: str, result: Result) -> ServerFacts:
    """The facts in the result of `server/discover`; the server's name is in its `_meta`."""
    return _facts("modern", version, result, _mapping(result.get("_meta")).get(SERVER_INFO_KEY))


def handshake_facts(version: str, result: Result) -> ServerFacts:
    """The facts in the result of `initialize`."""
    return _facts("handshake", version, result, result.get("serverInfo"))


def _facts(era: Era, version: str, result: Result, info: object) -> ServerFacts:
    named = _mapping(info)
    return ServerFacts(
        era=era,
        protocol_version=version,
        capabilities=_mapping(result.get("capabilities")),
        name=_text(named.get("name")),
        version=_text(named.get("version")),
        instructions=_text(result.get("instructions")),
    )


def _mapping(value: object) -> Result:
    return value if is_object(value) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
