"""Whose resource a URI is, as far as listings and templates say it."""

from collections.abc import Awaitable, Callable

from toolcrib.core.snapshot import Kind
from toolcrib.gateway.listing import Listing
from toolcrib.gateway.target import Target
from toolcrib.wire.templates import expands_to, names_a_scheme, specificity

Look = Callable[[Kind], Awaitable[Listing]]
"""Brings the listing of a kind: what is held, or what a refresh brings."""


async def listed_at(uri: str, look: Look) -> Target | None:
    """The server that lists this very URI."""
    listed = (await look(Kind.RESOURCES)).entries.get(uri)
    return None if listed is None else Target(listed.server, listed.item.key)


async def templated_at(uri: str, look: Look) -> Target | None:
    """The server with the most specific template that expands to the URI.

    A template that begins with a variable could be expanded to any URI there is: no server gets the
    URIs of others by listing one, so it counts in `caught_at` only.
    """
    return await _most_specific(uri, look, named=True)


async def caught_at(uri: str, look: Look) -> Target | None:
    """The server with a template for anything, for a URI that nothing else claims."""
    return await _most_specific(uri, look, named=False)


async def _most_specific(uri: str, look: Look, *, named: bool) -> Target | None:
    """Ties go to the first server by id: entries are in that order, and `max` keeps the first."""
    entries = (await look(Kind.TEMPLATES)).entries
    found = [
        (template, original.server)
        for template, original in entries.items()
        if names_a_scheme(template) is named and expands_to(template, uri)
    ]
    if not found:
        return None
    _, server = max(found, key=lambda match: specificity(match[0]))
    return Target(server, uri)
