"""Search with a small model, from the query to the hits, over real HTTP and both APIs."""

import json
import re
from typing import Any

import anyio
import pytest

from toolcrib.adapters.models.opening import open_model
from toolcrib.adapters.system_clock import SystemClock
from toolcrib.core.snapshot import Kind
from toolcrib.discovery.hits import Found, Query
from toolcrib.discovery.search import Searching
from toolcrib.discovery.subagent.asking import Asking
from toolcrib.discovery.subagent.subagent import Subagent
from toolcrib.facts import Fact, SmallModelAsked
from toolcrib.settings import Limits, ModelApi, SearchSettings
from toolcrib.testing.fake_access import FakeAccess
from toolcrib.testing.fixed_ranker import FixedRanker
from toolcrib.testing.model_endpoint import (
    Asked,
    Fails,
    ModelEndpoint,
    Raw,
    Says,
    Waits,
    serve_model,
)
from toolcrib.testing.scripted import tool

KEY = "sk-CANARY-0123456789"
both_apis = pytest.mark.parametrize("api", ["openai", "anthropic"])


class Facts:
    def __init__(self) -> None:
        self.noted: list[Fact] = []

    def note(self, fact: Fact) -> None:
        self.noted.append(fact)

    @property
    def outcomes(self) -> list[str]:
        return [fact.outcome for fact in self.noted if isinstance(fact, SmallModelAsked)]


class Shop:
    """A search over one server whose small model is at an endpoint."""

    def __init__(self, endpoint: ModelEndpoint, api: ModelApi, **changes: Any) -> None:
        self.facts = Facts()
        settings = endpoint.settings(api, **{"timeout_seconds": 0.5, **changes})
        access = FakeAccess()
        texts = ["Reads.", "Sends mail.", "Deletes.", "Moves.", "Counts."]
        definitions = [
            {**tool(f"t{n}"), "description": text} for n, text in enumerate(texts, start=1)
        ]
        access.put("mail", Kind.TOOLS, definitions)
        asking = Asking(open_model(settings), settings, clock=SystemClock(), observer=self.facts)
        self.search = Searching(
            access,
            SearchSettings("subagent", settings),
            {"lexical": FixedRanker(*(f"mail/t{n}" for n in range(1, 6)))},
            subagent=Subagent(asking),
            limits=Limits(),
        )

    async def find(self, text: str = "send a letter") -> Found:
        with anyio.fail_after(5):
            return await self.search.find(Query(text))


BASE = ["mail__t1", "mail__t2", "mail__t3", "mail__t4", "mail__t5"]


def names(found: Found) -> list[str]:
    return [hit.name for hit in found.hits]


def by_word(asked: Asked) -> str:
    """Chooses the tools whose line has the word `mail` in it."""
    lines = re.findall(r'^(\d+)\. "[^"]*": "(.*)"$', asked.question, re.MULTILINE)
    return json.dumps([int(number) for number, text in lines if "mail" in text])


@both_apis
async def test_the_tool_that_the_model_chooses_comes_first(api: ModelApi) -> None:
    async with serve_model(by_word) as endpoint:
        endpoint.key = KEY
        shop = Shop(endpoint, api)
        found = await shop.find()
        assert names(found) == ["mail__t2", "mail__t1", "mail__t3", "mail__t4", "mail__t5"]
        assert (found.method, found.notes) == ("subagent", ())
        (asked,) = endpoint.asked
        assert "send a letter" in asked.question
        assert "send a letter" not in asked.instructions
        assert shop.facts.outcomes == ["chosen"]


@both_apis
async def test_the_same_question_is_asked_once(api: ModelApi) -> None:
    async with serve_model(by_word) as endpoint:
        shop = Shop(endpoint, api)
        assert names(await shop.find()) == names(await shop.find())
        assert endpoint.requests == 1
        await shop.find("another")
        assert endpoint.requests == 2


@both_apis
async def test_a_model_with_other_parameters_is_asked_its_way(api: ModelApi) -> None:
    async with serve_model(by_word) as endpoint:
        endpoint.rejects = frozenset({"temperature"})
        found = await Shop(endpoint, api).find()
        assert found.method == "subagent"
        assert names(found)[0] == "mail__t2"


@both_apis
@pytest.mark.parametrize(
    ("step", "why", "outcome"),
    [
        (Waits(), "took too long", "timeout"),
        (Fails(401, "authentication_error", f"bad key {KEY}"), "auth_required", "auth_required"),
        (Fails(429, headers={"retry-after": "60"}), "rate_limited", "rate_limited"),
        (Fails(529, "overloaded_error"), "server_unavailable", "server_unavailable"),
        (Raw(b"<html>CANARY</html>"), "result_invalid", "result_invalid"),
        (Raw(b"", status=None), "server_unavailable", "server_unavailable"),
        (Says("I would not know."), "could not be understood", "unreadable"),
        (Says('["mail__t9", 17]'), "could not be understood", "unreadable"),
        (Says(""), "result_invalid", "result_invalid"),
    ],
    ids=["slow", "key", "busy", "overloaded", "html", "hangs up", "prose", "invented", "silent"],
)
async def test_whatever_the_endpoint_does_the_order_of_the_search_stands(
    api: ModelApi, step: Says | Fails | Raw | Waits, why: str, outcome: str
) -> None:
    async with serve_model(by_word) as endpoint:
        endpoint.steps = [step]
        shop = Shop(endpoint, api)
        found = await shop.find()
        assert names(found) == BASE
        assert found.method == "lexical"
        (note,) = found.notes
        assert why in note
        assert "CANARY" not in note
        assert shop.facts.outcomes == [outcome]


@both_apis
async def test_an_endpoint_that_asks_to_wait_is_not_asked_again_meanwhile(api: ModelApi) -> None:
    async with serve_model(by_word) as endpoint:
        endpoint.script(Fails(429, headers={"retry-after": "60"}))
        shop = Shop(endpoint, api)
        for _ in range(3):
            assert names(await shop.find()) == BASE
        assert endpoint.requests == 1
        assert shop.facts.outcomes == ["rate_limited", "paused", "paused"]


@both_apis
async def test_an_endpoint_that_keeps_failing_is_left_alone(api: ModelApi) -> None:
    async with serve_model(by_word) as endpoint:
        endpoint.script(*[Fails(500) for _ in range(10)])
        shop = Shop(endpoint, api)
        for _ in range(6):
            assert names(await shop.find()) == BASE
        assert endpoint.requests == 3


@both_apis
async def test_beyond_the_budget_the_endpoint_is_not_asked(api: ModelApi) -> None:
    async with serve_model(by_word) as endpoint:
        shop = Shop(endpoint, api, per_minute=2)
        methods = [(await shop.find(f"mail {n}")).method for n in range(4)]
        assert methods == ["subagent", "subagent", "lexical", "lexical"]
        assert endpoint.requests == 2


@both_apis
async def test_many_searches_at_once_are_answered_each_for_itself(api: ModelApi) -> None:
    def chosen_by_query(asked: Asked) -> str:
        found = re.search(r'^Request: "take (\d)"', asked.question)
        assert found is not None
        return f"[{found[1]}]"

    async with serve_model(chosen_by_query) as endpoint:
        shop = Shop(endpoint, api)
        first: dict[int, str] = {}

        async def one(n: int) -> None:
            first[n] = names(await shop.find(f"take {n}"))[0]

        async with anyio.create_task_group() as tasks:
            for n in range(1, 6):
                tasks.start_soon(one, n)
        assert first == {n: f"mail__t{n}" for n in range(1, 6)}
