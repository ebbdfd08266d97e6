"""Values of a configuration file as the types they should have; what does not fit is reported."""

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar

from toolcrib.config.document import Node
from toolcrib.config.problem import Report
from toolcrib.settings import DynamicSettings, Limits, Reconnect, SubagentSettings, Waits

_LARGEST: Final = 2**53

R = TypeVar("R", Limits, Waits, Reconnect, DynamicSettings, SubagentSettings)


def kind_of(node: Node) -> str:
    """What a value is, in words."""
    match node.value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "an object"


def nearest(written: str, known: Iterable[str], otherwise: str = "") -> str:
    """The remedy for a name that is not known: the one probably meant, or all there are.

    `otherwise`: what is said instead of all there are.
    """
    names = sorted(known)
    close = get_close_matches(written, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return otherwise or f"known are {', '.join(names)}"


def members(node: Node, known: Collection[str], report: Report) -> Mapping[str, Node]:
    """The known members of an object; every other key is an error with the nearest known one."""
    if not isinstance(node.value, dict):
        report.error(
            node, f"is {kind_of(node)}, not a table", "write it as a table of keys and values"
        )
        return {}
    for key, member in node.value.items():
        if key not in known:
            report.error(member, "is not known", nearest(key, known))
    return {key: member for key, member in node.value.items() if key in known}


def text(node: Node, report: Report) -> str | None:
    """A text that is not empty."""
    if isinstance(node.value, str) and node.value:
        return node.value
    what = "empty" if node.value == "" else kind_of(node)
    report.error(node, f"is {what}, not a text", 'write it in double quotes, such as "text"')
    return None


def texts(node: Node, report: Report) -> tuple[str, ...] | None:
    """A list of texts that are not empty."""
    if not isinstance(node.value, list):
        report.error(node, f"is {kind_of(node)}, not a list of texts", 'write ["one", "two"]')
        return None
    found = [text(member, report) for member in node.value]
    usable = tuple(member for member in found if member is not None)
    return usable if len(usable) == len(found) else None


def flag(node: Node, report: Report) -> bool | None:
    """True or false."""
    if isinstance(node.value, bool):
        return node.value
    report.error(
        node, f"is {kind_of(node)}, not true or false", "write true or false, without quotes"
    )
    return None


def choice(node: Node, allowed: Collection[str], report: Report) -> str | None:
    """One of a few words."""
    if isinstance(node.value, str) and node.value in allowed:
        return node.value
    words = ", ".join(allowed)
    what = "not one of the words it may be" if isinstance(node.value, str) else kind_of(node)
    report.error(node, f"is {what}", f"write one of {words}")
    return None


def choices(node: Node, allowed: Collection[str], report: Report) -> tuple[str, ...] | None:
    """A list of some of these words, each once."""
    if not isinstance(node.value, list):
        words = ", ".join(allowed)
        report.error(node, f"is {kind_of(node)}, not a list", f"write a list of {words}")
        return None
    found = [choice(member, allowed, report) for member in node.value]
    usable = tuple(dict.fromkeys(member for member in found if member is not None))
    return usable if None not in found else None


def number(
    node: Node,
    report: Report,
    *,
    whole: bool,
    zero: bool,
    of: str = " of seconds",
    most: float = math.inf,
) -> float | None:
    """A finite number above 0, or from 0 on, and at most `most`; `of` names its unit."""
    value = node.value
    unit = "a whole number" if whole else f"a number{of}"
    bound = "0 or more" if zero else "more than 0"
    if most < math.inf:
        bound += f" and at most {most:g}"
    remedy = f"write {unit}, {bound}"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        report.error(node, f"is {kind_of(node)}, not {unit}", remedy)
        return None
    below = value < 0 or (not zero and value == 0)
    beyond = value > most or value > _LARGEST  # integers have no end, and NaN is neither
    if beyond or below or math.isnan(value):
        is_short = isinstance(value, float) or abs(value) <= _LARGEST
        said = f"is {value}" if is_short else "is beyond all measure"
        report.error(node, f"{said}, but must be {bound}", remedy)
        return None
    return value if whole else float(value)


def numbers(node: Node, base: R, report: Report, *, may_be_zero: Collection[str] = ()) -> R:
    """The base record with the numbers of the table; what does not fit is reported and left."""
    defaults = {field.name: getattr(base, field.name) for field in dataclasses.fields(base)}
    found: dict[str, float] = {}
    for key, member in members(node, defaults, report).items():
        whole = isinstance(defaults[key], int)
        value = number(member, report, whole=whole, zero=key in may_be_zero)
        if value is not None:
            found[key] = value
    return dataclasses.replace(base, **found)
