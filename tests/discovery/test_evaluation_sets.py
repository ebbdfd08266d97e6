"""Catalogs made larger, searches asked, rankings compared."""

from collections import Counter
from collections.abc import Iterator

import pytest

from toolcrib.core.snapshot import Item
from toolcrib.discovery.evaluation.comparison import compare
from toolcrib.discovery.evaluation.enlarging import enlarged
from toolcrib.discovery.evaluation.ranking import Rankings, ranked
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool, Task
from toolcrib.discovery.hits import Found, Hit, Query
from toolcrib.errors import BadArguments


def tools(server: str, *names: str) -> tuple[KnownTool, ...]:
    return tuple(KnownTool(f"{server}/{name}", server, name, {"name": name}) for name in names)


def task(qid: str, query: str, *needed: str) -> Task:
    return Task(qid, query, tuple(frozenset({each}) for each in needed))


KNOWN = DataSet(
    "known",
    (*tools("files", "read", "write"), *tools("mail", "send")),
    (task("q1", "read", "files/read"), task("q2", "send", "mail/send")),
)
OTHERS = DataSet(
    "others", tuple(each for number in range(10) for each in tools(f"o{number}", "a", "b", "c"))
)


class StandIn:
    """Finds the tools that are called like the query, then all others."""

    def __init__(self, known: DataSet) -> None:
        self._tools = known.tools
        self.asked: list[Query] = []

    async def find(self, query: Query) -> Found:
        self.asked.append(query)
        if query.text == "refused":
            raise BadArguments("the query says nothing")
        order = sorted(self._tools, key=lambda it: it.name != query.text)
        items = [(it.server, Item(it.name, it.definition, "", "")) for it in order]
        hits = tuple(Hit(server, item, item.key, 1.0) for server, item in items)
        return Found(hits, "lexical", notes=("it fell back",))


def ticking() -> Iterator[float]:
    now = 0.0
    while True:
        yield now
        now += 0.25


# ---- enlarging ----


def test_a_larger_catalog_holds_the_set_first_and_is_called_by_its_size() -> None:
    grown = enlarged(KNOWN, [OTHERS], 10)
    assert grown.name == "known@10"
    assert len(grown.tools) == 10
    assert grown.tools[:3] == KNOWN.tools
    assert grown.tasks == KNOWN.tasks


def test_whole_servers_are_added_and_only_the_last_one_in_part() -> None:
    counts = Counter(tool.server for tool in enlarged(KNOWN, [OTHERS], 10).tools[3:])
    assert sorted(counts.values()) == [1, 3, 3]


def test_a_larger_catalog_holds_the_smaller_one() -> None:
    small, large = (enlarged(KNOWN, [OTHERS], size).tools for size in (9, 20))
    assert large[:9] == small


def test_the_order_of_servers_depends_on_the_seed_alone() -> None:
    again = DataSet("others", tuple(reversed(OTHERS.tools)))
    servers = [it.server for it in enlarged(KNOWN, [OTHERS], 33).tools]
    assert [it.server for it in enlarged(KNOWN, [again], 33).tools] == servers
    assert [it.server for it in enlarged(KNOWN, [OTHERS], 33, seed=1).tools] != servers


def test_servers_that_are_there_already_are_left_out() -> None:
    doubled = DataSet("doubled", (*tools("files", "copy"), *tools("o1", "z"), *OTHERS.tools))
    servers = Counter(it.server for it in enlarged(KNOWN, [OTHERS, doubled], 33).tools)
    assert (servers["files"], servers["o1"]) == (2, 3)


def test_the_size_that_is_there_needs_no_distractors() -> None:
    assert enlarged(KNOWN, [], 3).tools == KNOWN.tools


@pytest.mark.parametrize(("size", "said"), [(2, "has 3 tools already"), (34, "have 33 tools")])
def test_a_size_that_cannot_be_reached_is_told(size: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        enlarged(KNOWN, [OTHERS], size)


# ---- ranking ----


async def test_every_query_is_asked_with_its_method_and_the_whole_depth() -> None:
    search = StandIn(KNOWN)
    found = await ranked(search, KNOWN, "hybrid", ticking().__next__)
    assert search.asked == [
        Query("read", limit=50, method="hybrid"),
        Query("send", limit=50, method="hybrid"),
    ]
    assert found.by_task["q1"][0] == "files/read"
    assert found.by_task["q2"][0] == "mail/send"


async def test_rankings_are_named_after_what_was_really_done_and_timed() -> None:
    found = await ranked(StandIn(KNOWN), KNOWN, "hybrid", ticking().__next__)
    assert found.name == "lexical"
    assert found.seconds == (0.25, 0.25)
    assert found.notes == ("it fell back",), "once, though every answer said so"


async def test_a_refused_query_finds_nothing_and_is_noted() -> None:
    asked = DataSet("odd", KNOWN.tools, (task("q", "refused", "mail/send"),))
    found = await ranked(StandIn(asked), asked, "lexical", ticking().__next__)
    assert found.by_task == {"q": ()}
    assert found.notes == ("a query was refused: the query says nothing",)


# ---- comparing ----

GOOD = Rankings("good", {"q1": ("files/read",), "q2": ("mail/send",)}, (0.001, 0.003))
BAD = Rankings("bad", {"q1": ("files/write",), "q2": ()})


def test_the_baseline_comes_first_and_the_others_differ_from_it() -> None:
    found = compare(KNOWN, [GOOD], BAD, resamples=50)
    assert (found.name, found.tools, found.servers, found.tasks) == ("known", 3, 2, 2)
    bad, good = found.rows
    assert (bad.name, bad.differences) == ("bad", None)
    assert bad.scores["nDCG@10"].mean == 0.0
    assert good.differences is not None
    assert good.differences["MRR"].mean == 1.0


def test_without_a_baseline_there_are_no_differences() -> None:
    (row,) = compare(KNOWN, [GOOD], resamples=50).rows
    assert row.differences is None
    assert row.scores["R@10"].mean == 1.0


def test_times_are_milliseconds_of_the_median_and_the_slowest_of_a_hundred() -> None:
    many = Rankings("many", GOOD.by_task, tuple(each / 1000 for each in range(1, 201)))
    (row,) = compare(KNOWN, [many], resamples=50).rows
    assert (row.p50, row.p99) == (pytest.approx(100), pytest.approx(198))
    (unmeasured,) = compare(KNOWN, [BAD], resamples=50).rows
    assert (unmeasured.p50, unmeasured.p99) == (None, None)


def test_two_rankings_of_one_name_are_two_rows() -> None:
    twin = Rankings("good", BAD.by_task)
    means = [row.scores["MRR"].mean for row in compare(KNOWN, [GOOD, twin], resamples=50).rows]
    assert means == [1.0, 0.0]
