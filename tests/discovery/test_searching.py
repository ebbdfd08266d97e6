"""The facade of all searches: methods, fallbacks, limits, and whose tools come out."""

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.core.naming import Style
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Found, Query, ToolSearch
from toolcrib.discovery.search import Searching
from toolcrib.discovery.subagent.asking import Asking
from toolcrib.discovery.subagent.subagent import Subagent
from toolcrib.errors import BadArguments, UpstreamUnreachable
from toolcrib.facts import Fact
from toolcrib.settings import Limits, SearchMethod, SearchSettings, SubagentSettings
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.fixed_ranker import FixedRanker
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock

pytestmark = pytest.mark.virtual_time


class ScriptedModel:
    """Answers with one text, and may do something before."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.questions: list[str] = []
        self.meanwhile = lambda: None

    async def complete(
        self, instructions: str, question: str, *, most_tokens: int, timeout: float
    ) -> str:
        self.questions.append(question)
        await anyio.lowlevel.checkpoint()
        self.meanwhile()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Nobody:
    def note(self, fact: Fact) -> None:
        pass


def access_of(**servers: Iterable[str]) -> FakeAccess:
    access = FakeAccess()
    for server, names in servers.items():
        access.put(server, Kind.TOOLS, [tool(name) for name in names])
    return access


GIT_AND_MAIL = {"git": ["log", "status", "push"], "mail": ["send", "status"]}
LEXICAL = ["git/log", "git/status", "mail/send", "mail/status", "git/push"]


def searching(
    access: FakeAccess,
    rankers: Mapping[SearchMethod, FixedRanker] | None = None,
    *,
    method: SearchMethod = "auto",
    model: ScriptedModel | None = None,
    style: Style = "qualified",
    limits: Limits | None = None,
    **subagent: Any,
) -> Searching:
    settings = SubagentSettings("http://127.0.0.1:1", "small", **subagent)
    asking = model and Asking(model, settings, clock=LoopClock(), observer=Nobody())
    return Searching(
        access,
        SearchSettings(method, settings if model else None),
        rankers if rankers is not None else {"lexical": FixedRanker(*LEXICAL)},
        subagent=Subagent(asking) if asking else None,
        limits=limits or Limits(),
        style=style,
    )


def names(found: Found) -> list[str]:
    return [hit.name for hit in found.hits]


# ---------------------------------------------------------------- what comes out


async def test_hits_come_in_the_order_of_the_ranking_under_their_exposed_names() -> None:
    search: ToolSearch = searching(access_of(**GIT_AND_MAIL))
    found = await search.find(Query("x"))
    assert names(found) == ["git__log", "git__status", "mail__send", "mail__status", "git__push"]
    assert [hit.score for hit in found.hits] == [100, 99, 98, 97, 96]
    assert [hit.item.key for hit in found.hits[:2]] == ["log", "status"]
    assert (found.method, found.near, found.notes) == ("lexical", (), ())


async def test_no_more_hits_than_asked_for() -> None:
    found = await searching(access_of(**GIT_AND_MAIL)).find(Query("x", limit=2))
    assert names(found) == ["git__log", "git__status"]


async def test_what_an_index_still_has_and_the_catalog_has_not_is_never_shown() -> None:
    access = access_of(**GIT_AND_MAIL)
    search = searching(access)
    access.put("git", Kind.TOOLS, [tool("status")])
    access.fail("mail", Kind.TOOLS, "the right to see it is gone")
    assert names(await search.find(Query("x"))) == ["git__status"]
    access.remove("git")
    assert names(await search.find(Query("x"))) == []


async def test_tools_that_cannot_be_shown_take_no_place_from_the_others() -> None:
    access = access_of(s=[f"t{n}" for n in range(20)])
    gone = [f"s/gone{n}" for n in range(10)]
    ranker = FixedRanker(*gone, *(f"s/t{n}" for n in range(20)))
    found = await searching(access, {"lexical": ranker}).find(Query("x", limit=5))
    assert names(found) == [f"s__t{n}" for n in range(5)]
    assert [most for _, _, most in ranker.asked] == [5, 20]


async def test_an_index_full_of_what_cannot_be_shown_is_not_asked_for_ever() -> None:
    ranker = FixedRanker(*(f"s/gone{n}" for n in range(10_000)))
    found = await searching(access_of(s=["t"]), {"lexical": ranker}).find(Query("x", limit=5))
    assert found.hits == ()
    assert [most for _, _, most in ranker.asked] == [5, 20, 80]


async def test_a_ranking_is_asked_for_in_the_length_of_the_answer() -> None:
    ranker = FixedRanker(*LEXICAL)
    rankers: dict[SearchMethod, FixedRanker] = {"lexical": ranker}
    model = ScriptedModel("no idea")
    search = searching(access_of(**GIT_AND_MAIL), rankers, model=model, candidates=4)
    await search.find(Query("x", limit=3))
    await search.find(Query("x", limit=3, method="subagent"))
    await search.find(Query("x", limit=5, method="subagent"))
    assert [most for _, _, most in ranker.asked] == [3, 4, 3, 5, 5]
    model.answer = "[2]"
    await search.find(Query("x", limit=3, method="subagent"))
    assert [most for _, _, most in ranker.asked][5:] == [4]


async def test_a_hit_carries_the_definition_that_is_published_now() -> None:
    access = access_of(s=["t"])
    search = searching(access, {"lexical": FixedRanker("s/t")})
    access.put("s", Kind.TOOLS, [{**tool("t"), "description": "new"}])
    (hit,) = (await search.find(Query("x"))).hits
    assert hit.item.definition["description"] == "new"


async def test_only_servers_that_were_asked_for_are_searched() -> None:
    ranker = FixedRanker(*LEXICAL)
    search = searching(access_of(**GIT_AND_MAIL), {"lexical": ranker})
    found = await search.find(Query("x", servers=["mail", "unknown"]))
    assert names(found) == ["mail__send", "mail__status"]
    assert ranker.asked == [("x", frozenset({"mail", "unknown"}), 10)]


async def test_a_ranker_that_ignores_the_servers_is_not_believed() -> None:
    careless = FixedRanker(*LEXICAL)
    careless.heeds_servers = False
    search = searching(access_of(**GIT_AND_MAIL), {"lexical": careless})
    found = await search.find(Query("x", servers={"mail"}))
    assert names(found) == ["mail__send", "mail__status"]
    assert names(await search.find(Query("x", servers=()))) == []


async def test_under_plain_names_a_tool_that_collides_is_not_found() -> None:
    search = searching(access_of(**GIT_AND_MAIL), style="plain")
    assert names(await search.find(Query("x"))) == ["log", "send", "push"]


async def test_names_are_as_long_as_the_listing_lets_them_be() -> None:
    access = access_of(s=["t" * 100])
    ranker = FixedRanker("s/" + "t" * 100)
    search = searching(access, {"lexical": ranker}, limits=Limits(name_length=24))
    (name,) = names(await search.find(Query("x")))
    assert len(name) <= 24


# ---------------------------------------------------------------- how fresh it is


@pytest.mark.duty("D3")
async def test_a_search_is_a_need_like_a_listing() -> None:
    access = access_of(**GIT_AND_MAIL)
    await searching(access).find(Query("x"))
    assert access.reads[Kind.TOOLS] == 1


async def test_of_chosen_servers_only_stale_ones_are_refreshed() -> None:
    access = access_of(a=["t"], b=["t"], c=["t"])
    access.age("b", Kind.TOOLS, 100)
    access.age("c", Kind.TOOLS, 100)
    await searching(access).find(Query("x", servers=["a", "b", "gone"]))
    assert access.reads == {}
    assert access.renewals == {"b": 1}


async def test_what_a_refresh_brings_is_searched() -> None:
    access = access_of(git=["log"])

    async def publish(_: Kind) -> None:
        access.put("git", Kind.TOOLS, [tool("log"), tool("push")])

    access.on_read = publish
    assert names(await searching(access).find(Query("x"))) == ["git__log", "git__push"]


# ---------------------------------------------------------------- queries


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000"])
async def test_an_empty_query_is_refused(text: str) -> None:
    with pytest.raises(BadArguments, match="say what the tool should do"):
        await searching(access_of()).find(Query(text))


async def test_a_query_that_is_too_long_is_refused_with_the_limit_and_its_name() -> None:
    search = searching(access_of(), limits=Limits(search_chars=5))
    with pytest.raises(BadArguments, match=r"6 characters, more than 5 \(search_chars\)"):
        await search.find(Query("x" * 6))
    await search.find(Query("x" * 5))


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_that_leaves_nothing_is_refused(limit: int) -> None:
    with pytest.raises(BadArguments, match="ask for 1 to 50"):
        await searching(access_of()).find(Query("x", limit=limit))


async def test_a_limit_beyond_the_most_is_cut_and_said() -> None:
    access = access_of(s=[f"t{n:03}" for n in range(100)])
    ranker = FixedRanker(*(f"s/t{n:03}" for n in range(100)))
    found = await searching(access, {"lexical": ranker}).find(Query("x", limit=1_000))
    assert len(found.hits) == 50
    assert found.notes == ("No more than 50 hits are given.",)


async def test_half_a_character_reaches_no_ranker() -> None:
    ranker = FixedRanker()
    search = searching(access_of(), {"lexical": ranker})
    await search.find(Query("a\ud83db \ud83d\ude00"))
    assert ranker.asked[0][0] == "a\ufffdb \U0001f600"


# ---------------------------------------------------------------- methods

ALL: tuple[SearchMethod, ...] = ("lexical", "regex", "semantic", "hybrid")
WITHOUT: tuple[SearchMethod, ...] = ("lexical", "regex")


def rankers_of(methods: Iterable[SearchMethod]) -> dict[SearchMethod, FixedRanker]:
    """A ranker for each method, whose note is the method."""
    return {method: FixedRanker("git/log", notes=(method,)) for method in methods}


@pytest.mark.parametrize(
    ("there", "asked", "configured", "used"),
    [
        (ALL, "auto", "auto", "hybrid"),
        (WITHOUT, "auto", "auto", "lexical"),
        (ALL, "auto", "lexical", "lexical"),
        (ALL, "auto", "regex", "regex"),
        (ALL, "auto", "semantic", "semantic"),
        (ALL, "lexical", "hybrid", "lexical"),
        (ALL, "regex", "auto", "regex"),
        (ALL, "semantic", "auto", "semantic"),
        (ALL, "hybrid", "lexical", "hybrid"),
    ],
)
async def test_the_method_is_the_one_asked_for_else_the_configured_else_the_best_there_is(
    there: tuple[SearchMethod, ...],
    asked: SearchMethod,
    configured: SearchMethod,
    used: SearchMethod,
) -> None:
    rankers = rankers_of(there)
    search = searching(access_of(**GIT_AND_MAIL), rankers, method=configured)
    found = await search.find(Query("x", method=asked))
    assert (found.method, found.notes) == (used, (used,))
    assert [method for method in there if rankers[method].asked] == [used]


@pytest.mark.parametrize("asked", ["semantic", "hybrid"])
async def test_without_an_embedder_words_are_searched_and_the_extra_is_named(
    asked: SearchMethod,
) -> None:
    found = await searching(access_of(**GIT_AND_MAIL)).find(Query("x", method=asked))
    assert found.method == "lexical"
    assert len(found.hits) == 5
    (note,) = found.notes
    assert "toolcrib[semantic]" in note


@pytest.mark.parametrize("asked", ["semantic", "hybrid"])
async def test_where_meaning_fails_words_are_searched(
    asked: SearchMethod, caplog: pytest.LogCaptureFixture
) -> None:
    rankers = rankers_of(ALL)
    rankers[asked].trouble = RuntimeError("CANARY")
    with caplog.at_level(logging.WARNING):
        found = await searching(access_of(**GIT_AND_MAIL), rankers).find(Query("x", method=asked))
    assert found.method == "lexical"
    assert names(found) == ["git__log"]
    assert found.notes == ("Searched by words, because searching by meaning failed.", "lexical")
    assert "RuntimeError" in caplog.text
    assert "CANARY" not in caplog.text


async def test_a_ranking_that_fell_back_by_itself_says_so() -> None:
    rankers = rankers_of(WITHOUT)
    rankers["hybrid"] = FixedRanker("git/log", by_meaning=False, notes=("why",))
    found = await searching(access_of(**GIT_AND_MAIL), rankers).find(Query("x"))
    assert (found.method, found.notes) == ("lexical", ("why",))


@pytest.mark.parametrize("method", ALL)
async def test_a_query_that_a_method_refuses_is_refused(method: SearchMethod) -> None:
    rankers = rankers_of(ALL)
    rankers[method].trouble = BadArguments("no pattern")
    with pytest.raises(BadArguments, match="no pattern"):
        await searching(access_of(**GIT_AND_MAIL), rankers).find(Query("x", method=method))


@pytest.mark.parametrize("method", WITHOUT)
async def test_a_fault_of_ours_is_not_hidden(method: SearchMethod) -> None:
    rankers = rankers_of(ALL)
    rankers[method].trouble = RuntimeError("a bug")
    with pytest.raises(RuntimeError):
        await searching(access_of(**GIT_AND_MAIL), rankers).find(Query("x", method=method))


# ---------------------------------------------------------------- the subagent


async def test_what_the_small_model_chooses_comes_first_and_nothing_is_lost() -> None:
    search = searching(access_of(**GIT_AND_MAIL), method="subagent", model=ScriptedModel("[4, 2]"))
    found = await search.find(Query("x"))
    assert names(found) == ["mail__status", "git__status", "git__log", "mail__send", "git__push"]
    assert (found.method, found.notes) == ("subagent", ())
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5


async def test_a_choice_from_beyond_the_limit_is_among_the_hits() -> None:
    model = ScriptedModel("[5]")
    search = searching(access_of(**GIT_AND_MAIL), method="subagent", model=model)
    assert names(await search.find(Query("x", limit=2))) == ["git__push", "git__log"]


async def test_the_model_sees_so_many_candidates_and_no_more() -> None:
    model = ScriptedModel("[]")
    search = searching(access_of(**GIT_AND_MAIL), model=model, candidates=3)
    found = await search.find(Query("needle", method="subagent"))
    (question,) = model.questions
    assert '"needle"' in question
    assert [line[:2] for line in question.split("\n")[3:]] == ["1.", "2.", "3."]
    assert len(found.hits) == 5, "the others follow all the same"
    assert found.method == "subagent"
    assert found.notes == ("The small model finds none of the first 3 fitting.",)


async def test_a_candidate_is_told_by_its_description_or_else_its_title() -> None:
    access = FakeAccess()
    described = {**tool("a"), "description": "Says hello.", "title": "T"}
    titled = {**tool("b"), "description": " ", "title": "Greeting"}
    odd = {**tool("c"), "description": ""}
    access.put("s", Kind.TOOLS, [described, titled, odd])
    model = ScriptedModel("[]")
    rankers: dict[SearchMethod, FixedRanker] = {"lexical": FixedRanker("s/a", "s/b", "s/c")}
    await searching(access, rankers, method="subagent", model=model).find(Query("x"))
    lines = model.questions[0].split("\n")[3:]
    assert lines == ['1. "s__a": "Says hello."', '2. "s__b": "Greeting"', '3. "s__c": ""']


async def test_the_candidates_are_those_of_hybrid_where_there_is_one() -> None:
    model = ScriptedModel(UpstreamUnreachable("gone"))
    rankers: dict[SearchMethod, FixedRanker] = {
        "lexical": FixedRanker("git/log"),
        "hybrid": FixedRanker("mail/send", "git/push"),
    }
    search = searching(access_of(**GIT_AND_MAIL), rankers, method="subagent", model=model)
    found = await search.find(Query("x"))
    assert names(found) == ["mail__send", "git__push"]
    assert found.method == "hybrid", "the model did not choose"
    (note,) = found.notes
    assert "server_unavailable" in note


async def test_without_a_configured_model_the_order_of_the_search_stands() -> None:
    found = await searching(access_of(**GIT_AND_MAIL), method="subagent").find(Query("x"))
    assert found.method == "lexical"
    assert len(found.hits) == 5
    assert found.notes == (
        "No small model is configured to choose: this is the order of the search.",
    )


async def test_a_configured_model_is_asked_only_where_the_method_says_so() -> None:
    model = ScriptedModel("[2]")
    search = searching(access_of(**GIT_AND_MAIL), method="auto", model=model)
    assert (await search.find(Query("x"))).method == "lexical"
    assert model.questions == []


async def test_tools_that_other_principals_have_are_never_sent() -> None:
    model = ScriptedModel('["other__secret", 1]')
    ranker = FixedRanker("other/secret", *LEXICAL)
    search = searching(
        access_of(**GIT_AND_MAIL), {"lexical": ranker}, method="subagent", model=model
    )
    found = await search.find(Query("x"))
    assert "secret" not in model.questions[0]
    assert "other__secret" not in names(found)


async def test_what_is_withdrawn_while_the_model_thinks_is_not_shown() -> None:
    access = access_of(**GIT_AND_MAIL)
    model = ScriptedModel("[3, 1]")
    model.meanwhile = lambda: access.fail("mail", Kind.TOOLS, "the right to see it is gone")
    search = searching(access, method="subagent", model=model)
    assert names(await search.find(Query("x"))) == ["git__log", "git__status", "git__push"]


# ---------------------------------------------------------------- nothing found


NOTHING: dict[SearchMethod, FixedRanker] = {"lexical": FixedRanker(), "regex": FixedRanker()}


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("create_isue", ("github__create_issue",)),
        ("create isue", ("github__create_issue",)),
        ("github create issue", ("github__create_issue",)),
        ("Create Issue", ("github__create_issue",)),
        ("weather in Paris", ()),
        ("?!", ()),
    ],
)
async def test_without_hits_names_that_look_like_the_query_are_told(
    text: str, near: tuple[str, ...]
) -> None:
    access = access_of(github=["create_issue", "x"], disk=["read"])
    assert (await searching(access, NOTHING).find(Query(text))).near == near


async def test_a_long_name_of_a_server_hides_no_near_name() -> None:
    access = access_of(the_company_wide_accounting_system=["pay_bill"])
    found = await searching(access, NOTHING).find(Query("pay_bil"))
    assert found.near == ("the_company_wide_accounting_system__pay_bill",)


async def test_names_near_a_pattern_are_told_too() -> None:
    access = access_of(github=["create_issue"])
    found = await searching(access, NOTHING).find(Query("^create_isue$", method="regex"))
    assert found.near == ("github__create_issue",)


async def test_names_of_other_servers_than_the_asked_ones_are_not_told() -> None:
    access = access_of(github=["create_issue"], disk=["read"])
    found = await searching(access, NOTHING).find(Query("create_isue", servers={"disk"}))
    assert found.near == ()


async def test_a_name_that_nobody_can_call_is_not_told() -> None:
    access = access_of(a=["create_issue"], b=["create_issue", "create_issues"])
    search = searching(access, NOTHING, style="plain")
    assert (await search.find(Query("create_isue"))).near == ("create_issues",)


async def test_at_most_three_names_are_told() -> None:
    access = access_of(s=[f"create_issue{n}" for n in range(9)])
    assert len((await searching(access, NOTHING).find(Query("create_issue"))).near) == 3


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_among_very_many_names_near_ones_are_looked_for_beside_the_event_loop() -> None:
    access = access_of(s=["create_issue", *(f"t{n}" for n in range(5_000))])
    with anyio.fail_after(5):
        found = await searching(access, NOTHING).find(Query("create_isue"))
    assert found.near == ("s__create_issue",)


async def test_of_very_many_names_that_share_something_the_nearest_is_told() -> None:
    access = access_of(s=["create_issue", "x", *(f"create_is{n}_and_more" for n in range(1_500))])
    search = searching(access, NOTHING)
    assert (await search.find(Query("create_isue"))).near[0] == "s__create_issue"
    assert (await search.find(Query("y"))).near == ()
    assert (await search.find(Query("x"))).near == ("s__x",)


async def test_with_hits_no_names_are_told() -> None:
    assert (await searching(access_of(**GIT_AND_MAIL)).find(Query("git log"))).near == ()
