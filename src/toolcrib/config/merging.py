"""Several `toolcrib.toml` files as one: the first to set a key wins, the others are reported.

Rules of approval and flows are put one after the other: no file takes back what another one denies.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from toolcrib.config.document import Node
from toolcrib.config.problem import Report

NOTHING = Node({}, "", "", 1, 1)
"""What no file at all says."""
_JOINED = frozenset({"approval.rules", "code.flows"})
"""Lists of which every file has its part."""


def merged(roots: Sequence[Node], report: Report) -> Node:
    """One tree out of all, table by table; every value keeps its own place."""
    return reduce(lambda first, second: _merged(first, second, report), roots, NOTHING)


def _merged(first: Node, second: Node, report: Report) -> Node:
    if first is NOTHING:
        return second
    if isinstance(first.value, list) and isinstance(second.value, list) and first.path in _JOINED:
        return replace(first, value=[*first.value, *second.value])
    if not isinstance(first.value, dict) or not isinstance(second.value, dict):
        report.warn(second, f"is set in {first.place} already", "the first file counts: remove one")
        return first
    both = dict(first.value)
    for key, member in second.value.items():
        both[key] = _merged(both[key], member, report) if key in both else member
    return replace(first, value=both)
