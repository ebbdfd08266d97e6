"""One compiled listing: order, names, digests, what is added and what is left out."""

import json
import random
from typing import Any

import pytest

from toolcrib.catalog.reading import Reading
from toolcrib.core.snapshot import Kind
from toolcrib.gateway.listing import Listing, Naming, compile_listing, key_of, offered
from toolcrib.settings import NameStyle
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.scripted import tool

TOOLS = Kind.TOOLS
DIGEST, CONTRACT = "dev.toolcrib/digest", "dev.toolcrib/contract"


def listing(
    kind: Kind = Kind.TOOLS, style: NameStyle = "qualified", /, **servers: list[dict[str, Any]]
) -> Listing:
    readings = [
        Reading(server, kind, snapshot_of(kind, definitions), 1, fresh=True)
        for server, definitions in servers.items()
    ]
    return compile_listing(kind, offered(kind, readings, Naming(style, 48)))


def test_the_order_is_server_then_original_name_by_code_point() -> None:
    compiled = listing(b=[tool("a"), tool("B"), tool("_")], a=[tool("z"), tool("Z")])
    order = [(original.server, original.item.key) for original in compiled.entries.values()]
    assert order == [("a", "Z"), ("a", "z"), ("b", "B"), ("b", "_"), ("b", "a")]
    assert [shown["name"] for shown in compiled.modern.items] == list(compiled.entries)


def test_what_arrives_shuffled_is_the_same_listing_byte_for_byte() -> None:
    tools = [tool(f"t{i}", x={"type": "integer"}) for i in range(40)]
    first = listing(a=tools, b=tools)
    dice = random.Random(7)  # noqa: S311 - an order, not a secret
    for _ in range(5):
        shuffled = dice.sample(tools, len(tools))
        again = listing(b=shuffled, a=dice.sample(tools, len(tools)))
        assert again.modern.json == first.modern.json
        assert again.handshake.json == first.handshake.json
        assert again.digest == first.digest


def test_each_tool_carries_its_contract_beside_its_own_meta() -> None:
    compiled = listing(a=[{**tool("t"), "_meta": {"vendor.example/x": 1, CONTRACT: "forged"}}])
    (shown,) = compiled.modern.items
    assert shown["_meta"]["vendor.example/x"] == 1
    assert shown["_meta"][CONTRACT] == compiled.entries["a__t"].item.contract


@pytest.mark.parametrize("kind", [Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES])
def test_other_kinds_have_no_contract(kind: Kind) -> None:
    compiled = listing(kind, a=[{kind.key: "x://a", "name": "n"}])
    assert "_meta" not in compiled.modern.items[0]


def test_unknown_members_and_schemas_are_passed_as_received() -> None:
    schema = {"properties": {"b": {}, "a": {"x-vendor": [1]}}, "type": "object", "$defs": {}}
    raw = {"name": "t", "x-vendor": {"z": 1}, "inputSchema": schema, "annotations": {"k": True}}
    (shown,) = json.loads(listing(a=[raw]).modern.json)
    assert shown["inputSchema"] == schema
    assert list(shown["inputSchema"]) == list(schema)
    assert shown["x-vendor"] == {"z": 1}
    assert shown["annotations"] == {"k": True}


def test_icons_are_left_out_because_they_lead_hosts_to_strangers() -> None:
    icons = [{"src": "https://track.example/i.png"}]
    compiled = listing(a=[{**tool("t"), "icons": icons}])
    assert b"track.example" not in compiled.modern.json
    assert b"track.example" not in compiled.handshake.json


@pytest.mark.duty(27)
def test_one_modern_output_schema_costs_older_hosts_that_schema_and_nothing_else() -> None:
    modern = {**tool("m"), "outputSchema": {"type": "array"}}
    plain = {**tool("p"), "outputSchema": {"type": "object"}}
    compiled = listing(a=[modern, plain])
    assert [t.get("outputSchema") for t in compiled.modern.items] == [
        {"type": "array"},
        {"type": "object"},
    ]
    assert [t.get("outputSchema") for t in compiled.handshake.items] == [None, {"type": "object"}]
    assert json.loads(compiled.handshake.json) == list(compiled.handshake.items)


def test_where_the_eras_do_not_differ_the_json_is_made_once() -> None:
    compiled = listing(a=[tool("t")])
    assert compiled.modern is compiled.handshake


def test_the_digest_is_the_same_for_both_eras_and_differs_with_every_exposed_change() -> None:
    base = listing(a=[tool("t")])
    assert base.answer(modern=True, ttl_ms=0, scope="private").members["_meta"] == {
        DIGEST: base.digest
    }
    assert base.answer(modern=False, ttl_ms=9, scope="public").members["_meta"] == {
        DIGEST: base.digest
    }
    others = [
        listing(a=[{**tool("t"), "description": "other"}]),
        listing(b=[tool("t")]),
        listing(a=[tool("t"), tool("u")]),
        listing(a=[]),
    ]
    assert len({base.digest, *(other.digest for other in others)}) == 5


def test_a_listing_of_nothing_is_whole_too() -> None:
    answer = listing().answer(modern=True, ttl_ms=0, scope="private")
    assert answer.as_dict()["tools"] == []


def test_plain_names_that_collide_are_all_kept_out_and_reported() -> None:
    compiled = listing(TOOLS, "plain", a=[tool("same"), tool("mine")], b=[tool("same")])
    assert list(compiled.entries) == ["mine"]
    assert sorted(finding.server for finding in compiled.findings) == ["a", "b"]
    assert {finding.code for finding in compiled.findings} == {"name_collision"}


NM1 = ["admin.tools.list", "user-profile/update", "ok", "ä ö", "a__b", "x" * 200]
NM2 = ["list_all_dashboards_with_annotations_and_alerts_v1",
       "list_all_dashboards_with_annotations_and_alerts_v2"]  # fmt: skip


@pytest.mark.parametrize(
    ("server", "names"),
    [("s", NM1), ("com-example-internal-observability-gateway", NM2), ("a__b", NM1), ("ü", NM2)],
)
def test_exposed_names_fit_every_host_and_lead_back(server: str, names: list[str]) -> None:
    compiled = listing(**{server: [tool(name) for name in names]})
    assert {original.item.key for original in compiled.entries.values()} == set(names)
    for name in compiled.entries:
        assert name.isascii()
        assert 0 < len(name) <= 48
        assert all(char.isalnum() or char in "_-" for char in name)


def test_a_new_server_renames_nobody() -> None:
    before = listing(mail_a=[tool("send_email")])
    after = listing(mail_a=[tool("send_email")], mail_b=[tool("send_email")])
    assert set(before.entries) < set(after.entries)
    assert len(after.entries) == 2


def test_the_key_names_what_was_compiled_and_ignores_what_is_missing() -> None:
    snapshot = snapshot_of(Kind.TOOLS, [tool("t")])
    there, missing = Reading("a", Kind.TOOLS, snapshot, 3), Reading("b", Kind.TOOLS, None)
    assert key_of([there, missing]) == (("a", 3, snapshot.digest),)


@pytest.mark.parametrize("kind", list(Kind))
def test_lone_surrogates_in_a_definition_do_not_break_the_listing(kind: Kind) -> None:
    extra = {"inputSchema": {"type": "object"}} if kind is Kind.TOOLS else {}
    raw = {kind.key: "x://a", "name": "n", "description": "cut \ud83d", **extra}
    (shown,) = json.loads(listing(kind, a=[raw]).modern.json)
    assert shown["description"] == "cut \ud83d"
