"""One exposed listing: what hosts are shown of one kind, on one page, in one order.

Meta-tools stand first, as if their server's id were empty; then come items by (server id, original
key).
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from toolcrib.calls.ledger.sights import Sight, Sights
from toolcrib.calls.results.encoding import encode
from toolcrib.catalog.reading import Reading
from toolcrib.core.fingerprint import contract, exposed_digest, fingerprint
from toolcrib.core.jsontypes import is_object
from toolcrib.core.naming import Original
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.exposing.exposing import EVERYTHING, Choice
from toolcrib.discovery.exposing.offer import Offer, complete_in, offer_of
from toolcrib.facts import Finding
from toolcrib.gateway.uris import expose_uris
from toolcrib.protocol.envelope import CONTRACT_KEY, DIGEST_KEY, relayed_meta
from toolcrib.protocol.extensions import without_apps
from toolcrib.protocol.trust import IconPolicy, with_icons
from toolcrib.settings import NameStyle
from toolcrib.wire.jsonwire import Prepared
from toolcrib.wire.results import tool_for_handshake, tool_for_modern

Key = tuple[tuple[str, int, str], ...]
"""What a listing was compiled from: server, generation and digest of every catalog that went in."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How exposed names are made."""

    style: NameStyle
    limit: int


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """The items as one era sees them, and their JSON."""

    items: tuple[dict[str, Any], ...]
    json: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A compiled listing. Freshness is no part of it: that differs from answer to answer."""

    kind: Kind
    entries: Mapping[str, Original]
    """By exposed name or URI: everything that can be asked for, shown or not."""
    digest: str
    """The same for the same exposed content, on every replica and in both eras."""
    findings: tuple[Finding, ...]
    modern: Encoded
    handshake: Encoded
    sights: Sights
    """What whoever is shown it has seen of its tools, meta-tools apart; empty for other kinds."""

    def answer(self, *, modern: bool, ttl_ms: int, scope: str) -> Prepared:
        """The result of a list request."""
        encoded = self.modern if modern else self.handshake
        members = {"ttlMs": ttl_ms, "cacheScope": scope, "_meta": {DIGEST_KEY: self.digest}}
        return Prepared(self.kind.field, encoded.items, encoded.json, members)


def key_of(readings: Iterable[Reading]) -> Key:
    """What a listing of these readings is compiled from."""
    return tuple(
        (reading.server, reading.generation, reading.snapshot.digest)
        for reading in readings
        if reading.snapshot is not None
    )


def offered(
    kind: Kind,
    readings: Collection[Reading],
    naming: Naming,
    listed: AbstractSet[str] | None = None,
    reserved: AbstractSet[str] = frozenset(),
) -> Offer:
    """What there is of a kind in these readings, under its exposed names or URIs.

    Args:
        kind: The kind of all of them.
        readings: The catalogs of all servers.
        naming: How exposed names are made.
        listed: The servers whose items may be listed; None: all.
        reserved: Names that no item gets.
    """
    shown = {it.server for it in readings} if listed is None else listed
    if kind.key == "name":
        return offer_of(
            readings, style=naming.style, limit=naming.limit, listed=shown, reserved=reserved
        )
    held = {it.server: it.snapshot.items for it in readings if it.snapshot is not None}
    entries, findings = expose_uris({server: held[server] for server in held if server in shown})
    others, more = expose_uris({server: held[server] for server in held if server not in shown})
    whole = {**others, **entries}
    return Offer(whole, entries, (*findings, *more), complete_in(readings, shown))


def compile_listing(
    kind: Kind,
    offer: Offer,
    choice: Choice = EVERYTHING,
    meta: Iterable[Mapping[str, Any]] = (),
    icons: IconPolicy = "drop",
) -> Listing:
    """Compile a listing; the work grows with the number of items and touches nothing shared.

    Args:
        kind: What is listed.
        offer: What there is.
        choice: What of it is shown.
        meta: The definitions of meta-tools that are shown with it.
        icons: What becomes of icons.
    """
    entries = offer.listed
    if choice.exposure != "full":
        entries = {name: offer.listed[name] for name in choice.pinned}
    shown = [_meta_definition(tool) for tool in meta]
    marks = [(tool["name"], fingerprint(tool)) for tool in shown]
    marks += [(name, original.item.fingerprint) for name, original in entries.items()]
    shown += [_definition(kind, name, original.item, icons) for name, original in entries.items()]
    digest = exposed_digest(kind, marks)
    findings = (*offer.findings, *choice.findings)
    if kind is not Kind.TOOLS:
        same = _encoded(shown)
        return Listing(kind, offer.entries, digest, findings, same, same, Sights({}))
    modern = _encoded([tool_for_modern(tool) for tool in shown])
    older = [tool_for_handshake(tool) for tool in shown]
    differs = any(a is not b for a, b in zip(older, modern.items, strict=True))
    handshake = _encoded(older) if differs else modern
    sights = {name: Sight(it.server, it.item.key, it.item.contract) for name, it in entries.items()}
    return Listing(kind, offer.entries, digest, findings, modern, handshake, Sights(sights))


def _meta_definition(tool: Mapping[str, Any]) -> dict[str, Any]:
    """The definition of a meta-tool with its contract, as every exposed tool has one."""
    return {**tool, "_meta": {CONTRACT_KEY: contract(tool)}}


def _definition(kind: Kind, name: str, item: Item, icons: IconPolicy) -> dict[str, Any]:
    """The definition as exposed: under its exposed name, and without what is not for hosts.

    Icons go by policy. Of its `_meta` what speaks of another hop is taken out, and keys of ours,
    whatever the server wrote there; and what belongs to extensions that we do not speak.
    """
    definition = dict(with_icons(item.definition, icons))
    definition[kind.key] = name
    meta = definition.get("_meta")
    if is_object(meta):
        definition["_meta"] = meta = without_apps(relayed_meta(meta))
    if kind is Kind.TOOLS:
        definition.pop("execution", None)
        own = {CONTRACT_KEY: item.contract}
        definition["_meta"] = {**meta, **own} if is_object(meta) else own
    return definition


def _encoded(items: list[dict[str, Any]]) -> Encoded:
    return Encoded(tuple(items), encode(items))
