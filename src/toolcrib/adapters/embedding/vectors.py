"""Vectors side by side in few matrices, compared with a query in few products."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from toolcrib.core.search.fusion import GROUP_PULL, NAME_PULL, PARTS_SHARE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Matrix: TypeAlias = NDArray[np.float32]

_SPARE: Final = 1.25
"""How much larger than needed the matrix is made, so that not every new group moves all rows."""
_LARGE: Final = 1_000
"""Rows of a group that has a matrix of its own, so that none of it is copied into another one."""
_LARGEST: Final = 1.5
"""Of the numbers of a vector of length 1, with room for rounding."""


class NumpyVectors:
    """Implements `VectorIndex` by comparing with every row: exact, and quick to 50,000 rows.

    Small groups lie in one matrix in the order in which they came; the place of one that is dropped
    or changes its size is closed up when a larger matrix is made, and holds zeros until then. No
    row of it is ever another group's, so a comparison that goes on in a thread meanwhile is wrong
    of that group alone.

    Args:
        dimensions: Numbers of one vector.
    """

    def __init__(self, dimensions: int) -> None:
        import numpy as np  # noqa: PLC0415 - of an extra

        self._np = np
        self._dimensions = dimensions
        self._rows: _Matrix = np.zeros((0, dimensions), np.float32)
        self._used = 0
        self._places: dict[str, slice] = {}
        self._large: dict[str, _Matrix] = {}

    def prepared(
        self, group: str, rows: Sequence[bytes], names: Sequence[bytes] = ()
    ) -> Callable[[], None]:
        """Works out what is compared, on any thread; the answer puts it in the group's place.

        With `names`, one for each row, a row is pulled a little to its name, and to the middle of
        its group (see `core.search.fusion`).
        """
        block = self._block(rows)
        if len(rows):
            block += GROUP_PULL * block.mean(axis=0)
            if names:
                block += NAME_PULL * self._block(names)
            # Rows that cancel out stay zero, and are like nothing.
            block /= self._np.maximum(self._np.linalg.norm(block, axis=1, keepdims=True), 1e-9)
        return partial(self._put, group, block)

    def drop(self, group: str) -> None:
        """Forget a group; one that is not there is no error."""
        self._large.pop(group, None)
        place = self._places.pop(group, None)
        if place is not None:
            self._rows[place] = 0

    def comparison(
        self, query: bytes, parts: Sequence[bytes] = ()
    ) -> Callable[[], Mapping[str, list[float]]]:
        """Tells on any thread how alike the query and each vector that is there now are.

        By group, in the order they were given. With `parts`, the vectors of its sentences, half of
        it is how alike the best of them is.
        """
        asked = self._block([query, *parts])
        return partial(
            self._alike, asked, self._rows[: self._used], dict(self._places), dict(self._large)
        )

    def _alike(
        self,
        asked: "_Matrix",
        rows: "_Matrix",
        places: Mapping[str, slice],
        large: Mapping[str, "_Matrix"],
    ) -> Mapping[str, list[float]]:
        numbers = _cosines(rows, asked)
        found = {group: numbers[place] for group, place in places.items()}
        return found | {group: _cosines(matrix, asked) for group, matrix in large.items()}

    def _put(self, group: str, block: "_Matrix") -> None:
        if len(block) >= _LARGE:
            self.drop(group)
            self._large[group] = block
            return
        place = self._places.get(group)
        if place is None or place.stop - place.start != len(block):
            self.drop(group)
            place = self._room(len(block))
            self._places[group] = place
        self._rows[place] = block

    def _block(self, rows: Sequence[bytes]) -> "_Matrix":
        flat = self._np.frombuffer(b"".join(rows), dtype="<f4").astype(self._np.float32)
        block = flat.reshape(len(rows), self._dimensions)
        # What is no vector is like nothing, and takes no part in the middle of its group. Vectors
        # have length 1: larger numbers are no vector's, and would drown everything else.
        block[~(self._np.abs(block) <= _LARGEST).all(axis=1)] = 0
        return block

    def _room(self, count: int) -> slice:
        if self._used + count > len(self._rows):
            self._grow(count)
        place = slice(self._used, self._used + count)
        self._used += count
        return place

    def _grow(self, count: int) -> None:
        held = sum(place.stop - place.start for place in self._places.values())
        rows = self._np.zeros((int((held + count) * _SPARE), self._dimensions), self._np.float32)
        used = 0
        for group, place in self._places.items():
            moved = slice(used, used + place.stop - place.start)
            rows[moved] = self._rows[place]
            self._places[group] = moved
            used = moved.stop
        self._rows, self._used = rows, used


def _cosines(rows: "_Matrix", asked: "_Matrix") -> list[float]:
    """Of each row with what was asked: the whole, and its parts, if there are any."""
    if len(asked) == 1:
        alike = rows @ asked[0]
    else:
        product = rows @ asked.T
        alike = (1 - PARTS_SHARE) * product[:, 0] + PARTS_SHARE * product[:, 1:].max(axis=1)
    numbers: list[float] = alike.tolist()
    return numbers
