"""The request that a line was meant to answer, where the line itself cannot be read.

A result may nest too deeply, hold an integer of too many digits, or be cut off. Its request would
wait for its whole time-out, and then be told that the server had not answered, which is not so.
"""

import json
import re
from typing import Final, cast

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, RequestId

from toolcrib.adapters.jsonrpc_line import broken_answer

SCANNED: Final = 1024 * 1024
"""Bytes of a line that are looked through for its id."""

_MEMBERS: Final = 64
"""Members of an answer that are looked at; JSON-RPC has three."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
"""A string, also one that is cut off, or what gives the line its structure."""

_KEY: Final = re.compile(rb'\s*:\s*(?:(-?\d{1,18}|"[^"\\]{1,128}"|"2\.0")\s*(?=[,}]))?')
"""What follows a key; the group is the value, where it is short enough to be an id."""


def answer_of_unreadable(line: bytes) -> SessionMessage | None:
    """An error in place of an answer that is no readable JSON; None where it has no one id.

    Only members of the outermost object count, so that an `id` inside a result is never taken for
    the answer's own; what calls a method is no answer.
    """
    if not line.lstrip().startswith(b"{"):
        return None
    members = _outer_members(line[:SCANNED])
    if members is None or members.get(b'"jsonrpc"') != b'"2.0"' or b'"method"' in members:
        return None
    request_id = members.get(b'"id"')
    if request_id is None or not members.keys() & {b'"result"', b'"error"'}:
        return None
    error = broken_answer(f"the server's answer of {len(line)} bytes cannot be read as JSON")
    found = cast("RequestId", json.loads(request_id.decode("utf-8", "replace")))
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=found, error=error))


def _outer_members(line: bytes) -> dict[bytes, bytes | None] | None:
    """The members of the outermost object, with short values; None where one comes twice."""
    members: dict[bytes, bytes | None] = {}
    depth, at_key = 0, False
    for token in _TOKEN.finditer(line):
        mark = token[0]
        if mark in b"{[":
            depth += 1
            at_key = depth == 1
        elif mark in b"}]":
            depth -= 1
            if depth <= 0:
                break
        elif mark == b",":
            at_key = depth == 1
        elif at_key:
            at_key = False
            followed = _KEY.match(line, token.end())
            if followed is None or mark in members or len(members) == _MEMBERS:
                return None
            members[mark] = followed[1]
    return members
