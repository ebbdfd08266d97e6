r"""Canonical JSON: one byte string per value, so that hashes compare values and not spellings.

RFC 8785 with one documented extension for what it leaves out and real schemas contain: integers
beyond 2**53 keep their decimal digits, and unpaired surrogates are written as `\uXXXX`. Numbers
are otherwise spelled as ECMAScript spells them (`1.0` is `1`), members are sorted by UTF-16 code
units, and `true` stays apart from `1`.

Two paths lead to the same bytes. The fast one is the encoder of the standard library, written in
C, taken where it provably agrees: no floats, no keys beyond the basic plane (where code points
and code units sort alike), moderate depth. The slow one spells every value itself, without
recursion.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

MAX_DEPTH = 10_000
"""Levels of nesting beyond which a value is refused: no parser builds them, a cycle does."""

_FAST_DEPTH = 64
"""Levels the recursive encoder of the standard library is trusted with on any caller's stack."""

_MOST_PLAIN_DIGITS, _MOST_LEADING_ZEROS = 21, 6
"""Where ECMAScript changes to exponents (ECMA-262, Number::toString)."""

_ENCODER = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,
    allow_nan=False,
    sort_keys=True,
    separators=(",", ":"),
)


def canonical(value: object) -> bytes:
    """The canonical form of a JSON value, UTF-8.

    Raises:
        ValueError: for NaN, infinities, integers too long to print, and beyond `MAX_DEPTH`.
        TypeError: for anything that is no JSON value, and for keys that are no strings.
    """
    text = _ENCODER.encode(value) if is_plain(value) else spelled(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        # A pair of surrogates is one character; only what is left unpaired is escaped. An escape
        # cannot be mistaken for text: a backslash of the text is doubled.
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return paired.encode("utf-8", "backslashreplace")


def spelled(value: object) -> str:
    """The canonical form as text, the slow way: every value spelled here, at any depth."""
    out: list[str] = []
    frames: list[tuple[Iterator[tuple[str, object]], str]] = [(iter([("", value)]), "")]
    while frames:
        members, closing = frames[-1]
        step = next(members, None)
        if step is None:
            frames.pop()
            out.append(closing)
            continue
        lead, node = step
        out.append(lead)
        if isinstance(node, Mapping):
            frames.append((_object_members(cast("Mapping[Any, Any]", node)), "}"))
            out.append("{")
        elif isinstance(node, list | tuple):
            frames.append((_array_members(cast("Iterable[object]", node)), "]"))
            out.append("[")
        else:
            out.append(_scalar(node))
        if len(frames) > MAX_DEPTH + 1:
            raise ValueError(f"a value nested deeper than {MAX_DEPTH} levels has no canonical form")
    return "".join(out)


def spelled_float(number: float) -> str:
    """A finite binary64 number as ECMAScript prints it (RFC 8785 section 3.2.2.3).

    Raises:
        ValueError: for NaN and the infinities, which JSON does not have.
    """
    if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        raise ValueError(f"{number!r} is no JSON number and has no canonical form")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    # repr gives the shortest digits that read back as the same number, as ECMAScript asks.
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or 0) + len(digits) - len(fraction)
    return sign + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    """Digits with their decimal point after the first `point` of them, or with an exponent."""
    if len(digits) <= point <= _MOST_PLAIN_DIGITS:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _MOST_PLAIN_DIGITS:
        return f"{digits[:point]}.{digits[point:]}"
    if -_MOST_LEADING_ZEROS < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def is_plain(value: object) -> bool:
    """Whether the encoder of the standard library writes this value canonically."""
    stack: list[tuple[Iterable[object], int]] = [((value,), 0)]
    while stack:
        nodes, depth = stack.pop()
        if depth > _FAST_DEPTH:
            return False
        for node in nodes:
            kind = type(node)
            if kind is dict:
                members = cast("dict[Any, Any]", node)
                if not _sorts_alike(members):
                    return False
                stack.append((members.values(), depth + 1))
            elif kind is list:
                stack.append((cast("list[Any]", node), depth + 1))
            elif kind is not str and kind is not bool and kind is not int and node is not None:
                return False
    return True


def _sorts_alike(members: dict[Any, Any]) -> bool:
    """Whether code points and UTF-16 code units put these keys in the same order."""
    for key in members:
        if type(key) is not str or not (key.isascii() or max(key) <= "\uffff"):
            return False
    return True


def _object_members(node: Mapping[Any, Any]) -> Iterator[tuple[str, object]]:
    for key in node:
        if not isinstance(key, str):
            raise TypeError(f"a JSON object has strings as keys, not {type(key).__name__}")
    lead = ""
    for key in sorted(node, key=_code_units):
        yield f"{lead}{_ENCODER.encode(key)}:", node[key]
        lead = ","


def _array_members(node: Iterable[object]) -> Iterator[tuple[str, object]]:
    lead = ""
    for item in node:
        yield lead, item
        lead = ","


def _code_units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def _scalar(node: object) -> str:
    if node is None:
        return "null"
    if isinstance(node, bool):
        return "true" if node else "false"
    if isinstance(node, int):
        return int.__repr__(node)
    if isinstance(node, float):
        return spelled_float(node)
    if isinstance(node, str):
        return _ENCODER.encode(str(node))
    raise TypeError(f"{type(node).__name__} is no JSON value")
