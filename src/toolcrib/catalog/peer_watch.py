"""The digest in each answer of a toolcrib peer, held against the one of the listing we hold.

While they are equal nothing has to be asked again, however old the listing is (strategy
`notify+verify`, DESIGN section 5). A digest is a hint and no more: it refuses nothing.
"""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Snapshot
from toolcrib.facts import Finding
from toolcrib.ports import Observer
from toolcrib.protocol.envelope import COMPLETE, DIGEST_KEY, SEEN_KEY, own_mark

_REMEMBERED: Final = 64
"""Pairs of digests that were looked into."""


class PeerWatch:
    """Watches the answers of one server to calls, on one connection."""

    def __init__(self, server: str, observer: Observer) -> None:
        self._server = server
        self._observer = observer
        self._looked_into: dict[tuple[str, str], None] = {}
        self.foreign = False
        """Whether its answers say nothing of its listing."""

    def moved(
        self, held: Snapshot | None, params: Mapping[str, Any], result: Mapping[str, Any]
    ) -> bool:
        """Whether an answer speaks of another listing than the one held; each pair is told once."""
        known = "" if held is None else held.hints.peer_digest
        answered = own_mark(result.get("_meta"), DIGEST_KEY)
        if not known or not answered:
            return False
        if answered in {known, _sent(params)}:
            # The digest that the call went out with: then what is held became newer meanwhile.
            return False
        pair = (known, answered)
        if pair in self._looked_into:
            return False
        if len(self._looked_into) >= _REMEMBERED:
            del self._looked_into[next(iter(self._looked_into))]
        self._looked_into[pair] = None
        return True

    def unmasks(
        self, held: Snapshot | None, params: Mapping[str, Any], result: Mapping[str, Any]
    ) -> bool:
        """Whether an answer shows, for the first time, that its server is no toolcrib peer.

        Refusals, and questions, need not carry a digest.
        """
        complete = result.get("resultType", COMPLETE) == COMPLETE
        if self.foreign or held is None or not complete or result.get("isError") is True:
            return False
        asked = bool(_sent(params))
        if held.hints.peer_digest and (not asked or own_mark(result.get("_meta"), DIGEST_KEY)):
            return False
        self.foreign = True
        detail = "its answers carry no digest, so that notify+verify does what auto does"
        self._observer.note(Finding(self._server, "not_verifiable", detail))
        return True


def _sent(params: Mapping[str, Any]) -> str:
    """The digest that a call went out with."""
    meta = params.get("_meta")
    seen = meta.get(SEEN_KEY) if is_object(meta) else None
    return own_mark(seen, "digest")
