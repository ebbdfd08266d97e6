"""May this caller be asked this, by this server: every question passes here, whoever carries it."""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.core.jsontypes import is_object
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.errors import CapabilityMissing, NotAllowed, ResultInvalid
from toolcrib.protocol.elicitation import SecretForm, Unusable, examine, stamped
from toolcrib.protocol.mrtr import Question, missing
from toolcrib.settings import Relayed

_PARTS: Final[Mapping[Relayed, tuple[str, ...]]] = {
    "elicitation": ("form", "url"),
    "sampling": ("tools", "context"),
    "roots": (),
}
"""What we relay of each client capability."""


def askable(requester: Requester, relay: tuple[Relayed, ...]) -> dict[str, Any]:
    """What a caller can be asked through us, as `ClientCapabilities`.

    A bare `elicitation` means forms (MCP 2026-07-28, client: elicitation, capabilities).
    """
    if requester.ask is None and not requester.takes_rounds:
        return {}
    offered: dict[str, Any] = {}
    for name, parts in _PARTS.items():
        declared = requester.capabilities.get(name)
        if name not in relay or not is_object(declared):
            continue
        offered[name] = {part: {} for part in parts if is_object(declared.get(part))}
        if name == "elicitation" and not offered[name]:
            offered[name] = {"form": {}}
    return offered


def screened(
    server: str,
    questions: Mapping[str, Question],
    requester: Requester,
    relay: tuple[Relayed, ...],
) -> dict[str, Question]:
    """The questions as a person may be shown them.

    Raises:
        CapabilityMissing: The caller did not declare that it can be asked this.
        NotAllowed: The configuration does not relay it, or a form asks for a secret.
        ResultInvalid: A question is in no form that a host could show.
    """
    check_capabilities(server, missing(askable(requester, relay), questions.values()), requester)
    for question in questions.values():
        if question.method == "elicitation/create":
            _check_elicitation(server, question)
    return {key: stamped(server, question) for key, question in questions.items()}


def check_capabilities(server: str, needed: Mapping[str, Any], requester: Requester) -> None:
    """Raise what has to be said where a caller lacks something; nothing where it does not."""
    if not needed:
        return
    names = enumerated(
        f"{name}.{part}" for name, parts in needed.items() for part in (parts or ["*"])
    ).replace(".*", "")
    able = requester.ask is not None or requester.takes_rounds
    if able and not _lacks(needed, requester.capabilities):
        raise NotAllowed(
            f"{quoted(server)} wants to use {names} of this client, which is not relayed here",
            server=server,
            remedy=f"name {enumerated(needed)} in gateway.relay to allow it",
        )
    raise CapabilityMissing(
        f"{quoted(server)} has to ask something for which this client did not declare {names}",
        server=server,
        details={"requiredCapabilities": dict(needed)},
        remedy="call from a client that can be asked this",
    )


def _lacks(needed: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """Whether the client itself declared less than is needed."""
    for name, parts in needed.items():
        own = declared.get(name)
        if not is_object(own):
            return True
        only_forms = name == "elicitation" and not own.keys() & {"form", "url"}
        if any(part not in own and not (only_forms and part == "form") for part in parts):
            return True
    return False


def _check_elicitation(server: str, question: Question) -> None:
    found = examine(question.params)
    if isinstance(found, SecretForm):
        raise NotAllowed(
            f"{quoted(server)} asks for a secret in a form ({enumerated(map(quoted, found.fields))}"
            "): that is refused, because a form is read by the host",
            server=server,
            remedy="the server has to send the person to a page of its own (url mode)",
        )
    if isinstance(found, Unusable):
        raise ResultInvalid(
            f"{quoted(server)} asked something that cannot be shown: it {found.reason}",
            server=server,
        )
