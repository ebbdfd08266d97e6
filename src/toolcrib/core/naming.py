"""Exposed names: reversible through a table, injective by construction, the same on every replica.

A qualified name is `server__tool`. It stands bare only where it can be read in exactly one way:
both parts consist of the characters every host takes, neither contains `__` nor touches the joint
with a `_` of its own, and the whole fits. A bare name therefore contains `__` once. Everything
else is cut and cleaned, and ends in a second `__` and a hash of both originals: no suffixed name
equals a bare one, and two originals share a suffixed name only where their hashes collide.
Nothing depends on which other servers are present, so a new server renames nobody's tools. Nobody
parses a name back: a table does it.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from heapq import nlargest
from typing import Literal

from toolcrib.core.canonical import canonical
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Item, Quarantined

Style = Literal["qualified", "plain"]

JOINT = "__"
DEFAULT_LIMIT = 48
"""Characters of an exposed name: hosts add a prefix of their own, and model APIs stop at 64."""

SHORTEST_LIMIT = 24
"""The smallest limit that leaves room for a hash and something readable."""

_HASH_LENGTH = 10
_SERVER_SHARE = 3
"""A name that must be cut keeps a third of its room for the server."""

_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_BARE = re.compile(r"[a-zA-Z0-9_-]+")


def expose(
    server: str, original: str, *, style: Style = "qualified", limit: int = DEFAULT_LIMIT
) -> str:
    """The exposed name of one server's tool or prompt.

    Args:
        server: The configured server id.
        original: The name on its server.
        style: `qualified`, or `plain` for the original name, unchanged.
        limit: Most characters of a qualified name.

    Returns:
        In style `qualified` always a match of `^[a-zA-Z0-9_-]{1,limit}$`.

    Raises:
        ValueError: for a limit below `SHORTEST_LIMIT`.
    """
    if style == "plain":
        return original
    if limit < SHORTEST_LIMIT:
        raise ValueError(f"a name limit of {limit} is too short; use {SHORTEST_LIMIT} or more")
    bare = f"{server}{JOINT}{original}"
    if len(bare) <= limit and _reads_one_way(server, original):
        return bare
    room = limit - len(JOINT) * 2 - _HASH_LENGTH
    front = _cleaned(server, "server", room // _SERVER_SHARE)
    back = _cleaned(original, "tool", room - len(front))
    return f"{front}{JOINT}{back}{JOINT}{_hash(server, original)}"


def _reads_one_way(server: str, original: str) -> bool:
    return (
        _BARE.fullmatch(server) is not None
        and _BARE.fullmatch(original) is not None
        and JOINT not in server
        and JOINT not in original
        and not server.endswith("_")
        and not original.startswith("_")
    )


def _cleaned(text: str, instead: str, room: int) -> str:
    """A readable rest of a name: allowed characters only, no `__`, no `_` at its ends."""
    plain = re.sub("__+", "_", _FOREIGN.sub("_", text)).strip("_")
    return plain[:room].rstrip("_") or instead[:room]


def _hash(server: str, original: str) -> str:
    """Fifty bits over both originals, in letters and digits that every host takes."""
    mark = hashlib.sha256(canonical([server, original])).digest()
    return base64.b32encode(mark).decode()[:_HASH_LENGTH].lower()


@dataclass(frozen=True, slots=True)
class Original:
    """Where a call under an exposed name has to go."""

    server: str
    item: Item


@dataclass(frozen=True, slots=True)
class Present:
    """The servers that are there for one caller: only these decide what a name means to it."""

    listed: frozenset[str]
    """There for everybody: no other server takes a plain name from one of these."""
    enabled: frozenset[str] = frozenset()
    """There because this caller enabled them."""

    @classmethod
    def of(cls, listed: Iterable[str], there: Iterable[str]) -> "Present":
        """Those that are listed, and all others that are there."""
        first = frozenset(listed)
        return cls(first, frozenset(there) - first)

    def __contains__(self, server: str) -> bool:
        """Whether a server is there."""
        return server in self.listed or server in self.enabled

    def holder(self, having: Iterable[str]) -> str | None:
        """Of the servers that have a plain name, the one it stands for; None: none, or several."""
        every = tuple(having)
        listed = [server for server in every if server in self.listed]
        claims = listed or [server for server in every if server in self.enabled]
        return claims[0] if len(claims) == 1 else None


@dataclass(frozen=True, slots=True)
class NameTable:
    """Exposed names and what they stand for: the only way back from a name."""

    entries: Mapping[str, Original]
    """By exposed name, in the order of (server id, original name), by code point; those of servers
    that come first before all others."""
    collided: Mapping[str, tuple[Quarantined, ...]]
    """By server: definitions kept out because another server's has the same exposed name."""

    @classmethod
    def build(
        cls,
        catalogs: Mapping[str, Iterable[Item]],
        *,
        style: Style = "qualified",
        limit: int = DEFAULT_LIMIT,
        first: Collection[str] | None = None,
    ) -> "NameTable":
        """A table over the items of several servers, by server id.

        Definitions that collide are all kept out, so that which one answers never depends on who
        came first. In style `qualified` that takes a collision of hashes.

        Args:
            catalogs: The items, by server id.
            style: Of exposed names.
            limit: Most characters of a qualified name.
            first: Servers that no other one takes a name from; None: all are equal.
        """
        ahead = frozenset(catalogs if first is None else first)
        claims: dict[str, list[Original]] = {}
        for server in sorted(catalogs, key=lambda server: (server not in ahead, server)):
            for item in sorted(catalogs[server], key=lambda item: item.key):
                name = expose(server, item.key, style=style, limit=limit)
                claims.setdefault(name, []).append(Original(server, item))
        entries: dict[str, Original] = {}
        collided: dict[str, tuple[Quarantined, ...]] = {}
        for name, claimed in claims.items():
            rivals = [it for it in claimed if it.server in ahead] or claimed
            if len(rivals) == 1:
                entries[name] = rivals[0]
            for original in claimed:
                if entries.get(name) is not original:
                    kept_out = _collision(original, claimed)
                    collided[original.server] = (*collided.get(original.server, ()), kept_out)
        return cls(entries, collided)

    def resolve(self, exposed: str) -> Original | None:
        """What an exposed name stands for; None for a name that is not in the table."""
        return self.entries.get(exposed)


def _collision(original: Original, claimed: list[Original]) -> Quarantined:
    others = enumerated(quoted(other.server) for other in claimed if other is not original)
    detail = (
        f"{quoted(original.item.key)} is also a name of {others}; "
        "use qualified names, or deny it on all servers but one"
    )
    item = original.item
    return Quarantined(item.key, "name_collision", detail, item.fingerprint)


_NEAR_LENGTH, _NEAR_CANDIDATES, _NEAR_RATIO = 128, 40, 0.6
"""Bounds of a comparison, and how alike a name must be to be worth saying."""


def near(name: str, known: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """At most `n` known names that look like `name`, the most similar first.

    Pairs of letters choose a few candidates in one pass over everything known; only those are
    compared in full.
    """
    wanted = name[:_NEAR_LENGTH].lower()
    pairs = _pairs(wanted)

    def overlap(candidate: str) -> tuple[float, str]:
        theirs = _pairs(candidate[:_NEAR_LENGTH].lower())
        return len(pairs & theirs) / (len(pairs | theirs) or 1), candidate

    matcher = SequenceMatcher(None, b=wanted, autojunk=False)
    ranked: list[tuple[float, str]] = []
    for _, candidate in nlargest(_NEAR_CANDIDATES, map(overlap, known)):
        matcher.set_seq1(candidate[:_NEAR_LENGTH].lower())
        ratio = matcher.ratio()
        if ratio >= _NEAR_RATIO:
            ranked.append((-ratio, candidate))
    return tuple(candidate for _, candidate in sorted(ranked)[:n])


def _pairs(text: str) -> set[str]:
    return {text[i : i + 2] for i in range(max(1, len(text) - 1))}
