"""`[exposure]` of `toolcrib.toml`: when definitions are shown as a whole, and which always are.

`window`, `share`, `above`, `pinned`, `pinned_tokens`, `counting`, `token_factor`. A key that is
wrong keeps its default.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Final, get_args

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.problem import Report
from toolcrib.core.naming import JOINT, expose
from toolcrib.settings import Counting, ExposureSettings

EXPOSURE_KEYS: Final = frozenset(field.name for field in fields(ExposureSettings))
_ABOVE: Final = ("search", "code")
_WILD: Final = re.compile(r"[*?\[]")
_TOOLS: Final = ("x", "x" * 256)
"""A short name and a long one: in front of a long one the server's may be cut."""
_QUALIFIED: Final = "write server__tool, as `toolcrib list` shows it; * stands for any characters"


def read_exposure(node: Node, report: Report) -> ExposureSettings:
    """What the table says; what is wrong with it is reported."""
    given = typed.members(node, EXPOSURE_KEYS, report)
    found: dict[str, Any] = {
        "window": _tokens(given, "window", report, zero=False),
        "pinned_tokens": _tokens(given, "pinned_tokens", report, zero=True),
    }
    if "share" in given:
        found["share"] = typed.number(
            given["share"], report, whole=False, zero=False, of=" such as 0.03", most=1
        )
    if "token_factor" in given:
        found["token_factor"] = typed.number(
            given["token_factor"], report, whole=False, zero=False, of=" such as 1.2", most=1_000
        )
    if "above" in given:
        found["above"] = typed.choice(given["above"], _ABOVE, report)
    if "counting" in given:
        found["counting"] = typed.choice(given["counting"], get_args(Counting), report)
    if "pinned" in given:
        found["pinned"] = typed.texts(given["pinned"], report)
    return ExposureSettings(**{key: value for key, value in found.items() if value is not None})


def warn_of_strangers(pinned: Node, servers: Collection[str], limit: int, report: Report) -> None:
    """Warns of patterns that begin with the name of no server.

    Args:
        pinned: The list of patterns.
        servers: The ids that any file configures.
        limit: Most characters of a qualified name.
        report: Takes the warnings.
    """
    fronts = {
        expose(server, tool, limit=limit).split(JOINT)[0] for server in servers for tool in _TOOLS
    }
    for member in pinned.value if isinstance(pinned.value, list) else ():
        front, joint, tool = str(member.value).partition(JOINT)
        if _WILD.search(front) or front in fronts:
            continue
        message = "begins with the name of no server, so it matches no qualified name"
        close = get_close_matches(front, fronts, n=1) if joint else []
        remedy = f"did you mean {close[0]}{joint}{tool}?" if close else _QUALIFIED
        report.warn(member, message, remedy)


def _tokens(given: Mapping[str, Node], key: str, report: Report, *, zero: bool) -> float | None:
    return typed.number(given[key], report, whole=True, zero=zero) if key in given else None
