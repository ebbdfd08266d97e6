"""Values in HTTP headers: what is safe to write as it is, and the sentinel for everything else.

MCP 2026-07-28, Streamable HTTP: value encoding, client behavior. `Mcp-Name` and `Mcp-Param-*`
carry text of other people, so whatever is not plain visible ASCII travels as `=?base64?…?=`.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from toolcrib.core.canonical import spelled_float
from toolcrib.core.jsontypes import is_number, is_object
from toolcrib.core.mirrored import Mirrored, mirror_fault, mirrored
from toolcrib.core.quoting import has_surrogates, quoted

VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"
PARAMETER_PREFIX = "Mcp-Param-"

SAFE_INTEGER = 2**53 - 1
"""The largest integer that may be mirrored, in either direction from zero."""

_OPENING, _CLOSING = "=?base64?", "?="
_PLAIN = re.compile(r"[\x20-\x7e]*")


class UnmirrorableValue(ValueError):
    """An argument that its tool wants in a header cannot be written into one."""


def encode_value(text: str) -> str:
    """A text as a header value: itself if that is safe, else in the sentinel.

    Raises:
        UnmirrorableValue: for a text with unpaired surrogates, which has no UTF-8 form.
    """
    looks_encoded = text.startswith(_OPENING) and text.endswith(_CLOSING)
    if _PLAIN.fullmatch(text) and text == text.strip() and not looks_encoded:
        return text
    if has_surrogates(text):
        raise UnmirrorableValue(f"{quoted(text)} has unpaired surrogates and fits in no header")
    return f"{_OPENING}{base64.b64encode(text.encode()).decode()}{_CLOSING}"


def decode_value(value: str) -> str | None:
    """The text of a header value; None for a broken sentinel, which must equal nothing."""
    payload = value.removeprefix(_OPENING).removesuffix(_CLOSING)
    if len(payload) + len(_OPENING) + len(_CLOSING) != len(value):
        return value
    try:
        text = base64.b64decode(payload, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    # One text has one encoding: stray bits after the last byte would be a second one.
    return text if base64.b64encode(text.encode()).decode() == payload else None


def parameter_headers(input_schema: object, arguments: Mapping[str, Any]) -> dict[str, str]:
    """The `Mcp-Param-*` headers of a `tools/call`, from the arguments at the annotated places.

    Args:
        input_schema: The tool's, as some snapshot has it. One with faulty annotations, which only
            a server of an older revision may list, yields no headers at all.
        arguments: The arguments as they will be sent.

    Raises:
        UnmirrorableValue: for an integer beyond the safe range, and for unpaired surrogates; names
            the argument.
    """
    headers: dict[str, str] = {}
    if mirror_fault(input_schema) is not None:
        return headers
    for parameter in mirrored(input_schema):
        text = _text_of(parameter, arguments)
        if text is not None:
            try:
                headers[f"{PARAMETER_PREFIX}{parameter.header}"] = encode_value(text)
            except UnmirrorableValue as unwritable:
                raise UnmirrorableValue(f"argument {_name_of(parameter)}: {unwritable}") from None
    return headers


def _text_of(parameter: Mirrored, arguments: Mapping[str, Any]) -> str | None:
    """The value at a parameter's place as text; None where there is none of a plain type."""
    value: object = arguments
    for name in parameter.path:
        value = value.get(name) if is_object(value) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not is_number(value):
        return value if isinstance(value, str) else None
    if not abs(value) <= SAFE_INTEGER:  # NaN is beyond, too
        where = _name_of(parameter)
        raise UnmirrorableValue(
            f"argument {where} is beyond ±(2**53 - 1) and may not go into a header"
        )
    return str(value) if isinstance(value, int) else spelled_float(value)


def _name_of(parameter: Mirrored) -> str:
    return quoted(".".join(parameter.path))
