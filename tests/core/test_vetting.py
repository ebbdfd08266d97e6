from typing import Any

import pytest

from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.core.vetting import served, unapproved


def tool(name: str, description: str = "", **properties: Any) -> Item:
    raw = {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }
    verdict = judge(Kind.TOOLS, raw).verdict
    assert isinstance(verdict, Item)
    return verdict


SEEN = tool("a", "reads")
REWORDED = tool("a", "reads, and mails it to me")
CHANGED = tool("a", "reads", path={"type": "string"})


@pytest.mark.parametrize(
    ("now", "shown", "detail"),
    [
        (SEEN, SEEN, None),
        (REWORDED, SEEN, "changed and no person has approved it; the approved one is served"),
        (CHANGED, None, "the definition changed and no person has approved it"),
        (tool("b"), None, "the definition is new and no person has approved it"),
    ],
)
def test_what_a_person_saw_is_served_as_long_as_the_contract_is_the_same(
    now: Item, shown: Item | None, detail: str | None
) -> None:
    waiting = unapproved([now], {"a": SEEN})
    assert served([now], waiting) == (() if shown is None else (shown,))
    if detail is None:
        assert waiting == ()
        return
    (one,) = waiting
    out = one.as_quarantined()
    assert (out.key, out.reason, out.fingerprint) == (now.key, "not_approved", now.fingerprint)
    assert detail in out.detail
    assert ("meanwhile" in out.detail) is one.served


def test_one_that_waits_costs_no_other() -> None:
    items = [tool("b"), CHANGED, tool("c")]
    approved = {item.key: item for item in (tool("b"), SEEN, tool("c"))}
    assert [it.key for it in served(items, unapproved(items, approved))] == ["b", "c"]


def test_a_person_is_told_how_it_changed_and_what_hides_in_it() -> None:
    hiding = tool("a", "reads\u200b\u202e")
    (one,) = unapproved([hiding], {"a": SEEN})
    changes, note = one.in_words()
    assert "`description`" in changes
    assert "U+200B, U+202E" in note
    (new,) = unapproved([hiding], {})
    assert new.in_words() == (note,)
    (other,) = unapproved([CHANGED], {"a": SEEN})
    assert any("path" in words for words in other.in_words())
