"""The person who lets a client in: follows the authorization URL and comes back with a code."""

from typing import Protocol

from mcp.shared.auth import AuthorizationCodeResult

__all__ = ["Person"]


class Person(Protocol):
    """Somebody at a browser. Without one, no flow with a redirect is begun."""

    @property
    def redirect_uri(self) -> str:
        """Where the browser is sent back to."""
        ...

    async def authorise(self, url: str) -> AuthorizationCodeResult:
        """What the redirect brought. Raises `AuthRequired` where the person or the server says no.

        The URL was checked: http(s), where http means this machine. `state` is checked by the
        caller too.
        """
        ...
