"""What may be seen and called: allow and deny by pattern, and views that depend on the caller.

Pure functions over plain values. What a caller sees is a function of catalog, configuration and
verified principal, never of a connection, a replica or an earlier call (MCP 2026-07-28, tools:
capabilities).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from toolcrib.core.partition import Principal

Patterns = tuple[str, ...]
"""Shell patterns: `*`, `?`, `[abc]`, `[!abc]`; case-sensitive, over the whole text."""

ANY: Patterns = ("*",)


def allowed(allow: Patterns, deny: Patterns, name: str) -> bool:
    """Whether some allow pattern and no deny pattern matches an original name."""
    return _matches(allow, name) and not _matches(deny, name)


@dataclass(frozen=True, slots=True)
class View:
    """What one group of callers may see, on top of what each server allows to everybody."""

    tenants: Patterns = ANY
    subjects: Patterns = ANY
    scopes: frozenset[str] = frozenset()
    """Scopes a caller must have, all of them, to belong to the group."""
    servers: Patterns = ANY
    """Server ids the view speaks about."""
    allow: Patterns = ANY
    """Original names."""
    deny: Patterns = ()

    def covers(self, principal: Principal) -> bool:
        """Whether the principal belongs to the group."""
        return (
            _matches(self.tenants, principal.tenant)
            and _matches(self.subjects, principal.subject)
            and self.scopes <= set(principal.scopes)
        )


def visible(views: Iterable[View], principal: Principal, server: str, name: str) -> bool:
    """Whether a principal may see and call one server's tool.

    Without any view everybody may. With views, one that covers the principal and speaks about the
    server has to allow the name, and a denial in any of them wins.
    """
    views = tuple(views)
    mine = [view for view in views if view.covers(principal) and _matches(view.servers, server)]
    denied = any(_matches(view.deny, name) for view in mine)
    return not views or (not denied and any(_matches(view.allow, name) for view in mine))


def _matches(patterns: Patterns, text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)
