"""Callers as a store knows them: by keyed digests, which tell nothing about who they are."""

import hmac
import json

from toolcrib.calls.call import Requester
from toolcrib.ports import Keys


class Owners:
    """Names owners in a store for one purpose; the owners of two purposes have nothing in common.

    Args:
        keys: Of this installation.
        purpose: For which keys are derived.
    """

    def __init__(self, keys: Keys, purpose: str) -> None:
        self._key = keys.derived(purpose)

    def principal(self, requester: Requester) -> str:
        """The same for every handle of a principal."""
        return self.digest("principal", *_parts(requester))

    def caller(self, requester: Requester) -> str:
        """Another one for each handle of a principal."""
        return self.digest("caller", *_parts(requester), requester.handle)

    def digest(self, *parts: object) -> str:
        """32 hex digits that only this installation can compute; parts are JSON."""
        message = json.dumps(parts, ensure_ascii=True, separators=(",", ":")).encode()
        return hmac.new(self._key, message, "sha256").hexdigest()[:32]


def _parts(requester: Requester) -> tuple[object, ...]:
    who = requester.principal
    return who.issuer, who.subject, who.client, who.audience, list(who.scopes), who.tenant
