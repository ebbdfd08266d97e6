from collections.abc import Iterable

import pytest

from toolcrib.catalog.view import ToolView
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.settings import ToolFilter
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.scripted import tool


def tools(*names: str) -> Snapshot:
    return snapshot_of(Kind.TOOLS, [tool(name) for name in names])


def names(snapshot: Snapshot | None) -> list[str]:
    assert snapshot is not None
    return [item.key for item in snapshot.items]


@pytest.mark.parametrize(
    ("allow", "deny", "shown"),
    [
        (("*",), (), ["read_a", "read_b", "write_a"]),
        (("read_*",), (), ["read_a", "read_b"]),
        (("*",), ("write_*",), ["read_a", "read_b"]),
        (("read_*",), ("read_b",), ["read_a"]),
        (("*",), ("*",), []),
        ((), (), []),
        (("read_?",), ("*_a",), ["read_b"]),
        (("READ_*",), (), []),
    ],
)
def test_what_the_lists_leave(allow: Iterable[str], deny: Iterable[str], shown: list[str]) -> None:
    view = ToolView(ToolFilter(tuple(allow), tuple(deny)))
    assert names(view.of(tools("write_a", "read_a", "read_b"))) == shown


def test_the_digest_is_that_of_what_is_shown() -> None:
    view = ToolView(ToolFilter(deny=("hidden",)))
    one, other = tools("a", "hidden"), tools("a")
    shown = view.of(one)
    assert shown is not None
    assert shown.digest == other.digest != one.digest
    assert shown.hints == one.hints


def test_a_quarantined_definition_is_shown_only_where_it_would_be() -> None:
    definitions = [tool("a"), {"name": "bad"}, {"name": "secret_bad"}]
    snapshot = snapshot_of(Kind.TOOLS, definitions)
    assert len(snapshot.quarantined) == 2
    shown = ToolView(ToolFilter(deny=("secret_*",))).of(snapshot)
    assert shown is not None
    assert [out.key for out in shown.quarantined] == ["bad"]


def test_the_same_snapshot_gives_the_same_object() -> None:
    view = ToolView(ToolFilter(deny=("hidden",)))
    snapshot = tools("a", "hidden")
    assert view.of(snapshot) is view.of(snapshot)


def test_without_rules_the_snapshot_itself_is_shown() -> None:
    snapshot = tools("a")
    assert ToolView(ToolFilter()).of(snapshot) is snapshot
    assert ToolView(ToolFilter()).of(None) is None


@pytest.mark.parametrize("kind", [Kind.PROMPTS, Kind.RESOURCES, Kind.TEMPLATES])
def test_other_kinds_pass_unchanged(kind: Kind) -> None:
    snapshot = snapshot_of(kind, [{kind.key: "file:///hidden", "name": "hidden"}])
    assert ToolView(ToolFilter(deny=("*",))).of(snapshot) is snapshot


def test_what_is_remembered_is_bounded_and_an_identity_never_taken_for_anothers() -> None:
    view = ToolView(ToolFilter(deny=("hidden",)))
    for number in range(200):
        # Nobody else keeps it: its place in memory may be taken by a later one.
        assert names(view.of(tools(f"t{number}", "hidden"))) == [f"t{number}"]
    kept = tools("kept", "hidden")
    shown = view.of(kept)
    assert view.of(kept) is shown
