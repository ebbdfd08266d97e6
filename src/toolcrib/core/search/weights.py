"""What a word is worth by where it stands: the constants of BM25F.

After Robertson, Zaragoza and Taylor ("Simple BM25 Extension to Multiple Weighted Fields", 2004),
with one deviation: lengths are compared with fixed usual lengths, not with the average of whatever
is indexed. So what a term is worth in a tool depends on that tool and its server alone: it is
worked out once, and no server can shift the scores of another's tools by adding long texts. The
figures were set by hand over development queries: a search on one half gained nothing on the other.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Weight:
    """How one field counts."""

    worth: float
    """What one occurrence is worth in a field of the usual length."""
    usual: float
    """Terms that such a field usually has."""
    length: float
    """How much longer texts are marked down: 0 not at all, 1 in proportion."""
    most: int
    """Terms of it that are indexed; keyword lists end here."""


NAME: Final = Weight(3.0, usual=3, length=0.8, most=40)
TITLE: Final = Weight(2.0, usual=3, length=0.7, most=40)
DESCRIPTION: Final = Weight(1.0, usual=14, length=0.7, most=300)
UNITED: Final = Weight(3.0, usual=3, length=0.0, most=20)
"""Neighbouring words of the name as one, and those of its server's names."""
LEAD: Final = Weight(0.5, usual=10, length=0.7, most=60)
"""The first sentence of the description, once more."""
PARAMETERS: Final = Weight(0.7, usual=5, length=0.4, most=200)
EXPLANATIONS: Final = Weight(0.3, usual=25, length=0.7, most=300)
CHOICES: Final = Weight(0.7, usual=6, length=0.7, most=200)
SERVER: Final = Weight(3.0, usual=2, length=0.7, most=20)
SERVER_TITLE: Final = Weight(3.0, usual=3, length=0.7, most=20)
SERVER_DESCRIPTION: Final = Weight(0.7, usual=15, length=0.7, most=200)

SATURATION: Final = 1.5
"""k1: how soon more of the same adds nothing."""
SERVER_SHARE: Final = 0.5
"""How much of a term's rarity is counted in servers, the rest in tools: fifty tools of one server
make a word no more common than one other server does."""
PHRASE: Final = 0.4
"""What two terms side by side add, beside what each of them is worth."""
NAME_COVER: Final = 0.7
"""By how much a score grows when the query says the whole name."""
COVERED_BY_LIKENESS: Final = 0.3
"""What a word of a tool's name counts there that the query says by a synonym."""
NEIGHBOURS: Final = 0.3
"""How much of the mean of its server's three best tools a tool gets on top."""
PARTS_WORTH: Final = 0.4
"""What fitting one step of a query as well as any tool does is worth, as a share of the best score
for the whole query."""
