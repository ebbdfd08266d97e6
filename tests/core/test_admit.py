"""May this call go: every verdict, what it is decided by, and what a model reads of it."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.core.admit import (
    Asked,
    BadArguments,
    Go,
    NotAllowed,
    SchemaChanged,
    ToolGone,
    TooOld,
    Verdict,
    admit,
)
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind


@dataclass(frozen=True)
class Found:
    where: str
    what: str


WRONG = (Found("state", "is `opened`, but must be one of `open`, `closed`"),)


def tool(required: tuple[str, ...] = (), says: str = "", /, **properties: Any) -> Item:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    raw = {"name": "issues", "description": says, "inputSchema": schema}
    verdict = judge(Kind.TOOLS, raw).verdict
    assert isinstance(verdict, Item)
    return verdict


STATE = {"type": "string", "enum": ["open", "closed", "all"]}
BEFORE = tool(("repo",), repo={"type": "string"}, state=STATE)
NARROWED = tool(
    ("repo",), repo={"type": "string"}, state={"type": "string", "enum": ["open", "closed"]}
)
REQUIRING = tool(("repo", "state"), repo={"type": "string"}, state=STATE)
REWORDED = tool(("repo",), "Other words.", repo={"type": "string"}, state=STATE)


def asked(item: Item | None = BEFORE, /, **known: Any) -> Asked:
    return Asked(name="hub__issues", item=item, **known)


def words(verdict: Verdict) -> str:
    assert not isinstance(verdict, Go)
    return verdict.in_words()


# ---------------------------------------------------------------- go


def test_a_call_of_what_was_seen_with_arguments_that_fit_may_go() -> None:
    assert admit(asked(seen=BEFORE.contract)) == Go(BEFORE)


def test_a_call_without_anything_seen_and_with_arguments_that_fit_may_go() -> None:
    assert admit(asked()) == Go(BEFORE)
    assert admit(asked(NARROWED, earlier=BEFORE)) == Go(NARROWED)


def test_a_changed_description_blocks_nothing() -> None:
    assert REWORDED.fingerprint != BEFORE.fingerprint
    assert admit(asked(REWORDED, seen=BEFORE.contract, earlier=BEFORE)) == Go(REWORDED)


def test_unchecked_arguments_go_and_the_reason_is_kept() -> None:
    verdict = admit(asked(seen=BEFORE.contract, unchecked="it declares an unknown dialect"))
    assert verdict == Go(BEFORE, "it declares an unknown dialect")


def test_a_snapshot_as_old_as_is_allowed_is_called_from() -> None:
    assert admit(asked(age=60.0, max_stale=60.0)) == Go(BEFORE)


# ---------------------------------------------------------------- changed


def test_a_changed_contract_is_not_sent_although_the_arguments_fit() -> None:
    verdict = admit(asked(NARROWED, seen=BEFORE.contract, earlier=BEFORE))
    assert isinstance(verdict, SchemaChanged)
    assert verdict.item is NARROWED
    assert verdict.code == "schema_changed"


def test_a_narrowed_enum_is_told_with_what_is_left() -> None:
    verdict = admit(asked(NARROWED, seen=BEFORE.contract, earlier=BEFORE))
    assert isinstance(verdict, SchemaChanged)
    assert verdict.changes == ("`state` no longer accepts `all` (allowed: `open`, `closed`)",)
    assert verdict.changes[0] in words(verdict)


def test_a_newly_required_field_is_told() -> None:
    verdict = admit(asked(REQUIRING, seen=BEFORE.contract, earlier=BEFORE))
    assert "- `state` is now required" in words(verdict)


def test_a_new_required_field_and_a_removed_one_are_told() -> None:
    after = tool(("owner",), owner={"type": "string"}, state=STATE)
    text = words(admit(asked(after, seen=BEFORE.contract, earlier=BEFORE)))
    assert "- `repo` was removed" in text
    assert "- `owner` is new (required, string)" in text


def test_what_changed_for_someone_who_saw_something_unknown_is_not_made_up() -> None:
    for earlier in (None, REQUIRING, NARROWED):
        verdict = admit(asked(NARROWED, seen="0" * 64, earlier=earlier))
        assert isinstance(verdict, SchemaChanged)
        assert verdict.changes == ()
        assert "What changed" not in words(verdict)


def test_the_new_schema_stands_in_the_text_and_in_the_details() -> None:
    verdict = admit(asked(NARROWED, seen=BEFORE.contract, earlier=BEFORE))
    assert isinstance(verdict, SchemaChanged)
    schema = NARROWED.definition["inputSchema"]
    assert json.loads(words(verdict).partition("inputSchema: ")[2]) == schema
    assert verdict.details() == {
        "changes": list(verdict.changes),
        "contract": verdict.item.contract,
        "inputSchema": schema,
    }


def test_a_changed_contract_is_told_before_wrong_arguments_and_both_are_said() -> None:
    verdict = admit(asked(NARROWED, seen=BEFORE.contract, earlier=BEFORE, faults=WRONG))
    assert isinstance(verdict, SchemaChanged)
    assert verdict.faults == WRONG
    assert "- `state` is `opened`, but must be one of" in words(verdict)
    assert verdict.details()["faults"] == [{"where": "state", "what": WRONG[0].what}]


def test_a_change_only_of_the_output_schema_is_a_changed_contract() -> None:
    raw = dict(BEFORE.definition) | {"outputSchema": {"type": "object", "required": ["n"]}}
    after = judge(Kind.TOOLS, raw).verdict
    assert isinstance(after, Item)
    verdict = admit(asked(after, seen=BEFORE.contract, earlier=BEFORE))
    assert isinstance(verdict, SchemaChanged)
    assert "the result" in words(verdict)


# ---------------------------------------------------------------- nothing seen


def test_arguments_that_fail_after_a_change_are_told_the_difference() -> None:
    verdict = admit(asked(NARROWED, earlier=BEFORE, faults=WRONG))
    assert isinstance(verdict, SchemaChanged)
    assert verdict.changes == ("`state` no longer accepts `all` (allowed: `open`, `closed`)",)
    assert verdict.faults == WRONG


def test_arguments_that_did_not_fit_the_earlier_contract_either_are_just_wrong() -> None:
    verdict = admit(asked(NARROWED, earlier=BEFORE, faults=WRONG, fitted_earlier=False))
    assert verdict == BadArguments("hub__issues", NARROWED, WRONG)
    fitted = admit(asked(NARROWED, earlier=BEFORE, faults=WRONG, fitted_earlier=True))
    assert isinstance(fitted, SchemaChanged)


def test_arguments_that_fail_with_the_same_contract_as_before_are_just_wrong() -> None:
    assert admit(asked(REWORDED, earlier=BEFORE, faults=WRONG)) == BadArguments(
        "hub__issues", REWORDED, WRONG
    )
    assert isinstance(admit(asked(faults=WRONG)), BadArguments)


def test_who_saw_the_contract_that_holds_gets_wrong_arguments_and_no_history() -> None:
    verdict = admit(asked(NARROWED, seen=NARROWED.contract, earlier=BEFORE, faults=WRONG))
    assert verdict == BadArguments("hub__issues", NARROWED, WRONG)


def test_wrong_arguments_are_told_place_by_place_with_the_schema() -> None:
    faults = (*WRONG, Found("", "lacks the required `repo`"))
    verdict = admit(asked(faults=faults))
    assert isinstance(verdict, BadArguments)
    assert words(verdict).splitlines()[:3] == [
        "The arguments do not fit `hub__issues`, so the call was not sent:",
        "- `state` is `opened`, but must be one of `open`, `closed`",
        "- the arguments object lacks the required `repo`",
    ]
    assert (
        json.loads(words(verdict).partition("inputSchema: ")[2])
        == (BEFORE.definition["inputSchema"])
    )
    assert [fault["where"] for fault in verdict.details()["faults"]] == ["state", ""]


# ---------------------------------------------------------------- gone


def test_a_tool_that_is_gone_is_told_with_names_that_look_alike() -> None:
    names = ("hub__issue", "repo__forks", "mail__send", "hub__issues")
    verdict = admit(asked(None, names=names))
    assert isinstance(verdict, ToolGone)
    assert verdict.near == ("hub__issue",)
    assert "Similar names: `hub__issue`." in words(verdict)
    assert verdict.details() == {"near": ["hub__issue"]}


def test_a_tool_that_seems_renamed_is_told_its_new_name_once() -> None:
    verdict = admit(asked(None, renamed="hub__issue_list", names=("hub__issue_list",)))
    assert isinstance(verdict, ToolGone)
    assert verdict.near == ()
    assert words(verdict).count("`hub__issue_list`") == 1
    assert verdict.details() == {"near": [], "renamed": "hub__issue_list"}


def test_a_tool_that_is_gone_without_a_trace_is_not_to_be_called_again() -> None:
    assert "Do not call it again" in words(admit(asked(None, names=("mail__send",))))


def test_only_a_tool_that_is_known_to_have_been_there_is_told_as_removed() -> None:
    removed, never = words(admit(asked(None, was_there=True))), words(admit(asked(None)))
    assert "any more: its server removed it, and nothing was sent." in removed
    assert "any more" not in never
    assert "removed" not in never
    assert "so nothing was sent." in never
    assert never.endswith(removed.partition("was sent. ")[2])


def test_a_tool_that_is_gone_stays_gone_whatever_was_seen() -> None:
    verdict = admit(asked(None, seen=BEFORE.contract, earlier=BEFORE, faults=WRONG))
    assert isinstance(verdict, ToolGone)


def test_of_very_many_names_only_some_are_looked_at() -> None:
    numbers = count()
    verdict = admit(asked(None, names=(f"other__{number}" for number in numbers)))
    assert isinstance(verdict, ToolGone)
    assert next(numbers) == 10_000


# ---------------------------------------------------------------- too old, not allowed


def test_an_old_snapshot_is_not_called_from() -> None:
    verdict = admit(asked(age=90_000.0, max_stale=86_400.0))
    assert verdict == TooOld("hub__issues", 90_000.0, 86_400.0)
    assert "is 1 day old, more than 1 day" in words(verdict)
    assert words(admit(asked(age=7_500.0, max_stale=59.9))).count("2 hours old, more than 59 sec")
    assert words(admit(asked(age=61.0, max_stale=1.0))).count("1 minute old, more than 1 second,")


def test_an_old_snapshot_cannot_say_that_a_tool_is_gone() -> None:
    assert isinstance(admit(asked(None, age=2.0, max_stale=1.0)), TooOld)


def test_who_may_not_call_learns_nothing_else() -> None:
    for item in (BEFORE, None):
        for age in (0.0, 1e9):
            verdict = admit(
                asked(item, allowed=False, age=age, seen="x", faults=WRONG, names=("hub__issue",))
            )
            assert isinstance(verdict, NotAllowed)
            assert verdict.name == "hub__issues"
            assert verdict.details() == {}
            assert "hub__issue`" not in words(verdict)


# ---------------------------------------------------------------- texts in general


def test_a_large_schema_is_told_without_its_words_and_a_larger_one_by_its_size() -> None:
    wordy = tool(a={"type": "string", "description": "x" * 20_000})
    text = words(admit(asked(wordy, faults=WRONG)))
    assert "inputSchema without its descriptions: {" in text
    assert "xxxx" not in text
    huge = tool(a={"enum": [f"value {number}" for number in range(3_000)]})
    text = words(admit(asked(huge, faults=WRONG)))
    assert "too many to repeat here: list the tools anew" in text
    assert len(text) < 1_000


def test_a_schema_as_large_as_fits_is_told_as_it_is() -> None:
    wordy = tool(a={"type": "string", "description": "x" * 16_000})
    assert "x" * 16_000 in words(admit(asked(wordy, faults=WRONG)))


def test_texts_can_be_sent_and_cannot_break_out_of_their_lines() -> None:
    odd = tool(**{"a\n- `b`\ud800": {"type": "string", "description": "\ud800\u202e"}})
    faults = (Found("a", "is " + "y" * 5_000),)
    verdict = admit(asked(odd, seen=BEFORE.contract, earlier=BEFORE, faults=faults))
    text = words(verdict)
    assert text.encode()
    assert all(len(line) <= 1_002 for line in text.splitlines()[:-1])
    named = Asked(name="evil`\nname", item=None)
    assert words(admit(named)).startswith("There is no `evil' name`, so nothing was sent.")


def test_every_refusal_says_that_nothing_was_sent() -> None:
    verdicts = [
        admit(asked(NARROWED, seen=BEFORE.contract, earlier=BEFORE)),
        admit(asked(None)),
        admit(asked(faults=WRONG)),
        admit(asked(age=2.0, max_stale=1.0)),
        admit(asked(allowed=False)),
    ]
    codes = [verdict.code for verdict in verdicts]
    assert codes == [
        "schema_changed",
        "tool_gone",
        "bad_arguments",
        "catalog_too_old",
        "not_allowed",
    ]
    for verdict in verdicts:
        assert "not sent" in words(verdict) or "nothing was sent" in words(verdict)


ITEMS = st.sampled_from([BEFORE, NARROWED, REQUIRING, REWORDED])
CASES = st.fixed_dictionaries(
    {
        "allowed": st.booleans(),
        "age": st.sampled_from([0.0, 10.0, 11.0]),
        "max_stale": st.just(10.0),
        "seen": st.one_of(st.just(""), ITEMS.map(lambda item: item.contract), st.just("f" * 64)),
        "earlier": st.one_of(st.none(), ITEMS),
        "faults": st.sampled_from([(), WRONG]),
        "fitted_earlier": st.sampled_from([None, True, False]),
    }
)


@settings(max_examples=500, deadline=None)
@given(item=st.one_of(st.none(), ITEMS), known=CASES)
def test_a_call_goes_exactly_where_nothing_known_speaks_against_it(
    item: Item | None, known: dict[str, Any]
) -> None:
    verdict = admit(asked(item, **known))
    right = known["allowed"] and known["age"] <= 10.0 and item is not None
    current = item is not None and known["seen"] in ("", item.contract)
    assert isinstance(verdict, Go) == bool(right and current and not known["faults"])
    if isinstance(verdict, SchemaChanged):
        assert not current or known["earlier"].contract != verdict.item.contract
    if isinstance(verdict, BadArguments):
        assert current
        assert verdict.faults


@pytest.mark.parametrize("seen", ["", BEFORE.contract])
def test_admitting_reads_names_only_of_what_is_gone(seen: str) -> None:
    names = iter(["hub__issue"])
    admit(asked(seen=seen, names=names))
    assert next(names) == "hub__issue"
