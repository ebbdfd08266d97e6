"""What a small model writes is read leniently, and what is no candidate never gets through."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.discovery.subagent.answer import Answer, read_answer

NAMES = ["git__log", "git__status", "mail__send", "disk__search-files", "search"]


@pytest.mark.parametrize(
    "text",
    [
        "[3, 1]",
        " [3,1] ",
        '["3", "1"]',
        "[3.0, 1.0]",
        '["mail__send", "git__log"]',
        '["MAIL__SEND", "`git__log`"]',
        '["#3", "1. git__log"]',
        '["3: mail__send", "1) git__log"]',
        '[{"number": 3, "why": "sends [mail]"}, {"number": 1}]',
        '[{"name": "mail__send"}, {"tool": "git__log"}]',
        '{"tools": [3, 1]}',
        '{"chosen": ["mail__send", 1], "reason": "both fit"}',
        "```json\n[3, 1]\n```",
        "```\n[3, 1]\n```\nThese fit best.",
        "Of [1, 2, 3] the best are [3, 1].",
        "The best is [3], then [1].",
        "The list items[] are empty, so [3, 1]",
        "Here you are: [3, 1] []",
        "<think>[2] or rather 4?</think>\n[3, 1]",
        "[2] </think> [3, 1]",
        "3, 1",
        "3\n1",
        "Tools 3 and 1 fit.",
        "I would take #3 first. After it (1).",
        "I would use mail__send, and after 2 minutes `git__log`.",
        "1. mail__send\n2. git__log",
        "- **mail__send**: sends\n- **git__log**: 4 stars",
        "[3, 3, 1, 3]",
        "[not json] 3, 1",
        "[[[[ 3, 1",
        "[3, [1], 1]",
    ],
)
def test_however_it_is_written_three_before_one_is_understood(text: str) -> None:
    found = read_answer(text, NAMES)
    assert found.chosen == (2, 0)
    assert found.readable


@pytest.mark.parametrize(
    "text",
    [
        "<think>mail__send? Or [2]?</think>git__log",
        "<think>2 or 3</think> 1",
        "2, 3</thinking>\n1",
        "<THINK>[2, 3]</THINK> tool 1",
    ],
)
def test_what_a_model_thought_before_its_answer_does_not_count(text: str) -> None:
    assert read_answer(text, NAMES) == Answer((0,))


@pytest.mark.parametrize(
    ("text", "chosen", "invented"),
    [
        ("[3, 99]", (2,), 1),
        ("[0, -1, 6, 3]", (2,), 3),
        ('["mail__delete", "mail__send"]', (2,), 1),
        ("[true, null, 1.5, {}, [], 3]", (2,), 5),
        ('["", "three", "3"]', (2,), 2),
        ("3, 77", (2,), 1),
        (json.dumps([10**400, 3]), (2,), 1),
    ],
)
def test_what_is_no_candidate_is_dropped_and_counted(
    text: str, chosen: tuple[int, ...], invented: int
) -> None:
    assert read_answer(text, NAMES) == Answer(chosen, invented)


@pytest.mark.parametrize("text", ["[]", "None fits: []", '{"tools": []}', "```json\n[]\n```"])
def test_nothing_chosen_is_an_answer(text: str) -> None:
    assert read_answer(text, NAMES) == Answer()


@pytest.mark.parametrize(
    "text",
    ["", "I cannot help with that.", "{", "null", "[99, 98]", '["delete_everything"]', "77", "3x"],
)
def test_what_chooses_nothing_known_is_not_understood(text: str) -> None:
    found = read_answer(text, NAMES)
    assert not found.readable
    assert found.chosen == ()


def test_an_ordinary_word_in_a_sentence_is_no_name() -> None:
    assert read_answer("You could search for it.", NAMES) == Answer(readable=False)
    assert read_answer('["search"]', NAMES) == Answer((4,))


@pytest.mark.parametrize(
    "text", ["git__log2", "xgit__log", "my-git__log", "version 3.5", "2026-1-30", "v3", "a-3"]
)
def test_a_part_of_a_word_or_number_is_no_choice(text: str) -> None:
    assert read_answer(text, NAMES).chosen == ()


def test_a_name_that_is_a_number_counts_as_the_name() -> None:
    assert read_answer('["2"]', ["a", "b", "2"]) == Answer((2,))


def test_of_names_that_are_equal_the_first_is_meant() -> None:
    assert read_answer('["same_name"]', ["same_name", "same_name"]) == Answer((0,))
    assert read_answer("same_name", ["same_name", "same_name"]) == Answer((0,))


@pytest.mark.parametrize("text", ["[" * 200_000, '[{"a":' * 50_000, "[1," * 90_000])
def test_nesting_without_end_is_looked_at_for_a_bounded_time(text: str) -> None:
    read_answer(text, NAMES)


def test_the_end_of_a_long_answer_counts() -> None:
    assert read_answer("word " * 100_000 + "[3, 1]", NAMES).chosen == (2, 0)


words = st.one_of(
    st.text(), st.sampled_from([*NAMES, "[", "]", ",", "3", "```", '"', "{", "</think>"])
)


@given(st.lists(words).map("".join))
def test_whatever_is_written_only_candidates_come_out_each_once(text: str) -> None:
    found = read_answer(text, NAMES)
    assert len(set(found.chosen)) == len(found.chosen)
    assert all(0 <= position < len(NAMES) for position in found.chosen)
    assert found.readable or not found.chosen


@given(st.lists(st.integers(0, 4), unique=True))
def test_an_honest_array_comes_back_as_it_is(order: list[int]) -> None:
    by_number = json.dumps([position + 1 for position in order])
    by_name = json.dumps([NAMES[position] for position in order])
    assert read_answer(by_number, NAMES).chosen == tuple(order)
    assert read_answer(by_name, NAMES).chosen == tuple(order)
