"""Passing over tools that cannot be among the best changes nothing of what is found."""

# pyright: reportPrivateUsage=false
# When something is passed over shows from inside only.

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.search import merged as merged_index
from toolcrib.core.search import scoring, sums
from toolcrib.core.search.diversity import ranked
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.merged import MergedIndex
from toolcrib.core.search.segment import Doc, Posting, Segment
from toolcrib.core.search.sums import Walk, added_up, best_added_up
from toolcrib.testing.store_rig import item_of, snapshot_of

LEXICON = Lexicon(str)
DOCS = tuple(
    Doc("s", item_of({"name": f"t{number}"}), (f"t{number}",), frozenset()) for number in range(24)
)
impacts = st.integers(0, 1024).map(lambda steps: steps / 1024)
postings = st.dictionaries(st.sampled_from(DOCS), impacts, min_size=1).map(
    lambda found: Posting(tuple(found), tuple(found.values()))
)
factors = st.one_of(st.floats(1e-3, 20), st.floats(1e-3, 0.1), st.sampled_from((0.5, 4.0, 16.0)))
walked = st.lists(st.tuples(factors, postings), min_size=1, max_size=12).map(
    lambda walks: sorted(walks, key=lambda walk: -walk[0])
)


@contextmanager
def eager(looked_at: int = scoring.LOOKED_AT) -> Generator[list[int]]:
    """Tools are passed over as soon as that is right, however few there are.

    The answer: how many were left each time.
    """
    left: list[int] = []
    finished = sums._finished

    def counted(*given: object, finish: Callable[..., dict[Doc, float]] = finished) -> object:
        found = finish(*given)
        left.append(len(found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_LATE", 1.0)
        patch.setattr(sums, "_MANY", 0)
        patch.setattr(sums, "_FEW_LEFT", 1.0)
        patch.setattr(sums, "_finished", counted)
        patch.setattr(scoring, "LOOKED_AT", looked_at)
        patch.setattr(merged_index, "LOOKED_AT", looked_at)
        yield left


@given(
    walked,
    st.integers(1, 8),
    st.integers(1, 8),
    st.sets(st.sampled_from(DOCS), max_size=3),
)
def test_every_tool_that_matters_has_its_sum_to_the_last_bit(
    walks: list[Walk], first: int, half_of: int, wanted: set[Doc]
) -> None:
    every = added_up(walks)
    with eager():
        some = best_added_up(walks, first, half_of=half_of, wanted=wanted)
    assert {doc: every.get(doc, 0.0) for doc in some} == some
    in_order = sorted(every.values(), reverse=True)
    matters = {doc for doc, value in every.items() if value >= in_order[:first][-1]}
    matters |= {doc for doc, value in every.items() if value >= in_order[:half_of][-1] / 2}
    matters |= wanted & every.keys()
    assert matters <= some.keys()


def all_added_up(walks: Sequence[Walk], *_: object, **__: object) -> dict[Doc, float]:
    """Passes nothing over."""
    return added_up(walks)


VOCABULARY = ("alpha", "beta", "gamma", "delta", "epsilon", "alphaBeta", "and then beta gamma")
texts = st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join)
catalogs = st.lists(st.lists(st.tuples(texts, texts), max_size=8), min_size=1, max_size=5)
queries = st.lists(texts, min_size=1, max_size=3).map(". ".join)


@given(
    catalogs,
    queries,
    st.integers(1, 12),
    st.integers(1, 6),
    st.none() | st.sets(st.sampled_from(("s0", "s1", "s2"))),
)
def test_the_best_hits_and_their_scores_are_those_of_all_scores(
    servers: list[list[tuple[str, str]]],
    query: str,
    most: int,
    looked_at: int,
    only: set[str] | None,
) -> None:
    merged, numbers = MergedIndex(), count()
    for place, tools in enumerate(servers):
        items = [
            item_of({"name": f"{name} {next(numbers)}", "description": text})
            for name, text in tools
        ]
        merged.put(Segment.build(f"s{place}", snapshot_of(*items), LEXICON))
    question = LEXICON.question(query)
    with eager(looked_at), pytest.MonkeyPatch.context() as patch:
        patch.setattr(merged_index, "best_added_up", all_added_up)
        every = merged.scores(question, only)
    with eager(looked_at):
        some = merged.scores(question, only, most)
    assert ranked(some, most) == ranked(every, most)


def test_tools_that_share_only_what_all_have_are_passed_over() -> None:
    telling = Posting(DOCS[:4], (0.9, 0.8, 0.7, 0.6))
    common = Posting(DOCS, (0.5,) * len(DOCS))
    with eager() as left:
        found = best_added_up([(9.0, telling), (1.0, common)], 2, half_of=2)
    assert found.keys() == set(DOCS[:4])
    assert left == [4]
    assert found == {doc: added_up([(9.0, telling), (1.0, common)])[doc] for doc in found}


def test_few_places_are_simply_visited() -> None:
    telling = Posting(DOCS[:4], (0.9, 0.8, 0.7, 0.6))
    common = Posting(DOCS, (0.5,) * len(DOCS))
    assert best_added_up([(9.0, telling), (1.0, common)], 2, half_of=2).keys() == set(DOCS)
