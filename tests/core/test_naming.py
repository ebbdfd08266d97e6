"""Exposed names: legal, distinct, stable, reversible through a table."""

import itertools
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcrib.core.naming import SHORTEST_LIMIT, NameTable, Original, expose, near
from toolcrib.core.snapshot import Item

relaxed = settings(deadline=None, max_examples=500)

ODD = st.text(st.sampled_from("ab_-.A1 é/"), max_size=8)
"""Few characters, most of them trouble: joints, cuts and replacements meet often."""

PARTS = ODD | st.text(st.characters(), max_size=60) | st.text(st.sampled_from("a_"), max_size=60)
LIMITS = st.integers(SHORTEST_LIMIT, 64)


def item(name: str) -> Item:
    return Item(name, {"name": name}, f"mark of {name}", "c")


@pytest.mark.duty(28)
@relaxed
@given(PARTS, PARTS, LIMITS)
@example("", "", SHORTEST_LIMIT)
@example("日本", "語", 48)
def test_a_qualified_name_fits_every_host(server: str, original: str, limit: int) -> None:
    name = expose(server, original, limit=limit)
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", name)
    assert len(name) <= limit


@pytest.mark.duty(28)
@settings(deadline=None, max_examples=3000)
@given(ODD, ODD, ODD, ODD, LIMITS)
@example("a_", "b", "a", "_b", 48)
@example("a__b", "c", "a", "b__c", 48)
@example("a.b", "c", "a_b", "c", 48)
@example("a", "b.c", "a", "b_c", 48)
@example("a", "B", "a", "b", 48)
def test_two_tools_never_share_a_name(
    server: str, original: str, other_server: str, other: str, limit: int
) -> None:
    same = (server, original) == (other_server, other)
    one = expose(server, original, limit=limit)
    assert (one == expose(other_server, other, limit=limit)) == same


def test_every_short_pair_of_parts_has_a_name_of_its_own() -> None:
    words = [
        "".join(letters) for n in range(1, 5) for letters in itertools.product("a_-", repeat=n)
    ]
    names = {expose(server, tool) for server, tool in itertools.product(words, words)}
    assert len(names) == len(words) ** 2


@relaxed
@given(PARTS, PARTS, LIMITS)
def test_a_bare_name_has_one_joint_and_a_suffixed_name_two(
    server: str, original: str, limit: int
) -> None:
    name = expose(server, original, limit=limit)
    joints = len(re.findall("__", name))
    assert joints == (1 if name == f"{server}__{original}" else 2)


@relaxed
@given(st.text(st.sampled_from("ab_"), min_size=20, max_size=30), st.text(st.sampled_from("ab_")))
def test_a_server_cannot_name_a_tool_like_a_suffixed_one(server: str, original: str) -> None:
    suffixed = expose(server, f"{original}.x")
    _, _, rest = suffixed.partition("__")
    front = suffixed[: -len(rest) - 2]
    assert expose(front, rest) != suffixed
    assert expose(server, rest) != suffixed


@pytest.mark.parametrize(
    ("server", "original", "exposed"),
    [
        ("mail", "send_email", "mail__send_email"),
        ("mail-a", "Send-Email", "mail-a__Send-Email"),
        ("_x", "y_", "_x__y_"),
        ("0", "1", "0__1"),
    ],
)
def test_an_ordinary_name_stands_bare(server: str, original: str, exposed: str) -> None:
    assert expose(server, original) == exposed


@pytest.mark.parametrize(
    ("server", "original", "begins"),
    [
        ("s", "admin.tools.list", "s__admin_tools_list__"),
        ("s", "user-profile/update", "s__user-profile_update__"),
        ("s", "a__b", "s__a_b__"),
        ("s_", "a", "s__a__"),
        ("s", "_a", "s__a__"),
        ("my server", "a", "my_server__a__"),
        ("s", "日本語", "s__tool__"),
        ("日本", "a", "server__a__"),
    ],
)
def test_a_name_that_was_changed_stays_readable(server: str, original: str, begins: str) -> None:
    assert re.fullmatch(re.escape(begins) + "[a-z2-7]{10}", expose(server, original))


LONG = "com-example-internal-observability-gateway"


def test_long_names_stay_distinct_within_the_limit() -> None:
    tools = [f"list_all_dashboards_with_annotations_and_alerts_v{n}" for n in (1, 2)]
    for limit in (48, 64):
        one, two = (expose(LONG, tool, limit=limit) for tool in tools)
        assert one != two
        assert len(one) == len(two) == limit
        assert one.startswith("com-example")
        assert "__list_all_dashboards" in one


def test_names_are_the_same_in_every_process() -> None:
    code = f"from toolcrib.core.naming import expose; print(expose({LONG!r}, 'a.b'))"
    names = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout.decode()
        for seed in ("0", "1", "2")
    }
    assert names == {expose(LONG, "a.b") + "\n"}


def test_a_new_server_renames_nobody() -> None:
    catalogs = {"mail_a": [item("send_email"), item("x.y")]}
    before = NameTable.build(catalogs)
    after = NameTable.build({**catalogs, "mail_b": [item("send_email"), item("x.y")]})
    assert before.entries.items() <= after.entries.items()
    assert len(after.entries) == 4
    assert after.collided == {}


@pytest.mark.duty(28)
@relaxed
@given(st.dictionaries(ODD, st.lists(ODD.filter(bool), unique=True, max_size=4), max_size=4))
def test_a_table_leads_back_to_every_original(servers: dict[str, list[str]]) -> None:
    table = NameTable.build({server: map(item, tools) for server, tools in servers.items()})
    everything = [(server, tool) for server in sorted(servers) for tool in sorted(servers[server])]
    assert [(found.server, found.item.key) for found in table.entries.values()] == everything
    for server, tool in everything:
        assert table.resolve(expose(server, tool)) == Original(server, item(tool))
    assert table.resolve("unknown__name") is None or ("unknown", "name") in everything


def test_a_name_is_never_parsed() -> None:
    table = NameTable.build({"a": [item("b")]})
    assert table.resolve("a__c") is None
    assert table.resolve("b") is None


def test_plain_names_are_the_originals_and_collisions_are_all_kept_out() -> None:
    catalogs = {
        "b": [item("send"), item("x.y")],
        "a": [item("send"), item("a__b"), item("日本語 " * 40)],
        "c": [item("send")],
    }
    table = NameTable.build(catalogs, style="plain")
    assert list(table.entries) == ["a__b", "日本語 " * 40, "x.y"]
    assert table.resolve("send") is None
    assert {server: [out.key for out in outs] for server, outs in table.collided.items()} == {
        "a": ["send"],
        "b": ["send"],
        "c": ["send"],
    }
    (kept_out,) = table.collided["b"]
    assert kept_out.reason == "name_collision"
    assert kept_out.fingerprint == "mark of send"
    assert "`a`, `c`" in kept_out.detail
    assert "`b`" not in kept_out.detail


def test_two_tools_of_one_plain_name_are_both_kept_out() -> None:
    table = NameTable.build({"a": [item("x"), item("y")], "b": [item("x")]}, style="plain")
    assert list(table.entries) == ["y"]
    assert sorted(table.collided) == ["a", "b"]


@given(st.permutations(["a", "b", "c"]))
def test_a_table_does_not_depend_on_the_order_of_servers(order: list[str]) -> None:
    catalogs = {server: [item("y"), item("x"), item(f"only-{server}")] for server in order}
    tables = [NameTable.build(catalogs, style=style) for style in ("plain", "qualified")]
    straight: dict[str, Any] = {server: catalogs[server] for server in sorted(order)}
    assert tables[0] == NameTable.build(straight, style="plain")
    assert list(tables[1].entries) == list(NameTable.build(straight).entries)


@pytest.mark.parametrize("limit", [0, -1, SHORTEST_LIMIT - 1])
def test_a_limit_without_room_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=str(SHORTEST_LIMIT)):
        expose("a", "b", limit=limit)


# --------------------------------------------------------------------------- near names


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("serch_files", ("search_files", "search_file")),
        ("SEARCH_FILES", ("search_files", "search_file")),
        ("sned", ("send",)),
        ("qqqqqqqq", ()),
        ("", ()),
    ],
)
def test_a_near_name_is_suggested(wanted: str, found: tuple[str, ...]) -> None:
    known = ["send", "search_files", "search_file", "list_tables", "a", "b"]
    assert near(wanted, known)[: len(found) or None] == found


def test_suggestions_are_few_ordered_and_independent_of_the_order_known() -> None:
    known = [f"tool_{n}" for n in range(500)]
    assert near("tool_7", known) == near("tool_7", reversed(known))
    assert near("tool_7", known)[0] == "tool_7"
    assert len(near("tool_7", known, n=2)) == 2
    assert near("tool", []) == ()


@relaxed
@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=20))
def test_suggestions_are_always_known_names(wanted: str, known: list[str]) -> None:
    found = near(wanted, known)
    assert len(found) <= 3
    assert set(found) <= set(known)
