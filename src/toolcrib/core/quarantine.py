"""Is this raw definition usable for its kind; if not, why; and what is repaired.

One malformed definition costs itself and nothing else (DESIGN section 2, promise 8), so each is
judged alone and on the JSON as received. What makes it unusable is what would harm a call or
everybody else's listing: no key to call it by, a schema that is none, more depth or bytes than
the limits allow. Optional members of the wrong type are dropped with a note, because strict hosts
refuse a whole listing over one `"description": null`. Oddities that harm nobody are noted and
kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from toolcrib.core.canonical import canonical
from toolcrib.core.draft import DEFAULT_BOUNDS, Bounds, Draft, Reason, Refusal
from toolcrib.core.fingerprint import contract, fingerprint, hashed
from toolcrib.core.invisible import invisible_notes
from toolcrib.core.jsontypes import JsonObject, described, is_array, is_object, nests_deeper
from toolcrib.core.quoting import clipped, has_surrogates
from toolcrib.core.snapshot import Item, Kind, Quarantined
from toolcrib.core.tool_schemas import refuse_tool

_SHOWN = {"description": "a string", "icons": "an array", "title": "a string", "_meta": "an object"}
_OF_RESOURCES = {**_SHOWN, "annotations": "an object", "mimeType": "a string"}

_OPTIONAL: dict[Kind, dict[str, str]] = {
    Kind.TOOLS: {**_SHOWN, "annotations": "an object", "execution": "an object"},
    Kind.PROMPTS: _SHOWN,
    Kind.RESOURCES: {**_OF_RESOURCES, "size": "a number"},
    Kind.TEMPLATES: _OF_RESOURCES,
}
"""The optional members of each kind and their JSON types (MCP 2026-07-28, schema)."""

NOTHING_KNOWN: Mapping[str, Item] = MappingProxyType({})
"""For a first look: no definition was judged before."""

_KEY_REASONS: dict[str, tuple[Reason, Reason]] = {
    "name": ("no_name", "bad_name"),
    "uri": ("no_uri", "bad_uri"),
    "uriTemplate": ("no_uri_template", "bad_uri_template"),
}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of one definition."""

    verdict: Item | Quarantined
    size: int
    """Bytes of its canonical form; 0 if it has none."""


def judge(
    kind: Kind,
    raw: object,
    *,
    position: int = 0,
    bounds: Bounds = DEFAULT_BOUNDS,
    header_rules: bool = False,
    known: Mapping[str, Item] = NOTHING_KNOWN,
) -> Judgement:
    """Judge one raw definition; never raises, whatever it is.

    Args:
        kind: What it claims to be a definition of.
        raw: The parsed JSON as received. It is kept in the item, so it must not be changed later.
        position: Its place in the walk, which stands in for a key where it has none.
        bounds: How large it may be.
        header_rules: Whether the revision has `x-mcp-header` (MCP 2026-07-28, Streamable HTTP).
        known: Items by fingerprint, found usable before under the same bounds and rules: an
            unchanged definition is recognised and not judged again.
    """
    key = _key_of(kind, raw, bounds)
    try:
        text = canonical(raw)
    except (TypeError, ValueError) as fault:
        detail = f"the definition has no canonical form: {fault}"
        mark = fingerprint(["not_json", key])
        return Judgement(Quarantined(key or f"#{position}", "not_json", detail, mark), 0)
    mark = hashed(text)
    verdict = known.get(mark) or _judge_received(kind, raw, text, bounds, header_rules=header_rules)
    if isinstance(verdict, Refusal):
        where = key or f"#{position}"
        verdict = Quarantined(where, verdict.reason, verdict.detail, mark)
    elif isinstance(verdict, Draft):
        agreed = contract(verdict.definition) if kind is Kind.TOOLS else mark
        notes = (*verdict.notes, *invisible_notes(raw, text))
        verdict = Item(verdict.definition[kind.key], verdict.definition, mark, agreed, notes)
    return Judgement(verdict, len(text))


def _judge_received(
    kind: Kind, raw: object, text: bytes, bounds: Bounds, *, header_rules: bool
) -> Draft | Refusal:
    """The finished draft of a usable definition, or why it is not usable."""
    if not is_object(raw):
        return Refusal("not_an_object", f"the definition is {described(raw)}, not an object")
    draft = Draft(raw, text, bounds)
    return _refuse(kind, draft, header_rules=header_rules) or draft


def _key_of(kind: Kind, raw: object, bounds: Bounds) -> str | None:
    """What a definition is called, where it says so in bounds."""
    key = raw.get(kind.key) if is_object(raw) else None
    if not isinstance(key, str) or not 0 < len(key) <= bounds.uri_chars or has_surrogates(key):
        return None
    return key


def _refuse(kind: Kind, draft: Draft, *, header_rules: bool) -> Refusal | None:
    """Check and repair a definition that is an object; why it cannot be used, or None."""
    size, limit = len(draft.text), draft.bounds.definition_bytes
    if size > limit:
        much = f"it is {size:,} bytes long, more than {limit:,} (limit definition_bytes)"
        return Refusal("too_large", much)
    limit = draft.bounds.schema_depth
    brackets = draft.text.count(b"{") + draft.text.count(b"[")
    if brackets > limit and nests_deeper(draft.received, limit + 1):
        return Refusal("too_deep", f"nested deeper than {limit} levels (limit schema_depth)")
    for member in dict.fromkeys((kind.key, "name")):
        refusal = _refuse_key(draft, member)
        if refusal is not None:
            return refusal
    for member, expected in _OPTIONAL[kind].items():
        if member in draft.definition and described(draft.definition[member]) != expected:
            draft.drop(member, f"not {expected}")
    if kind is Kind.TOOLS:
        return refuse_tool(draft, header_rules=header_rules)
    return _refuse_arguments(draft) if kind is Kind.PROMPTS else None


def _refuse_key(draft: Draft, member: str) -> Refusal | None:
    """Check a member that must be a text; odd characters are for naming to deal with."""
    absent, bad = _KEY_REASONS[member]
    value = draft.received.get(member)
    if not isinstance(value, str):
        found = described(value) if member in draft.received else "missing"
        return Refusal(absent, f"{member} is {found}, but must be a string")
    if not value:
        return Refusal(absent, f"{member} is the empty string")
    limit = draft.bounds.name_chars if member == "name" else draft.bounds.uri_chars
    if len(value) > limit:
        setting = "name_chars" if member == "name" else "uri_chars"
        much = f"{member} has {len(value):,} characters, more than {limit:,} (limit {setting})"
        return Refusal(bad, much)
    if has_surrogates(value):
        return Refusal(bad, f"{member} has an unpaired surrogate, which no UTF-8 message can carry")
    return None


def _refuse_arguments(draft: Draft) -> Refusal | None:
    """Check and repair the arguments of a prompt (MCP 2026-07-28, prompts: data types)."""
    arguments = draft.definition.get("arguments", [])
    if arguments is None:
        draft.drop("arguments", "which stands for none")
        return None
    if not is_array(arguments):
        wrong = f"arguments is {described(arguments)}, but must be an array"
        return Refusal("invalid_arguments", wrong)
    repaired: list[JsonObject] = []
    for index, argument in enumerate(arguments):
        problem = _argument_problem(argument)
        if problem is not None:
            return Refusal("invalid_arguments", f"arguments[{index}] {problem}")
        repaired.append(_without_strays(argument))
    if repaired != arguments:
        draft.put("arguments", repaired, "members of the wrong type dropped from arguments")
    return None


def _argument_problem(argument: object) -> str | None:
    if not is_object(argument):
        return f"is {described(argument)}, not an object"
    name = argument.get("name")
    if not isinstance(name, str) or not name:
        return "has no name"
    required = argument.get("required")
    if required is None or isinstance(required, bool):
        return None
    return f"({clipped(name)}) says required: {described(required)}, but must say true or false"


def _without_strays(argument: JsonObject) -> JsonObject:
    """An argument without members that strict hosts refuse and no call needs."""
    strays = {k for k in ("description", "title") if not isinstance(argument.get(k, ""), str)}
    if argument.get("required", False) is None:
        strays.add("required")
    return {k: v for k, v in argument.items() if k not in strays} if strays else argument
