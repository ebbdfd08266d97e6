"""Texts as the terms that are indexed, and queries as weighted terms."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Final

from toolcrib.core.search.sentences import sentences_of
from toolcrib.core.search.short_names import short_names
from toolcrib.core.search.stop_words import CHATTER, STOP_WORDS
from toolcrib.core.search.synonyms import synonyms
from toolcrib.core.search.words import words

_CHARACTERS: Final = 8_000
"""Of one text of a tool; what comes later is not indexed."""
LONGEST_QUERY: Final = 1_000
"""Characters of a query that are looked at."""
_MOST_ASKED: Final = 64
"""Different terms of a query that are looked up, the first ones."""
_LIKENESS: Final = 0.3
"""What a synonym counts beside the word that was written."""
_SHORTENED: Final = 0.5
"""What another name of the same thing counts beside the one that was written."""
_SPELLED: Final = 0.3
"""What a word counts that was written as two."""
_REPEATED: Final = 1.0
"""How soon saying a word again adds nothing: twice counts 1.33, often counts 2."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a query asks for, in terms."""

    written: frozenset[str]
    """The terms that were written."""
    weights: tuple[tuple[str, float], ...]
    """They and what means the same, with weights; in the order written, synonyms behind."""
    said: frozenset[str]
    """Those that a tool's name may be said by: with them what is chatter elsewhere, `show`."""
    pairs: tuple[tuple[str, str], ...]
    """Terms that stand side by side, chatter apart; each pair once."""
    parts: tuple["Question", ...] = ()
    """The steps or sentences, where it has several; they have no parts."""


def pair(one: str, other: str) -> str:
    """Two terms that stand side by side, as one."""
    return f"{one} {other}"


def united(term: str) -> str:
    """A word that stands in a name as two, apart from the word as it is: no word has a plus."""
    return f"+{term}"


Terms = Callable[[str, int], list[str]]
"""The first terms of a text, at most so many."""


class Lexicon:
    """Turns text into terms, the same way for tools and for queries."""

    def __init__(self, stem: Callable[[str], str]) -> None:
        """Take the stemmer.

        Args:
            stem: The stem of a word in lower case; pure. `str` leaves words as they are.
        """
        self._stem = stem

    @cached_property
    def _alike(self) -> Mapping[str, tuple[str, ...]]:
        """Made with the first question: where nobody searches, no stems are needed."""
        return synonyms(self._stem)

    @cached_property
    def _shortened(self) -> Mapping[str, tuple[str, ...]]:
        return short_names(self._stem)

    def groups(self, table: str) -> Mapping[str, tuple[str, ...]]:
        """By term: the others of its groups in a table of words that mean about the same."""
        return synonyms(self._stem, table)

    def terms(self, text: str, most: int) -> list[str]:
        """The first terms of a text of a tool, in their order, at most so many."""
        said = (word for word in words(text[:_CHARACTERS]) if word not in STOP_WORDS)
        return [self._stem(word) for word in islice(said, most)]

    def united(self, name: str, most: int) -> list[str]:
        """The neighbouring words of a name as one each: `powerpoint` for `power_point`."""
        return [united(term) for term in islice(self._joined(words(name[:_CHARACTERS])), most)]

    def bounded(self, most: int) -> "Terms":
        """The same function for texts that belong together; new words count up to a bound.

        Words that come after it are passed over where they were not met before.
        """
        known: dict[str, str] = {}

        def terms(text: str, first: int) -> list[str]:
            said = (word for word in words(text[:_CHARACTERS]) if word not in STOP_WORDS)
            found: list[str] = []
            for word in islice(said, first):
                term = known.get(word)
                if term is None and len(known) < most:
                    term = known[word] = self._stem(word)
                if term is not None:
                    found.append(term)
            return found

        return terms

    def question(self, query: str) -> Question:
        """A query in any language, or none: then the question has no terms."""
        query = query[:LONGEST_QUERY]
        return self._asked(query, tuple(map(self._asked, sentences_of(query))))

    def _asked(self, text: str, parts: tuple[Question, ...] = ()) -> Question:
        spoken = list(words(text))
        told = [(self._stem(word), word) for word in spoken if word not in STOP_WORDS]
        named = [term for term, _ in told]
        # Where all is chatter, that is what is meant.
        said = [term for term, word in told if word not in CHATTER] or named
        times = Counter(said)
        weights = {
            term: count * (_REPEATED + 1) / (count + _REPEATED)
            for term, count in islice(times.items(), _MOST_ASKED)
        }
        written = frozenset(weights)
        joined = tuple(dict.fromkeys(islice(self._joined(spoken), _MOST_ASKED)))
        also = chain(self._meant(weights), self._spelled(weights, joined))
        others = dict[str, float]()
        for term, weight in also:
            if term not in written:
                others[term] = max(others.get(term, 0.0), weight)
        pairs = tuple(dict.fromkeys(pairwise(said)))[:_MOST_ASKED]
        weighed = (*weights.items(), *others.items())
        return Question(written, weighed, written.union(named), pairs, parts)

    def _meant(self, weights: Mapping[str, float]) -> Iterator[tuple[str, float]]:
        """What means about the same as the written terms."""
        for term, weight in weights.items():
            for other in self._alike.get(term, ()):
                yield other, _LIKENESS * weight

    def _spelled(
        self, weights: Mapping[str, float], joined: Iterable[str]
    ) -> Iterator[tuple[str, float]]:
        """How else the written terms, and those that were written as two, may stand in a name."""
        for term in joined:
            yield term, _SPELLED
        for term in chain(weights, joined):
            for other in self._shortened.get(term, ()):
                yield other, _SHORTENED
                yield united(other), _SHORTENED
        for term, weight in weights.items():
            yield united(term), weight

    def _joined(self, spoken: Iterable[str]) -> Iterator[str]:
        """Each two neighbouring words of Latin letters as one term."""
        for one, other in pairwise(spoken):
            if min(len(one), len(other)) > 1 and (both := one + other).isascii() and both.isalpha():
                yield self._stem(both)
