"""Questions to a person, on their way from a server: judged, and stamped with who asks.

MCP 2026-07-28, client: elicitation. Whoever answers must know which server asks, so each message
begins with its configured id; a server that writes such a beginning itself has it defused, as has
whatever would not be seen. Fields keep their names and choices their values, because the answer is
made of them.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolcrib.core.invisible import visible
from toolcrib.core.jsontypes import described, is_array, is_object
from toolcrib.core.lookalikes import as_it_looks
from toolcrib.core.quoting import excerpt, has_surrogates, literal
from toolcrib.protocol.envelope import OWN_PREFIX
from toolcrib.protocol.forms import Form, parse_form
from toolcrib.protocol.mrtr import Question
from toolcrib.protocol.pages import Page, parse_page
from toolcrib.protocol.secret_asking import secrets_asked

Action = Literal["accept", "decline", "cancel"]
ACTIONS: Final[tuple[Action, ...]] = ("accept", "decline", "cancel")

SERVER_KEY: Final = f"{OWN_PREFIX}server"
"""In the `_meta` of a question: the configured id of the server that asks."""

_MOST_TEXT: Final = 4_000
"""Characters of a message, title or description that a person is shown."""

_LOOKED_AT: Final = 2 * _MOST_TEXT
"""Characters of one that are looked at: the rest cannot be shown, and takes time."""

_OPENING: Final = "\\[\u27e6\u2772\u3010\u3014\u3016\u301a\ufe5d\uff3b"
_OPENED: Final = re.compile(rf"(?:[{_OPENING}](?:[^\w{_OPENING}]|_){{0,4}}+)++")
"""Something opened, however often. Possessive: a server could make it try for hours else."""
_STAMP: Final = re.compile(
    r"(?:tool\W?crib|server|(?:asked|sent|requested) by)\b",
    re.IGNORECASE,
)
"""What follows the opening of anything that reads like a stamp of ours."""

_LEVELS: Final = 4
"""Levels of schemas in a field that are shown, itself included."""

_GAP: Final = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_BREAKS: Final = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class SecretForm:
    """A form that asks for secrets: nobody is shown it."""

    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unusable:
    """A question that no host could show, and why: words that follow `it`."""

    reason: str


Examined = Form | Page | SecretForm | Unusable


def examine(params: Mapping[str, Any]) -> Examined:
    """What an `elicitation/create` asks: without a mode it is a form."""
    message, mode = params.get("message"), params.get("mode", "form")
    if not isinstance(message, str):
        return Unusable(f"has a message that is {described(message)}, not a string")
    if mode == "url":
        page = parse_page(params.get("url"))
        return page if isinstance(page, Page) else Unusable(f"has an address that {page}")
    if mode != "form":
        return Unusable(f"has the mode {literal(mode)}, and there are only `form` and `url`")
    form = parse_form(params.get("requestedSchema"))
    if isinstance(form, str):
        return Unusable(f"has a form that cannot be shown: {form}")
    secrets = secrets_asked(message, form)
    return SecretForm(secrets) if secrets else form


def stamp_of(server: str) -> str:
    """How the message of a question of this server begins."""
    return f"[server {server}] "


def stamped(server: str, question: Question) -> Question:
    """The question as a person may be shown it, with the server that asks named first.

    Members of the transport (`_meta`, `task`) are left behind: they belong to the server's hop.
    """
    params = {k: v for k, v in question.params.items() if k not in {"_meta", "task"}}
    params["_meta"] = {SERVER_KEY: server}
    if question.method != "elicitation/create":
        return Question(question.method, params)
    message, schema = params.get("message"), params.get("requestedSchema")
    params["message"] = f"{stamp_of(server)}{harmless(message)}{_notes(params)}"
    if is_object(schema):
        params["requestedSchema"] = _harmless_schema(schema)
    return Question(question.method, params)


def harmless(text: object) -> str:
    """Text of a server that hides nothing and imitates no stamp, at most 4,000 characters of it."""
    if not isinstance(text, str):
        return ""
    seen = _GAP.sub("\n\n", visible(_BREAKS.sub("\n", text[:_LOOKED_AT])))
    if has_surrogates(seen):
        seen = seen.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    shown = _defused(seen)
    if len(text) > _LOOKED_AT:
        return f"{shown[:_MOST_TEXT]}… ({len(text):,} characters in all)"
    return excerpt(shown, _MOST_TEXT)


def answer_fault(question: Question, answer: Mapping[str, Any]) -> str | None:
    """What is wrong with an answer to a question, as a sentence; None: it fits.

    A refusal always fits, whatever else it holds.
    """
    match question.method:
        case "elicitation/create":
            return _elicited_fault(question.params, answer)
        case "roots/list":
            roots = answer.get("roots")
            if is_array(roots) and all(is_object(root) and "uri" in root for root in roots):
                return None
            return "roots is not an array of objects with a uri"
        case _:
            if is_object(answer.get("content")) or is_array(answer.get("content")):
                return None if isinstance(answer.get("role"), str) else "role is not a string"
            return f"content is {described(answer.get('content'))}, not a message"


def passed_on(question: Question, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as the server gets it: without `_meta`, and without content beside a refusal."""
    kept = {key: value for key, value in answer.items() if key not in {"_meta", "resultType"}}
    form = question.params.get("mode", "form") == "form"
    if question.method == "elicitation/create" and not (form and kept["action"] == "accept"):
        kept.pop("content", None)
    return kept


def _elicited_fault(params: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    action = answer.get("action")
    if action not in ACTIONS:
        return f"action is {literal(action)}, not `accept`, `decline` or `cancel`"
    if action != "accept" or params.get("mode", "form") != "form":
        return None
    form = parse_form(params.get("requestedSchema"))
    return form if isinstance(form, str) else form.fault_of(answer.get("content"))


def _notes(params: Mapping[str, Any]) -> str:
    """What a person should know of a page before they agree; its address stands in `url`."""
    if params.get("mode") != "url":
        return ""
    page = parse_page(params.get("url"))
    if not isinstance(page, Page):
        return ""
    warnings = "".join(f"\nCareful: {warning}." for warning in page.warnings)
    return f"\nThe page is at {page.host}.{warnings}"


def _defused(text: str) -> str:
    """Stamps that a server wrote lose their opening bracket."""
    text = unicodedata.normalize("NFC", text)
    parts: list[str] = []
    end = 0
    looks = as_it_looks(text)
    for found in _OPENED.finditer(looks):
        if _STAMP.match(looks, found.end()):
            parts.append(text[end : found.start()])
            end = found.end()
    return "".join((*parts, text[end:]))


def _harmless_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    fields = properties if is_object(properties) else {}
    clean = {name: _harmless_words(field) for name, field in fields.items()}
    return {**_harmless_words(schema), "properties": clean}


def _harmless_words(schema: Any, levels: int = _LEVELS) -> Any:
    """A schema whose titles and descriptions are harmless, those of its choices included.

    Below the choices of a field, and of its items, no host shows anything.
    """
    if not is_object(schema):
        return schema
    if levels == 0:
        return {}
    clean = dict(schema)
    clean |= {word: harmless(clean[word]) for word in ("title", "description") if word in clean}
    for choices in ("oneOf", "anyOf"):
        if is_array(clean.get(choices)):
            clean[choices] = [_harmless_words(choice, levels - 1) for choice in clean[choices]]
    if is_array(names := clean.get("enumNames")):
        clean["enumNames"] = list(map(harmless, names))
    if "items" in clean:
        clean["items"] = _harmless_words(clean["items"], levels - 1)
    return clean
