"""Reading what a small model answered: asked for a list of numbers, it writes what it likes.

An array of JSON is looked for first, fenced or not; then names of candidates in the text; then
numbers in it. What is no candidate is dropped and counted.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolcrib.core.jsontypes import JsonArray, is_array, is_integer, is_object

__all__ = ["Answer", "read_answer"]

_MOST_TEXT: Final = 16_384
"""Characters that are looked at, from the end: conclusions stand there."""
_MOST_ARRAYS: Final = 100
_MOST_CHOICES: Final = 100
_THOUGHT: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
"""Some servers leave what a model thought before its answer."""
_NUMBER: Final = re.compile(r"(?<![\w.-])\d{1,4}(?![\w-]|\.\d)")
_NUMBERED: Final = re.compile(r"#?\s*(\d{1,4})\s*(?:[.:)\]-]|$)")
"""`3`, `#3`, `3. name`."""
_MEMBERS: Final = ("number", "index", "id", "tool", "name")
"""Under which an object holds its choice."""
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model chose."""

    chosen: tuple[int, ...] = ()
    """Positions of candidates, counted from 0, each once."""
    invented: int = 0
    """Choices that are no candidates."""
    readable: bool = True
    """Whether it answered at all; nothing chosen may be an answer, too."""


def read_answer(text: str, names: Sequence[str]) -> Answer:
    """What a text chooses among candidates of these names, which were numbered from 1."""
    told = _THOUGHT.split(text[-_MOST_TEXT:])[-1]
    known = _Names(names)
    arrays = list(_arrays(told))
    if arrays:
        return _chosen([known.position(choice) for choice in _last_word(arrays)])
    spoken = known.spoken(told)
    if spoken:
        return _chosen(list(spoken))
    numbers = [known.numbered(int(found)) for found in _NUMBER.findall(told)[:_MOST_CHOICES]]
    if any(number is not None for number in numbers):
        return _chosen(numbers)
    return Answer(invented=len(numbers), readable=False)


def _chosen(positions: list[int | None]) -> Answer:
    """The answer; where all of several choices are invented, nothing was understood."""
    real = tuple(dict.fromkeys(position for position in positions if position is not None))
    invented = positions.count(None)
    return Answer(real, invented, readable=bool(real) or not invented)


def _last_word(arrays: list[JsonArray]) -> JsonArray:
    """The array that counts: the last with choices; where each holds one, all of them together."""
    filled = [array for array in arrays if array]
    if len(filled) > 1 and all(len(array) == 1 for array in filled):
        return [array[0] for array in filled][:_MOST_CHOICES]
    return filled[-1][:_MOST_CHOICES] if filled else []


def _arrays(text: str) -> Iterator[JsonArray]:
    """Every JSON array in a text, but for those inside of others."""
    start = 0
    for _ in range(_MOST_ARRAYS):
        start = text.find("[", start)
        if start < 0:
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            start += 1
            continue
        start = end
        if is_array(value):
            yield value


class _Names:
    """Finds candidates by what a model calls them."""

    def __init__(self, names: Sequence[str]) -> None:
        self._count = len(names)
        self._exact = {name: position for position, name in reversed(list(enumerate(names)))}
        self._folded = {
            name.casefold(): position for position, name in reversed(list(enumerate(names)))
        }

    def numbered(self, number: int) -> int | None:
        return number - 1 if 1 <= number <= self._count else None

    def position(self, choice: object) -> int | None:
        """The candidate that an element of an array means; None for an invented one."""
        if is_object(choice):
            choice = next((choice[member] for member in _MEMBERS if member in choice), None)
        if is_integer(choice):
            return self.numbered(int(choice))
        if not isinstance(choice, str):
            return None
        word = choice.strip().strip("`'\"")
        found = self._exact.get(word, self._folded.get(word.casefold()))
        if found is not None:
            return found
        number = _NUMBERED.match(word)
        return self.numbered(int(number[1])) if number else None

    def spoken(self, text: str) -> tuple[int, ...]:
        """The candidates whose names stand in a text, in the order in which they first do.

        A plain name may be an ordinary word: only those count that have a `_`, `-` or `.` inside.
        """
        places: dict[int, int] = {}
        for name, position in self._exact.items():
            if re.search(r"\w[_.-]+\w", name) is None:
                continue
            found = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)
            if found:
                places[position] = found.start()
        return tuple(sorted(places, key=places.__getitem__))
