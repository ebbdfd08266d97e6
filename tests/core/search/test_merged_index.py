"""Changing one server's part of the index gives what building it anew gives."""

# pyright: reportPrivateUsage=false
# What is left behind, and what is shared, shows from inside only.

from collections.abc import Collection, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search import merged as merged_index
from toolcrib.core.search.fields import ServerTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.merged import MergedIndex
from toolcrib.core.search.segment import Segment
from toolcrib.testing.store_rig import item_of, snapshot_of

LEXICON = Lexicon(str)
VOCABULARY = ("alpha", "beta", "gamma", "delta", "getAlpha", "邮件", "alpha beta")

texts = st.lists(st.sampled_from(VOCABULARY), max_size=5).map(" ".join)
catalogs = st.dictionaries(st.sampled_from(("a", "b_alpha", "c")), texts, max_size=3)
changes = st.lists(
    st.tuples(st.sampled_from(("one", "two", "three")), st.none() | catalogs), max_size=8
)


def segment(server: str, tools: dict[str, str], about: str = "") -> Segment:
    items = [item_of({"name": name, "description": text}) for name, text in tools.items()]
    return Segment.build(server, snapshot_of(*items), LEXICON, ServerTexts(description=about))


def scores(
    merged: MergedIndex, query: str, servers: Collection[str] | None = None
) -> dict[tuple[str, str], float]:
    found = merged.scores(LEXICON.question(query), servers)
    return {doc.tool: score for doc, score in found.items()}


def parts(merged: MergedIndex) -> Iterator[object]:
    """Everything an index consists of, by value."""
    yield len(merged)
    yield merged.servers()
    yield [doc.tool for doc in merged.docs()]
    for word in sorted(merged._terms):
        term = merged._terms[word]
        tools = {
            doc.tool: impact
            for posting in term._by_server.values()
            for doc, impact in zip(posting.docs, posting.impacts, strict=True)
        }
        yield word, term.tools, term.servers, tools


@given(changes, texts)
def test_an_index_after_any_changes_is_the_one_built_from_what_is_left(
    steps: list[tuple[str, dict[str, str] | None]], query: str
) -> None:
    merged = MergedIndex()
    left: dict[str, dict[str, str]] = {}
    for server, tools in steps:
        if tools is None:
            merged.drop(server)
            left.pop(server, None)
        else:
            merged.put(segment(server, tools))
            left[server] = tools
        scores(merged, query)  # what a search remembers must not outlive a change
    fresh = MergedIndex()
    for server in sorted(left):
        fresh.put(segment(server, left[server]))
    assert list(parts(merged)) == list(parts(fresh))
    assert scores(merged, query) == scores(fresh, query)


@pytest.mark.parametrize("large", [0, 2, 60])
@given(changes, st.sets(st.sampled_from(("one", "two", "three", "four"))), texts)
def test_some_servers_are_searched_as_if_there_were_no_others(
    large: int, steps: list[tuple[str, dict[str, str] | None]], servers: set[str], query: str
) -> None:
    merged, alone = MergedIndex(), MergedIndex()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merged_index, "_LARGE", large)
        for server, tools in steps:
            built = None if tools is None else segment(server, tools)
            for index in (merged, alone) if server in servers else (merged,):
                if built is None:
                    index.drop(server)
                else:
                    index.put(built)
            # What one search remembers of these servers must not outlive their next change.
            assert scores(merged, query, servers) == scores(alone, query)
            assert scores(merged, query, servers) == scores(alone, query)


def test_where_words_occur_in_some_servers_is_worked_out_once() -> None:
    merged = MergedIndex()
    for name in ("one", "two", "three"):
        merged.put(segment(name, {f"{name}_tool": "alpha"}))
    few = {"one", "two"}
    scores(merged, "alpha", few)
    (view,) = merged._views.values()
    posting = view.posting("alpha")
    merged.put(segment("three", {"other": "alpha beta"}))
    scores(merged, "alpha", {"two", "one"})
    assert [*merged._views.values()] == [view]
    assert view.posting("alpha") is posting
    merged.drop("two")
    assert not merged._views


def test_what_is_remembered_of_sets_of_servers_is_bounded() -> None:
    merged = MergedIndex()
    merged.put(segment("one", {"a": "alpha"}))
    sets = [frozenset({"one", f"other{n}"}) for n in range(20)]
    for few in sets:
        scores(merged, "alpha beta gamma", sets[0])
        scores(merged, "alpha beta gamma", few)
    assert len(merged._views) <= 10
    assert sets[0] in merged._views, "the one that is used most recently stays"
    (known, *_) = (view._known for view in merged._views.values())
    assert known.keys() == {"alpha"}, "words that nothing has are not remembered"


@given(catalogs, texts)
def test_the_same_content_gives_the_same_segment(tools: dict[str, str], about: str) -> None:
    one, other = segment("s", tools, about), segment("s", dict(reversed(tools.items())), about)
    assert [doc.tool for doc in one.docs] == [doc.tool for doc in other.docs]
    assert list(one.postings) == list(other.postings)
    for word, posting in one.postings.items():
        assert posting.impacts == other.postings[word].impacts


def test_a_removed_server_leaves_nothing_behind() -> None:
    merged = MergedIndex()
    merged.put(segment("stays", {"a": "alpha"}))
    before = list(parts(merged))
    merged.put(segment("goes", {"a": "alpha secret", "b": "beta"}, "hidden words"))
    scores(merged, "alpha secret hidden")
    merged.drop("goes")
    assert list(parts(merged)) == before
    assert scores(merged, "secret hidden beta") == {}
    assert merged._rarities == {}, "words that nothing has are not remembered"
    merged.drop("goes")
    merged.drop("stays")
    assert (len(merged), merged._terms, merged.servers()) == (0, {}, ())


def test_a_changed_server_costs_the_terms_of_that_server_only() -> None:
    merged = MergedIndex()
    for name in ("one", "two", "three"):
        merged.put(segment(name, {f"{name}_tool": "alpha"}))
    scores(merged, "alpha one two")
    untouched = merged._terms["two"]
    whole = untouched._all
    merged.put(segment("one", {"one_tool": "alpha beta"}))
    assert merged._terms["two"] is untouched
    assert untouched._all is whole is not None
    assert merged._terms["alpha"]._all is None
    assert scores(merged, "beta").keys() == {("one", "one_tool")}


def test_the_same_segment_put_again_changes_nothing() -> None:
    merged = MergedIndex()
    same = segment("s", {"a": "alpha"})
    merged.put(same)
    scores(merged, "alpha")
    remembered = dict(merged._rarities)
    merged.put(same)
    assert remembered == merged._rarities != {}


def test_words_of_a_server_are_kept_once_for_all_of_its_tools() -> None:
    built = segment("s", {f"t{n}": "x" * n for n in range(20)}, "alpha beta gamma")
    postings = [built.postings[word] for word in ("alpha", "beta", "gamma")]
    assert len({id(posting.docs) for posting in postings}) == 1


def test_a_search_gives_the_tools_that_the_segment_holds() -> None:
    merged = MergedIndex()
    merged.put(segment("b", {"y": "alpha", "x": "alpha"}))
    merged.put(segment("a", {"z": "alpha"}))
    assert [doc.tool for doc in merged.docs()] == [("a", "z"), ("b", "x"), ("b", "y")]
    assert [doc.tool for doc in merged.docs({"b"})] == [("b", "x"), ("b", "y")]
    doc = next(iter(merged.docs({"a"})))
    assert doc.item.definition["description"] == "alpha"


def test_a_word_is_no_rarer_for_being_in_one_server_many_times() -> None:
    merged = MergedIndex()
    merged.put(segment("many", {f"t{n}": "alpha" for n in range(30)}))
    merged.put(segment("few", {"one": "beta"}))
    for n in range(20):
        merged.put(segment(f"s{n}", {"t": "gamma"}))
    assert merged.rarity("beta") > merged.rarity("alpha") > 0
    assert merged.rarity("alpha") > merged.rarity("gamma")
    assert merged.rarity("nowhere") == 0


def test_servers_that_are_not_searched_have_no_say_in_what_a_word_is_worth() -> None:
    mine = {
        "mail": {"alpha": "alpha beta", "beta": "gamma alpha"},
        "git": {"delta": "alpha gamma"},
    }
    theirs = {f"s{n}": {"gamma": "gamma beta", "beta": ""} for n in range(9)}
    alone, together = MergedIndex(), MergedIndex()
    for server, tools in {**mine, **theirs}.items():
        together.put(segment(server, tools))
        if server in mine:
            alone.put(segment(server, tools))
    for query in ("alpha beta", "gamma alpha. then delta beta", "gamma", "邮件"):
        question = LEXICON.question(query)
        found = together.scores(question, [*mine, "gone"])
        assert {doc.tool: score for doc, score in found.items()} == scores(alone, query)


@given(changes, texts, st.none() | st.sets(st.sampled_from(("one", "two", "three"))))
def test_a_large_server_is_found_as_a_small_one_is(
    steps: list[tuple[str, dict[str, str] | None]], query: str, servers: set[str] | None
) -> None:
    question = LEXICON.question(query)
    for least in (0, 6):  # words of all servers, or of some, are not entered one by one
        small, large = MergedIndex(), MergedIndex()
        for server, tools in steps:
            found: list[dict[tuple[str, str], float]] = []
            for index, bound in ((small, 2_000), (large, least)):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(merged_index, "_LARGE", bound)
                    if tools is None:
                        index.drop(server)
                    else:
                        index.put(segment(server, tools))
                scores = index.scores(question, servers)
                found.append({doc.tool: score for doc, score in scores.items()})
            assert found[0] == found[1]
            assert small.servers() == large.servers()
        if least == 0:
            assert not large._terms
