"""Words and meaning become one order, whatever is known of either."""

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search.fusion import LEAST_COSINE, MEANING_WEIGHT, fused, near
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.segment import Doc, Segment
from toolcrib.core.snapshot import Item, Kind, Snapshot


def docs(server: str, *names: str) -> tuple[Doc, ...]:
    items = tuple(Item(name, {"name": name}, name, name) for name in names)
    return Segment.build(server, Snapshot(Kind.TOOLS, items, ""), Lexicon(str)).docs


DOCS = docs("a", "x", "y", "z") + docs("b", "x", "y", "z")
A, B, C, D, *_ = DOCS
SCORES = st.dictionaries(st.sampled_from(DOCS), st.floats(0.01, 60))
COSINES = st.dictionaries(st.sampled_from(DOCS), st.floats(-1, 1))


def order(scores: dict[Doc, float]) -> list[Doc]:
    return sorted(scores, key=lambda tool: (-scores[tool], tool.tool))


def test_words_and_meaning_add_up() -> None:
    scores = fused({A: 12.0, B: 10.0, C: 30.0}, {A: 0.5, B: 0.6, C: 0.1, D: 0.4})
    assert order(scores) == [B, A, C, D]
    assert scores[B] == 10.0 + MEANING_WEIGHT * 0.6


@given(SCORES)
def test_without_vectors_the_order_is_that_of_the_words(words: dict[Doc, float]) -> None:
    assert order(fused(words, {})) == order(words)


def test_a_tool_without_a_vector_stands_before_all_that_share_less_with_the_query() -> None:
    words = {A: 30.0, B: 20.0, C: 10.0}
    assert order(fused(words, {A: 0.3, C: 0.9})) == [B, C, A]
    assert order(fused(words, {B: 0.3, C: 0.2})) == [A, B, C]
    assert order(fused(words, {A: 0.3, B: 0.2})) == [A, B, C], "and not before those with more"
    equal = fused({A: 5.0, B: 5.0}, {A: 0.5})
    assert equal[A] == equal[B], "nor behind one that shares as much"
    assert order(fused({B: 5.0}, {A: 0.9})) == [A, B], "what shares no word is no measure"


@given(SCORES, COSINES)
def test_lacking_a_vector_never_puts_a_tool_behind_one_that_shares_less(
    words: dict[Doc, float], meaning: dict[Doc, float]
) -> None:
    scores = fused(words, meaning)
    for tool in words.keys() - meaning.keys():
        for other, score in words.items():
            if score <= words[tool]:
                assert scores[tool] >= scores[other]


@given(SCORES, COSINES)
def test_lacking_a_vector_never_puts_a_tool_behind_one_that_is_hardly_alike(
    words: dict[Doc, float], meaning: dict[Doc, float]
) -> None:
    scores = fused(words, meaning)
    for tool in words.keys() - meaning.keys():
        assert scores[tool] >= words[tool] + MEANING_WEIGHT * LEAST_COSINE
    # One rare word of a description, beside a tool that shares nothing and is a little alike.
    assert order(fused({A: 10.9}, {B: 0.168})) == [A, B]


def test_likeness_that_is_noise_finds_nothing_by_itself() -> None:
    noise, telling = LEAST_COSINE - 0.01, LEAST_COSINE
    assert fused({}, {A: noise, B: -0.3}) == near({A: noise, B: -0.3}) == {}
    assert fused({B: 1.0}, {A: telling, B: -0.3, C: noise}).keys() == {A, B}
    assert near({A: telling, B: -0.3, C: noise}) == {A: telling}


@given(SCORES, COSINES)
def test_whatever_shares_a_word_is_found_and_no_score_is_negative(
    words: dict[Doc, float], meaning: dict[Doc, float]
) -> None:
    scores = fused(words, meaning)
    assert words.keys() <= scores.keys() <= words.keys() | meaning.keys()
    assert all(score >= words.get(tool, 0.0) for tool, score in scores.items())


@given(SCORES, COSINES, st.sampled_from(DOCS))
def test_more_of_either_never_makes_a_tool_worse(
    words: dict[Doc, float], meaning: dict[Doc, float], tool: Doc
) -> None:
    before = fused(words, meaning).get(tool, 0.0)
    assert fused({**words, tool: words.get(tool, 0.0) + 1}, meaning)[tool] > before
    if tool in meaning:
        nearer = {**meaning, tool: meaning[tool] + 0.1}
        assert fused(words, nearer).get(tool, 0.0) >= before


@given(SCORES, COSINES, st.sampled_from(DOCS))
def test_where_all_have_vectors_no_tool_changes_the_score_of_another(
    words: dict[Doc, float], meaning: dict[Doc, float], tool: Doc
) -> None:
    """So a catalog may grow without moving what was found before."""
    meaning = {**dict.fromkeys(words, 0.1), **meaning}
    without = fused(
        {one: score for one, score in words.items() if one is not tool},
        {one: cosine for one, cosine in meaning.items() if one is not tool},
    )
    scores = fused(words, meaning)
    assert without == {one: score for one, score in scores.items() if one is not tool}
