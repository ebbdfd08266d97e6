"""What a model is shown at the start: decided by what definitions cost, and without to and fro.

`auto` shows all definitions as long as they cost less than a share of the context window. From the
share on it shows less, and shows all of them again only below two thirds of it: catalogs that grow
and shrink a little never change what is shown in the middle of a conversation.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import translate
from typing import Literal

Shown = Literal["full", "search", "code"]
"""An exposure that was decided."""

Wanted = Literal["auto", "full", "search", "code"]
"""An exposure as it is configured."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Where `auto` changes over."""

    window: int
    """Tokens of the context window."""
    share: float
    """The part of it from which on less is shown."""
    above: Literal["search", "code"] = "search"
    """What is shown from there on."""

    @property
    def up(self) -> int:
        """Tokens from which on less than everything is shown; at least 1."""
        return max(1, math.ceil(self.window * self.share))

    @property
    def down(self) -> int:
        """Tokens below which everything is shown again: two thirds of `up`."""
        return -(-2 * self.up // 3)

    def open_between(self, tokens: int, *, complete: bool) -> bool:
        """Whether what was shown before has a say, or the tokens alone decide."""
        return tokens < self.up and not (complete and tokens < self.down)


def decide(
    wanted: Wanted,
    threshold: Threshold,
    tokens: int,
    *,
    previous: Shown | None = None,
    complete: bool = True,
) -> Shown:
    """What is to be shown.

    Args:
        wanted: As configured; anything but `auto` is the answer.
        threshold: Where `auto` changes over.
        tokens: What all definitions that could be shown cost; from `threshold.up` on it does not
            matter how much more.
        previous: What was decided last; None: nothing yet.
        complete: Whether every catalog was counted. While one is missing, what is shown less of
            stays so: a server that comes back late changes nothing.
    """
    if wanted != "auto":
        return wanted
    if tokens >= threshold.up:
        return threshold.above
    held = threshold.open_between(tokens, complete=complete) and previous not in {None, "full"}
    return threshold.above if held else "full"


@dataclass(frozen=True, slots=True)
class Pinned:
    """Tools that stay visible, and those that were meant to and do not."""

    names: tuple[str, ...] = ()
    """Exposed names, in the order of the listing."""
    tokens: int = 0
    """What they cost together."""
    beyond: tuple[str, ...] = ()
    """Names that were chosen and did not fit into the budget, in that order."""
    unmatched: tuple[str, ...] = ()
    """Patterns that chose nothing."""


def pin(
    patterns: Collection[str], names: Iterable[str], cost: Callable[[str], int], budget: int
) -> Pinned:
    """The tools that patterns choose, as far as the budget goes.

    They are taken in the order of `names`. One that does not fit any more is passed over, and
    smaller ones after it may still fit.

    Args:
        patterns: Names, or shell patterns over them (`*`, `?`, `[...]`); case matters.
        names: Exposed names, in the order of the listing.
        cost: The tokens of one of them; asked only for names that were chosen.
        budget: Tokens of all of them together.
    """
    exact = set(patterns)
    shells = {it: re.compile(translate(it)) for it in exact if any(c in it for c in "*?[")}
    taken: list[str] = []
    beyond: list[str] = []
    idle = dict.fromkeys(patterns)
    tokens = 0
    for name in names if exact else ():
        matching = [pattern for pattern, shell in shells.items() if shell.match(name)]
        if name in exact:
            matching.append(name)
        if not matching:
            continue
        for pattern in matching:
            idle.pop(pattern, None)
        price = cost(name)
        if tokens + price > budget:
            beyond.append(name)
        else:
            taken.append(name)
            tokens += price
    return Pinned(tuple(taken), tokens, tuple(beyond), tuple(idle))
