"""Names as identifiers: legal, distinct, stable."""

import builtins
import keyword
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.stubs.identifiers import FUNCTIONS, MODULES, PARAMETERS, Naming, identifiers

NAMES = st.text(max_size=60) | st.sampled_from(
    [
        *("create-issue", "create_issue", "create.issue", "create issue", "list", "list_", "str"),
        *("class", "delete", "match", "_x", "x_", "__x__", "2fast", "\u67e5\u8be2-\u5929\u6c14"),
        *(
            "caf\u00e9",
            "cafe",
            "",
            "-",
            "a" * 48,
            "a" * 49,
            "a" * 50,
            "tool",
            "\ud800",
            "__debug__",
        ),
        *("json", "re", "asyncio", "toolcrib", "Any", "TypedDict", "\u0130", "\ufb01"),
    ]
)
NAMINGS = st.sampled_from([FUNCTIONS, MODULES, PARAMETERS])


def test_names_that_are_identifiers_stay_as_they_are() -> None:
    names = ["create_issue", "getIssue", "X", "a__b", "trailing_", "fetch", "search"]
    assert identifiers(names, FUNCTIONS, "s") == {name: name for name in sorted(names)}


def test_separators_and_accents_become_readable() -> None:
    assert identifiers(["create-issue", "a b", "caf\u00e9", "x.y/z", "_x"], FUNCTIONS, "s") == {
        "_x": "x",
        "a b": "a_b",
        "caf\u00e9": "cafe",
        "create-issue": "create_issue",
        "x.y/z": "x_y_z",
    }


def test_the_names_of_a_server_in_five_spellings_are_told_apart() -> None:
    names = ["echo-with-dash", "echo_with_dash", "2fast", "\u67e5\u8be2-\u5929\u6c14", "a b"]
    found = identifiers(names, FUNCTIONS, "my-server")
    assert found["echo_with_dash"] == "echo_with_dash"
    assert re.fullmatch(r"echo_with_dash_[0-9a-f]{8}", found["echo-with-dash"])
    assert found["2fast"] == "tool_2fast"
    assert found["a b"] == "a_b"
    assert re.fullmatch(r"tool_[0-9a-f]{8}", found["\u67e5\u8be2-\u5929\u6c14"])
    assert len(set(found.values())) == 5


def test_each_lossy_name_in_a_conflict_gets_a_hash_and_the_exact_one_none() -> None:
    found = identifiers(["a-b", "a.b", "a_b"], FUNCTIONS, "s")
    assert found["a_b"] == "a_b"
    assert all(re.fullmatch(r"a_b_[0-9a-f]{8}", found[name]) for name in ("a-b", "a.b"))
    without = identifiers(["a-b", "a.b"], FUNCTIONS, "s")
    assert without == {"a-b": found["a-b"], "a.b": found["a.b"]}


def test_hashes_are_of_server_and_tool() -> None:
    names = ["a-b", "a.b"]
    one, two = identifiers(names, FUNCTIONS, "one"), identifiers(names, FUNCTIONS, "two")
    assert not set(one.values()) & set(two.values())
    assert one["a-b"] == "a_b_307f5d65"


def test_what_lost_letters_or_its_end_has_a_hash_whatever_else_there_is() -> None:
    long = "n" * 60
    found = identifiers([long, "list-\u57ce\u5e02", ""], FUNCTIONS, "s")
    assert re.fullmatch(r"n{39}_[0-9a-f]{8}", found[long])
    assert re.fullmatch(r"list_[0-9a-f]{8}", found["list-\u57ce\u5e02"])
    assert re.fullmatch(r"tool_[0-9a-f]{8}", found[""])
    for name, identifier in found.items():
        assert identifiers([name], FUNCTIONS, "s") == {name: identifier}


def test_a_name_that_looks_like_a_hash_of_another_takes_nothing_away() -> None:
    squatted = identifiers(["a-b", "a.b"], FUNCTIONS, "s")["a-b"]
    found = identifiers(["a-b", "a.b", squatted], FUNCTIONS, "s")
    assert found[squatted] == squatted
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", found["a-b"])
    assert len(set(found.values())) == 3
    again = identifiers(["a-b", "a.b", squatted, found["a-b"]], FUNCTIONS, "s")
    assert len(set(again.values())) == 4
    assert again[found["a-b"]] == found["a-b"]


@pytest.mark.parametrize("word", ["list", "class", "match", "delete", "print", "Any", "await"])
def test_reserved_words_get_an_underscore(word: str) -> None:
    assert identifiers([word], FUNCTIONS, "s") == {word: f"{word}_"}


@pytest.mark.parametrize("word", ["json", "re", "asyncio", "toolcrib", "typing", "list"])
def test_a_server_does_not_shadow_a_module(word: str) -> None:
    assert identifiers([word], MODULES) == {word: f"{word}_"}


def test_every_module_and_builtin_of_this_python_is_reserved() -> None:
    modules = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    assert modules <= MODULES.reserved
    assert set(keyword.kwlist) <= PARAMETERS.reserved <= FUNCTIONS.reserved <= MODULES.reserved
    used = {name for name in dir(builtins) if name[0].islower()} - {
        *("copyright", "credits", "exit", "help", "license", "quit"),
    }
    assert used <= FUNCTIONS.reserved


def test_parameters_keep_what_python_can_write() -> None:
    keys = ["from", "cik-A", "self", "class", "list", "*", "", "\u57ce\u5e02", "_meta", "type"]
    found = identifiers(keys, PARAMETERS)
    assert {key for key in keys if found[key] == key} == {"self", "list", "_meta", "type"}
    assert (found["from"], found["class"], found["cik-A"]) == ("from_", "class_", "cik_A")
    assert all(re.fullmatch(r"arg_[0-9a-f]{8}", found[key]) for key in ("*", "", "\u57ce\u5e02"))


@given(st.lists(NAMES, max_size=12), NAMINGS)
def test_identifiers_are_legal_distinct_and_found_back(names: list[str], naming: Naming) -> None:
    found = identifiers(names, naming, "s")
    assert set(found) == set(names)
    assert len(set(found.values())) == len(found)
    for name, identifier in found.items():
        assert naming.legal.fullmatch(identifier)
        assert identifier.isascii()
        assert len(identifier) <= naming.longest
        assert identifier not in naming.reserved
        assert identifier == name or not exact(name, naming)


def exact(name: str, naming: Naming) -> bool:
    return (
        bool(naming.legal.fullmatch(name))
        and name not in naming.reserved
        and len(name) <= naming.longest
    )


@given(st.lists(NAMES, max_size=10), NAMES, NAMINGS)
def test_no_order_matters_and_another_name_changes_no_exact_one(
    names: list[str], more: str, naming: Naming
) -> None:
    found = identifiers(names, naming, "s")
    shuffled = sorted(names, key=lambda name: (len(name), name[::-1]))
    assert identifiers(shuffled, naming, "s") == found
    grown = identifiers([*names, more], naming, "s")
    for name, identifier in found.items():
        if exact(name, naming):
            assert grown[name] == name
        elif grown[name] != identifier:  # its readable form is claimed by two
            assert re.search(r"_[0-9a-f]{8}$", grown[name])
