"""What each step of the search brings: it is switched off with all that follow it, then on again.

    make bench BENCH=ladder ARGS=FOLDER

FOLDER holds data sets as `toolcrib bench search` takes them. Prints the tables of docs/search.md:
by words, by meaning, and both together, nDCG@10. Steps are switched off from outside, by other
constants and functions in the place of those of `toolcrib.core.search`; the last row of each table
is the search as it is. FastMCP comes first, unless `--alone`.
"""

import argparse
import re
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import anyio

from fastmcp_rankings import fastmcp_rankings
from rankings import SETS, mean_scores, read
from searched import Searched, searched
from toolcrib.adapters.embedding import vectors
from toolcrib.adapters.embedding.sentence_encoder import SentenceEncoder
from toolcrib.adapters.stemming import EnglishStemmer
from toolcrib.core.search import diversity, fitting, fusion, lexicon, rarity, scoring, segment
from toolcrib.core.search import weights as worth
from toolcrib.core.search import words as splitting
from toolcrib.core.search.fields import ToolTexts
from toolcrib.core.search.lexicon import Lexicon
from toolcrib.core.search.weights import Weight
from toolcrib.discovery.evaluation.ranking import Rankings, ranked
from toolcrib.discovery.evaluation.tasks import DataSet
from toolcrib.discovery.hits import Query
from toolcrib.discovery.semantic import hybrid
from toolcrib.settings import SearchMethod

PATIENCE = 120
"""Times that are tried until the model is loaded."""

Off = tuple[Any, str, Any]
"""Where a step is, what it is called there, and what stands in its place without it."""

_ONE_FIELD = Weight(1.0, usual=60, length=0.75, most=10_000)
_NONE = Weight(0.0, usual=1, length=0.0, most=10_000)
_PLAIN = Weight(1.0, usual=1, length=0.0, most=10_000)


_WHOLE = re.compile(r"([\u3005-\u9fff\uac00-\ud7af]+)|([^\W\u3005-\u9fff\uac00-\ud7af]+)")
"""Words with their underscores and digits."""


def _as_one(texts: ToolTexts) -> Iterator[tuple[Weight, str]]:
    """All texts of a tool in one field; name and description apart are for the steps after it."""
    yield _NONE, texts.name
    yield _NONE, texts.description
    every = (texts.name, texts.title, texts.description, texts.parameters, texts.explanations)
    yield _ONE_FIELD, "\n".join(every)


def lowered(run: str) -> Iterator[str]:
    """A run of letters as the word it is."""
    yield run.lower()


def whole(run: str) -> Iterator[str]:
    """A run of characters as one word."""
    yield run


def same(text: str) -> str:
    """A text as it is."""
    return text


def unstemmed(_: EnglishStemmer, word: str) -> str:
    """A word as it is."""
    return word


def nothing(*_: object) -> tuple[str, ...]:
    """No words, no sentences, no names."""
    return ()


def no_groups(*_: object) -> Mapping[str, tuple[str, ...]]:
    """No word means the same as another one."""
    return {}


@dataclass(frozen=True, slots=True)
class Step:
    """One row."""

    name: str
    off: tuple[Off, ...] = ()
    """What is in place of it in all rows above."""


BY_WORDS = (
    Step("BM25 over all texts, words as they are"),
    Step(
        "identifiers taken apart",
        ((splitting, "_pieces", lowered), (splitting, "_RUN", _WHOLE)),
    ),
    Step(
        "words that say nothing left out",
        ((lexicon, "STOP_WORDS", frozenset[str]()), (lexicon, "CHATTER", frozenset[str]())),
    ),
    Step("stems", ((EnglishStemmer, "__call__", unstemmed),)),
    Step("pairs of characters", ((splitting, "_overlapping", whole),)),
    Step(
        "fields with weight and length each (BM25F), listed values",
        (
            (segment, "_weighed", _as_one),
            (worth, "SERVER", _PLAIN),
            (worth, "SERVER_TITLE", _PLAIN),
            (worth, "SERVER_DESCRIPTION", _PLAIN),
        ),
    ),
    Step("a word that a query repeats adds less each time", ((lexicon, "_REPEATED", 1e9),)),
    Step("rarity half in servers", ((rarity, "SERVER_SHARE", 0.0),)),
    Step("first sentence once more", ((worth, "LEAD", _NONE),)),
    Step("a closer look at the best hundred: words side by side", ((scoring, "PHRASE", 0.0),)),
    Step("... the share of the name that the query says", ((scoring, "NAME_COVER", 0.0),)),
    Step("... the best tools of the server", ((scoring, "NEIGHBOURS", 0.0),)),
    Step("query by steps", ((lexicon, "sentences_of", nothing),)),
    Step("synonyms", ((lexicon, "synonyms", no_groups),)),
    Step("Chinese and English", ((splitting, "english_of", nothing),)),
    Step(
        "words of names together and apart, short names",
        (
            (Lexicon, "united", nothing),
            (Lexicon, "_spelled", nothing),
        ),
    ),
    Step(
        "room for other servers",
        ((diversity, "FURTHER", 1.0), (diversity, "COPY", 1.0)),
    ),
    Step("what hardly fits left out", ((fitting, "SHARE", 0.0),)),
)


def _ranks(k: int) -> Callable[..., Any]:
    """Reciprocal ranks (Cormack and others, 2009) in the place of the sum."""

    def fused(words: Mapping[Any, float], meaning: Mapping[Any, float]) -> dict[Any, float]:
        scores: dict[Any, float] = {}
        for found in (words, meaning):
            for rank, doc in enumerate(sorted(found, key=lambda it: -found[it]), 1):
                scores[doc] = scores.get(doc, 0.0) + 1 / (k + rank)
        return scores

    return fused


def _normalised(words: Mapping[Any, float], meaning: Mapping[Any, float]) -> dict[Any, float]:
    """Each measured in deviations from its mean over all tools, and added."""
    scores = dict.fromkeys(meaning, 0.0)
    for found in (words, meaning):
        every = [found.get(doc, 0.0) for doc in meaning]
        spread = statistics.pstdev(every) or 1.0
        middle = statistics.fmean(every)
        for doc in scores:
            scores[doc] += (found.get(doc, 0.0) - middle) / spread
    return scores


_FILES: Off = (hybrid, "asked", same)
_SENTENCES: Off = (hybrid, "sentences_of", nothing)
_NAMES: tuple[Off, ...] = ((vectors, "NAME_PULL", 0.0), (vectors, "GROUP_PULL", 0.0))
_ALL: tuple[Off, ...] = (_FILES, _SENTENCES, *_NAMES)


@dataclass(frozen=True, slots=True)
class Way:
    """One row of the table of meaning."""

    name: str
    method: SearchMethod
    off: tuple[Off, ...] = ()


BY_MEANING = (
    Way("words alone", "lexical"),
    Way("meaning alone, without the steps below", "semantic", _ALL),
    Way("meaning alone", "semantic"),
    Way("both by reciprocal ranks (k = 60)", "hybrid", (*_ALL, (hybrid, "fused", _ranks(60)))),
    Way("both by reciprocal ranks (k = 10)", "hybrid", (*_ALL, (hybrid, "fused", _ranks(10)))),
    Way(
        "both, each normalised by the other tools",
        "hybrid",
        (*_ALL, (hybrid, "fused", _normalised)),
    ),
    Way("both as they are, 75 times the cosine", "hybrid", _ALL),
    Way("half of each cosine from the best sentence", "hybrid", (_FILES, *_NAMES)),
    Way("the name and the middle of the server added", "hybrid", (_FILES,)),
    Way('"file" for paths and names of files', "hybrid"),
    Way("all of it, with 60 times the cosine", "hybrid", ((fusion, "MEANING_WEIGHT", 60.0),)),
    Way("all of it, with 90 times the cosine", "hybrid", ((fusion, "MEANING_WEIGHT", 90.0),)),
)


_embedded: dict[str, bytes] = {}
_embed = SentenceEncoder.embed


def remembered(self: SentenceEncoder, texts: Sequence[str]) -> list[bytes]:
    """The vectors of texts, each embedded once: the same queries are asked in every row."""
    missing = [text for text in dict.fromkeys(texts) if text not in _embedded]
    _embedded.update(zip(missing, _embed(self, missing), strict=True))
    return [_embedded[text] for text in texts]


@asynccontextmanager
async def without(
    off: Sequence[Off], known: DataSet, *, meaning: bool, kept: Path | None
) -> AsyncGenerator[Searched]:
    """The search over a set while some of its steps are switched off."""
    with ExitStack() as patched:
        for where, name, other in off:
            patched.enter_context(mock.patch.object(where, name, other))
        async with searched(known, meaning=meaning, vectors=kept) as over:
            yield over


async def warmed(over: Searched) -> None:
    """Waits until the model is loaded: on a busy machine that takes longer than a query waits."""
    for _ in range(PATIENCE):
        if (await over.ready.search.find(Query("ready", method="hybrid"))).method == "hybrid":
            return
        await anyio.sleep(1)
    raise TimeoutError("the model is not loaded")


async def row(
    name: str, sets: Sequence[DataSet], figure: Callable[[DataSet], Awaitable[Rankings]]
) -> None:
    """Prints one row."""
    means = [mean_scores(known, await figure(known)).ndcg_10 for known in sets]
    cells = [f"{mean:.3f}".removeprefix("0") for mean in (*means, statistics.fmean(means))]
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def head(sets: Sequence[DataSet]) -> None:
    """Prints the first two lines of a table."""
    print(f"\n| step | {' | '.join(f'`{known.name}`' for known in sets)} | mean |")
    print("|---|" + "---|" * (len(sets) + 1))


async def theirs(known: DataSet) -> Rankings:
    """What FastMCP answers."""
    found = fastmcp_rankings(known)
    return Rankings(found["name"], found["rankings"])


async def ours(
    known: DataSet, method: SearchMethod, off: Sequence[Off], kept: Path | None = None
) -> Rankings:
    """What we answer while some steps are switched off."""
    async with without(off, known, meaning=method != "lexical", kept=kept) as over:
        if method != "lexical":
            await warmed(over)
        found = await ranked(over.ready.search, known, method, time.perf_counter)
    assert found.name == method, found.notes
    return found


async def by_words(sets: Sequence[DataSet], *, beside: bool) -> None:
    """The table of the search by words."""
    head(sets)
    if beside:
        await row("FastMCP 4.2.3", sets, theirs)
    for place, step in enumerate(BY_WORDS, 1):
        off = [each for later in BY_WORDS[place:] for each in later.off]
        await row(step.name, sets, lambda known, off=off: ours(known, "lexical", off))


async def by_meaning(sets: Sequence[DataSet], kept: Path | None) -> None:
    """The table of meaning alone, and of both."""
    head(sets)
    with mock.patch.object(SentenceEncoder, "embed", remembered):
        for way in BY_MEANING:
            await row(way.name, sets, lambda known, way=way: ours(known, way.method, way.off, kept))


async def measure(options: argparse.Namespace) -> None:
    """The tables that are wanted."""
    sets = [read(options.folder, it) for it in SETS if (options.folder / it).is_dir()]
    if options.table in (None, "words"):
        await by_words(sets, beside=not options.alone)
    if options.table in (None, "meaning"):
        await by_meaning(sets, options.vectors)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alone", action="store_true", help="leave FastMCP out")
    parser.add_argument("--vectors", type=Path, metavar="FILE", help="keeps vectors for later runs")
    parser.add_argument("--table", choices=("words", "meaning"), help="only this one")
    anyio.run(measure, parser.parse_args())


if __name__ == "__main__":
    main()
