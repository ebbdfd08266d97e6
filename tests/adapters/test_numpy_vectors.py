"""Vectors in one matrix give what comparing them one by one would."""

import math
import random
from array import array
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.adapters.embedding.vectors import NumpyVectors
from toolcrib.core.search.fusion import GROUP_PULL, NAME_PULL, PARTS_SHARE

SIZE = 8


def unit(seed: object) -> list[float]:
    drawn = random.Random(str(seed))  # noqa: S311 - numbers, no secrets
    numbers = [drawn.gauss(0, 1) for _ in range(SIZE)]
    return scaled(numbers)


def scaled(numbers: Sequence[float]) -> list[float]:
    length = math.hypot(*numbers) or 1.0
    return [number / length for number in numbers]


def row(numbers: Sequence[float]) -> bytes:
    return array("f", numbers).tobytes()


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def pulled(rows: Sequence[Sequence[float]], names: Sequence[Sequence[float]]) -> list[list[float]]:
    middle = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    named = names or [[0.0] * SIZE] * len(rows)
    return [
        scaled(
            [
                x + GROUP_PULL * m + NAME_PULL * n
                for x, m, n in zip(vector, middle, name, strict=True)
            ]
        )
        for vector, name in zip(rows, named, strict=True)
    ]


STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 5), st.booleans()), max_size=12
)


@given(STEPS)
def test_whatever_was_replaced_and_dropped_every_row_is_compared(
    steps: list[tuple[str, int | None, bool]],
) -> None:
    index = NumpyVectors(SIZE)
    expected: dict[str, list[list[float]]] = {}
    for number, (group, count, named) in enumerate(steps):
        if count is None:
            index.drop(group)
            expected.pop(group, None)
            continue
        rows = [unit((number, at)) for at in range(count)]
        names = [unit((number, at, "name")) for at in range(count)] if named else []
        index.prepared(group, [row(one) for one in rows], [row(one) for one in names])()
        expected[group] = pulled(rows, names) if rows else []
    query, parts = unit("query"), [unit("one"), unit("two")]
    plain = index.comparison(row(query))()
    mixed = index.comparison(row(query), [row(part) for part in parts])()
    assert plain.keys() == mixed.keys() == expected.keys()
    for group, vectors in expected.items():
        assert plain[group] == pytest.approx([dot(query, one) for one in vectors], abs=1e-5)
        assert mixed[group] == pytest.approx(
            [
                (1 - PARTS_SHARE) * dot(query, one)
                + PARTS_SHARE * max(dot(part, one) for part in parts)
                for one in vectors
            ],
            abs=1e-5,
        )


def test_a_row_alone_in_its_group_is_as_it_was_given() -> None:
    index = NumpyVectors(SIZE)
    vector = unit("x")
    index.prepared("g", [row(vector)])()
    assert index.comparison(row(vector))()["g"] == pytest.approx([1.0], abs=1e-6)


def test_rows_that_cancel_out_are_like_nothing() -> None:
    index = NumpyVectors(SIZE)
    vector = unit("x")
    index.prepared("g", [row([0.0] * SIZE)] * 2)()
    assert index.comparison(row(vector))() == {"g": [0.0, 0.0]}


def test_groups_that_change_their_size_for_ever_take_no_more_room() -> None:
    index = NumpyVectors(SIZE)
    for number in range(200):
        index.prepared("g", [row(unit(at)) for at in range(1 + number % 7)])()
        index.prepared("h", [row(unit(at)) for at in range(20)])()
    assert len(index._rows) < 60  # pyright: ignore[reportPrivateUsage] - what is not shown


def test_an_empty_index_answers_nothing() -> None:
    assert NumpyVectors(SIZE).comparison(row(unit("q")), [row(unit("p"))])() == {}


def test_a_vector_of_another_size_is_refused_and_nothing_changes() -> None:
    index = NumpyVectors(SIZE)
    index.prepared("g", [row(unit("x"))])()
    with pytest.raises(ValueError, match="reshape"):
        index.prepared("g", [b"1234"])()
    assert index.comparison(row(unit("x")))()["g"] == pytest.approx([1.0], abs=1e-6)
