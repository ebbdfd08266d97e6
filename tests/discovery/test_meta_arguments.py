"""Models send more than schemas allow: what is plain is taken, what may mislead is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.discovery.meta.arguments import inner_call, names_asked, search_asked
from toolcrib.discovery.seams import Inner
from toolcrib.errors import BadArguments
from toolcrib.settings import Limits
from toolcrib.testing.hostile_json import VALUES
from toolcrib.testing.meta_rig import MetaRig

LIMITS = Limits(search_chars=20, search_hits_most=50, argument_bytes=60)


@pytest.mark.parametrize(
    ("given_limit", "taken"),
    [(None, None), (5, 5), (6.0, 6), ("8", 8), (" 7 ", 7), (50, 50), (51, 50), (10**40, 50)],
)
def test_a_limit_is_taken_in_any_form_of_a_number(given_limit: object, taken: int | None) -> None:
    asked = search_asked({"query": "q", "limit": given_limit}, LIMITS)
    assert asked.limit == taken
    assert bool(asked.notes) is (taken == 50 and given_limit != 50)


@pytest.mark.parametrize(
    "limit", [0, -1, 1.5, True, "many", "1e3", "9" * 500, [], float("nan"), float("inf")]
)
def test_what_is_no_number_from_one_is_refused(limit: object) -> None:
    with pytest.raises(
        BadArguments, match=r"`limit` is .* must be a number from 1 to 50"
    ) as raised:
        search_asked({"query": "q", "limit": limit}, LIMITS)
    assert raised.value.details["faults"][0]["where"] == "limit"


def test_a_clamped_limit_names_its_setting() -> None:
    (note,) = search_asked({"query": "q", "limit": 500}, LIMITS).notes
    assert note == "At most 50 hits are given (limit search_hits_most), not `500`."
    (note,) = search_asked({"query": "q", "limit": 10**400}, LIMITS).notes
    assert len(note) < 150


@pytest.mark.parametrize(
    ("given_detail", "taken"),
    [(None, "brief"), ("", "brief"), ("Full", "full"), (" NAME", "name"), ("brief", "brief")],
)
def test_a_detail_is_taken_in_any_case(given_detail: object, taken: str) -> None:
    assert search_asked({"detail": given_detail}, LIMITS).detail == taken


@pytest.mark.parametrize("detail", ["schema", 1, ["full"]])
def test_an_unknown_detail_is_told_which_there_are(detail: object) -> None:
    with pytest.raises(BadArguments, match="`name`, `brief`, `full`"):
        search_asked({"query": "q", "detail": detail}, LIMITS)


@pytest.mark.parametrize(
    ("query", "text", "pattern"),
    [
        ("send mail", "send mail", False),
        ("  send mail ", "send mail", False),
        (None, "", False),
        ("*", "", False),
        ("/^get_/", "^get_", True),
        ("/", "/", False),
        ("//", "//", False),
        ("/etc/hosts", "/etc/hosts", False),
    ],
)
def test_a_query_is_words_or_a_pattern_between_slashes(
    query: str | None, text: str, *, pattern: bool
) -> None:
    asked = search_asked({"query": query}, LIMITS)
    assert (asked.query, asked.pattern) == (text, pattern)


def test_a_query_beyond_its_limit_is_refused_by_name() -> None:
    search_asked({"query": "q" * 20}, LIMITS)
    with pytest.raises(BadArguments, match=r"21 characters, more than 20 \(limit search_chars\)"):
        search_asked({"query": "q" * 21}, LIMITS)


@pytest.mark.parametrize("query", [1, ["send", "mail"], {"text": "mail"}, True])
def test_a_query_that_is_no_text_is_refused(query: object) -> None:
    with pytest.raises(BadArguments, match=r"`query` is .*, but must be text"):
        search_asked({"query": query}, LIMITS)


@pytest.mark.parametrize(
    ("server", "taken"),
    [(None, ()), ("", ()), ("s", ("s",)), (["s"], ("s",)), (["s", "t", "s"], ("s", "t"))],
)
def test_a_server_may_come_in_a_list(server: object, taken: tuple[str, ...]) -> None:
    assert search_asked({"query": "q", "server": server}, LIMITS).servers == taken


@pytest.mark.parametrize("server", [1, {"id": "s"}, [1]])
def test_a_server_that_is_no_text_is_refused(server: object) -> None:
    with pytest.raises(BadArguments, match="must be the id of a server"):
        search_asked({"query": "q", "server": server}, LIMITS)


def test_members_that_nobody_asked_for_are_passed_over_in_a_search() -> None:
    assert search_asked({"query": "q", "reasoning": "because"}, LIMITS).query == "q"


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ({"names": ["a", "b"]}, ("a", "b")),
        ({"names": ["a", "b", "a"]}, ("a", "b")),
        ({"names": "a"}, ("a",)),
        ({"name": "a"}, ("a",)),
        ({"names": '["a", "b"]'}, ("a", "b")),
        ({"names": "[a"}, ("[a",)),
    ],
)
def test_names_come_in_a_list_or_alone(arguments: dict[str, Any], taken: tuple[str, ...]) -> None:
    assert names_asked(arguments) == taken


@pytest.mark.parametrize("names", [None, [], 1, {"a": 1}, [1], ["a", None], "[1]"])
def test_names_that_are_none_are_refused(names: object) -> None:
    with pytest.raises(BadArguments, match="must be a list of tool names"):
        names_asked({"names": names})


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ({"name": "a"}, None),
        ({"name": "a", "args": None}, None),
        ({"name": "a", "args": ""}, None),
        ({"name": "a", "args": {}}, {}),
        ({"name": "a", "args": {"x": 1}}, {"x": 1}),
        ({"name": "a", "args": '{"x": 1}'}, {"x": 1}),
        ({"name": "a", "args": ' {"x": {"y": "z"}} '}, {"x": {"y": "z"}}),
        ({"name": "a", "arguments": {"x": 1}}, {"x": 1}),
        ({"name": "a", "args": {"x": 1}, "arguments": {"x": 2}}, {"x": 1}),
    ],
)
def test_the_arguments_of_a_call_are_an_object_or_its_json(
    arguments: dict[str, Any], taken: dict[str, Any] | None
) -> None:
    assert inner_call(arguments, LIMITS) == Inner("a", taken)


@pytest.mark.parametrize("args", [1, [], ["x"], True, "[1]", "x", "{", '{"x": 1} and more'])
def test_arguments_that_are_no_object_are_refused(args: object) -> None:
    with pytest.raises(BadArguments, match="`args` is"):
        inner_call({"name": "a", "args": args}, LIMITS)


def test_deeply_nested_or_long_text_is_refused_before_it_costs_anything() -> None:
    with pytest.raises(BadArguments, match="limit argument_bytes"):
        inner_call({"name": "a", "args": '{"x":' * 50_000}, LIMITS)
    with pytest.raises(BadArguments, match="no JSON object"):
        inner_call({"name": "a", "args": '{"x":' * 150_000}, Limits())


def test_an_argument_of_the_tool_beside_its_name_is_never_lost() -> None:
    with pytest.raises(BadArguments, match="go into `args`, but beside it stand `city`, `days`"):
        inner_call({"name": "a", "city": "Paris", "days": 3}, LIMITS)


@pytest.mark.parametrize("name", [None, "", 1, ["a"]])
def test_a_call_without_a_name_is_refused(name: object) -> None:
    with pytest.raises(BadArguments, match="must be the name of a tool"):
        inner_call({"name": name}, LIMITS)


@pytest.mark.parametrize("name", ["search_tools", "get_tool_details", "call_tool"])
def test_a_meta_tool_is_not_called_through_another(name: str) -> None:
    with pytest.raises(BadArguments, match=f"`{name}` is in your own list of tools"):
        MetaRig({}).tools().inner({"name": name, "args": {"name": "a"}})


def test_a_tool_is_called_through_a_meta_tool() -> None:
    assert MetaRig({}).tools().inner({"name": "s__a", "args": {"x": 1}}) == Inner("s__a", {"x": 1})


def refusal_of(read: Callable[[], object]) -> BadArguments | None:
    try:
        read()
    except BadArguments as refused:
        return refused
    return None


@given(
    st.dictionaries(
        st.sampled_from(["query", "server", "detail", "limit", "names", "name", "args", "x"]),
        VALUES,
    )
)
def test_whatever_comes_is_taken_or_refused_with_a_sentence(arguments: dict[str, Any]) -> None:
    for read in (
        lambda: search_asked(arguments, LIMITS),
        lambda: names_asked(arguments),
        lambda: inner_call(arguments, LIMITS),
    ):
        refused = refusal_of(read)
        assert refused is None or (refused.message.endswith(".") and len(refused.message) < 700)
