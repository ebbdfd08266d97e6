"""What definitions cost a model in tokens.

Counted is a definition as a provider would be sent it: name, description and input schema, as
compact JSON, whole. So a long enumeration counts in full, although providers' copies may tell it
in words: hosts behind the gateway get it as declared. What providers put around definitions
themselves is not counted; it is a few tokens each.
"""

import re
from collections import OrderedDict
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from toolcrib.core.canonical import canonical
from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Item
from toolcrib.ports import TokenCounter

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORDS: Final = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_DIGITS: Final = re.compile("[0-9]{1,3}")
_SIGNS: Final = re.compile("[!-/:-@[-`{-~]+")
_IDEOGRAPHS: Final = re.compile(f"[{_CJK}]")
_OTHERS: Final = re.compile(f"[^\\x00-\\x7f{_CJK}]")

_LONG: Final = 6
"""Letters of a word that one token nearly always holds."""

_KEPT: Final = 50_000
"""Counts that are remembered."""


class HeuristicCounter:
    """Estimates o200k tokens from words, digits, signs and other characters, counted apart.

    Fitted to 22,000 definitions of public servers. Against exact counts the sum of a catalog is
    within 4 %, and 95 of 100 single definitions are within 13 %; characters divided by 3.8, the
    usual estimate, are 11 to 25 % off in the sum and up to 43 % in single ones, because schemas
    are dense with signs.
    """

    name = "words"
    exact = False

    def count(self, text: str) -> int:
        """The estimate; 0 for the empty text."""
        words = _WORDS.findall(text)
        tail = sum(len(word) - _LONG for word in words if len(word) > _LONG)
        runs = _SIGNS.findall(text)
        tokens = (
            len(words)
            + tail / 15
            + 1.45 * len(_DIGITS.findall(text))
            + 0.6 * len(runs)
            + 0.16 * sum(map(len, runs))
        )
        if not text.isascii():
            tokens += len(_IDEOGRAPHS.findall(text)) / 1.5 + 0.6 * len(_OTHERS.findall(text))
        return max(round(tokens), 1) if text else 0


class FactoredCounter:
    """Counts for model families whose tokens cannot be counted offline: another count, scaled."""

    exact = False

    def __init__(self, counter: TokenCounter, factor: float) -> None:
        """Multiply by `factor` (`ExposureSettings.token_factor`), which must be above 0."""
        if not factor > 0:
            raise ValueError(f"a token factor of {factor} counts nothing; use one above 0")
        self._counter = counter
        self._factor = factor

    @property
    def name(self) -> str:
        """The count that is scaled, and by how much."""
        return f"{self._counter.name} x {self._factor:g}"

    def count(self, text: str) -> int:
        """The scaled count, rounded up."""
        return ceil(self._counter.count(text) * self._factor)


def counted_text(name: str, definition: Mapping[str, Any]) -> str:
    """What is counted of a definition that is exposed under a name."""
    sent: dict[str, Any] = {"name": name}
    if isinstance(words := definition.get("description"), str):
        sent["description"] = words
    schema = definition.get("inputSchema")
    sent["input_schema"] = schema if is_object(schema) else {"type": "object", "properties": {}}
    return canonical(sent).decode()


class Costs:
    """The tokens of definitions, each counted once; a bounded number of counts is remembered."""

    def __init__(self, counter: TokenCounter, most_kept: int = _KEPT) -> None:
        self.counter = counter
        self._most = most_kept
        self._kept: OrderedDict[tuple[str, str], int] = OrderedDict()

    def of(self, name: str, item: Item) -> int:
        """The tokens of a tool under its exposed name."""
        key = name, item.fingerprint
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = self.of_definition(item.definition, name)
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return known

    def of_definition(self, definition: Mapping[str, Any], name: str = "") -> int:
        """The tokens of a definition, such as that of a meta-tool; nothing is remembered."""
        return self.counter.count(counted_text(name or str(definition.get("name")), definition))
