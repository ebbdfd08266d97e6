"""Conversations whose provider searches by itself: what its model saw from the start stays.

Servers come, go and say other things, tools change, are used and are shown by configuration; after
every refresh both forms are held against those of all moments before.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest
from hypothesis import strategies as st

from toolcrib.context.conversation import Conversation
from toolcrib.context.exhibit import Exhibit
from toolcrib.context.front import Front
from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.core.exposure import Wanted
from toolcrib.testing.fake_exhibits import FakeExhibits
from toolcrib.testing.planted_code import CodeFault
from toolcrib.testing.plays import Plays

pytestmark = pytest.mark.hypothesis

SEEN: Counter[str] = Counter()
TO_BE_SEEN: Final = {"announced", "grew", "prefix gone", "same", "shown", "used"}
"""What has to come about, or little was proved."""

SERVERS: Final = ("aard", "mail", "zed")
NAMES: Final = ("a", "m", "z")

STEPS = st.tuples(
    st.sampled_from(["anthropic", "openai"]),
    st.lists(
        st.tuples(
            st.sampled_from(["tools", "tools", "tools", "words", "pin", "call", "call", "rewrite"]),
            st.sampled_from(SERVERS),
            st.integers(0, 7),
            st.integers(0, 2),
        ),
        min_size=4,
        max_size=14,
    ),
)


class Talking(FakeExhibits):
    """Servers that say something of themselves, which changes."""

    words = 0

    async def current(self, exposure: Wanted) -> Exhibit:
        found = await super().current(exposure)
        return replace(found, about={it: f"{it} says {self.words}" for it in self.servers})


def definition(name: str, version: int) -> dict[str, Any]:
    properties = {f"member{version}": {"type": "string"}}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def from_the_start(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a model sees before it searches."""
    return [
        {name: value for name, value in it.items() if name not in {"tools", "cache_control"}}
        for it in tools
        if not it.get("defer_loading")
    ]


@dataclass
class World:
    provider: str
    fake: Talking
    toolset: Toolset
    moments: list[tuple[str, list[dict[str, Any]]]] = field(
        default_factory=list[tuple[str, list[dict[str, Any]]]]
    )

    def form(self) -> list[dict[str, Any]]:
        if self.provider == "anthropic":
            return self.toolset.for_anthropic(native_search=True)
        return self.toolset.for_openai_responses(native_search=True)

    async def play(self, step: tuple[str, str, int, int]) -> None:
        what, server, bits, version = step
        match what:
            case "tools":
                names = [name for bit, name in enumerate(NAMES) if bits >> bit & 1]
                self.fake.servers[server] = [definition(name, version) for name in names]
                if not names:
                    del self.fake.servers[server]
            case "words":
                self.fake.words += 1
            case "pin":
                self.fake.pinned = (*self.fake.pinned, f"{server}__{NAMES[bits % 3]}")
            case "call":
                before = self.form()
                await self.toolset.call(f"{server}__{NAMES[bits % 3]}")
                await self.toolset.refresh()
                SEEN["used"] += self.form() == before
            case _:
                await self.toolset.refresh("rewrite")
        await self.toolset.refresh()
        self.look_back()

    def look_back(self) -> None:
        """What a model saw at any moment is the beginning, or the delta says that it is not."""
        tools = self.form()
        names = [it["name"] for it in tools if "name" in it and it.get("type") != "namespace"]
        names += [each["name"] for it in tools for each in it.get("tools", ())]
        assert len(set(names)) == len(names), f"{names}: one is there twice"
        now = from_the_start(tools)
        for mark, then in self.moments:
            said = self.toolset.delta(mark)
            if not said.prefix_survives:
                SEEN["prefix gone"] += 1
                continue
            assert now[: len(then)] == then, f"since {mark}"
            new = now[len(then) :]
            priced = [it for it in new if "tool_search" not in str(it.get("type"))]
            assert bool(said.cost_of_a_miss) == bool(priced), (new, said)
            SEEN["grew" if new else "same"] += 1
            SEEN["announced"] += any(it.get("type") == "namespace" for it in new)
            SEEN["shown"] += any(it.get("type") != "namespace" for it in new)
        self.moments.append((self.toolset.mark, now))


async def play(script: tuple[str, list[tuple[str, str, int, int]]]) -> None:
    provider, steps = script
    fake = Talking("search", mail=[definition("m", 0)])
    toolset = await Toolset.begin(fake, fake, Costs(HeuristicCounter()), pin_used=1)
    world = World(provider, fake, toolset)
    world.look_back()
    for step in steps:
        await world.play(step)


PLAYS = Plays(play, STEPS, examples=60)


def test_what_the_model_of_a_searching_provider_saw_stays_where_it_was() -> None:
    SEEN.clear()
    PLAYS.hold()
    assert {name for name, count in SEEN.items() if count} >= TO_BE_SEEN, SEEN


FAULTS = [
    CodeFault(
        "a server is announced in front of the others",
        Front.announce,
        'self.entries.append(Space(server, about.get(server, "")))',
        'self.entries.insert(0, Space(server, about.get(server, "")))',
    ),
    CodeFault(
        "the search comes in front",
        Front.defer,
        "self.entries.append(Search())",
        "self.entries.insert(0, Search())",
    ),
    CodeFault(
        "a tool that was found is shown again",
        Conversation.is_shown,
        "name in self._shown or name in self._offered",
        "name in self._shown",
    ),
    CodeFault(
        "another order of announcements is taken for the same prefix",
        Conversation.begin,
        "goes_on = goes_on and self._front.goes_on(earlier)",
        "goes_on = bool(goes_on)",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_prefix_that_is_lost_is_noticed(
    fault: CodeFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.plant(monkeypatch)
    PLAYS.fail()
