"""`[exposure]` of `toolcrib.toml`: when definitions are shown as a whole, and which always are.

`window`, `share`, `above`, `pinned`, `pinned_tokens`, `counting`, `token_factor`. A key that is
wrong keeps its default.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final, get_args

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.problem import Report
from toolcrib.settings import Counting, ExposureSettings

EXPOSURE_KEYS: Final = frozenset(field.name for field in fields(ExposureSettings))
_ABOVE: Final = ("search", "code")


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


def _tokens(given: Mapping[str, Node], key: str, report: Report, *, zero: bool) -> float | None:
    return typed.number(given[key], report, whole=True, zero=zero) if key in given else None
