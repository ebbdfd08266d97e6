"""Conversations over servers that change: their prefix, what is told, what calls are held to.

The model of these plays knows what was published, what was shown first, and what was told since.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import pytest
from hypothesis import strategies as st

from toolcrib.context import delta
from toolcrib.context.conversation import Conversation
from toolcrib.context.tokens import Costs, HeuristicCounter
from toolcrib.context.toolset import Toolset
from toolcrib.core.exposure import Wanted
from toolcrib.settings import ExposureSettings
from toolcrib.testing.asking_host import code_of
from toolcrib.testing.planted_code import CodeFault
from toolcrib.testing.plays import Plays
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import scripted_crib

pytestmark = pytest.mark.hypothesis

SEEN: Counter[str] = Counter()
TO_BE_SEEN = {
    "added",
    "came back",
    "changed",
    "pinned by use",
    "prefix gone",
    "prefix survives a change",
    "reached",
    "refused for an old contract",
    "refused through call_tool",
    "removed",
    "reworded",
}
"""What has to come about, or little was proved."""

NAMES = ("alpha", "beta", "gamma")
SERVERS = ("mail", "git")
USES: Final = 2
FITTING: Final = 3
"""Tools that may be shown for their use."""

Version = tuple[int, int]
"""Of a tool: which schema, and which words."""

Step = tuple[str, int, int, int]
"""What is done; to which server, with which tools, in which version."""
STEPS = st.tuples(
    st.sampled_from(["full", "search"]),
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "change",
                    "change",
                    "refresh",
                    "refresh",
                    "rewrite",
                    "delta",
                    "call",
                    "call_tool",
                    "use",
                    "use",
                    "surprise",
                ]
            ),
            st.integers(0, 1),
            st.sampled_from([7, 7, 0, 1, 2, 4, 3, 5, 6]),
            st.integers(0, 3),
        ),
        min_size=8,
        max_size=20,
    ),
)


def definition(name: str, version: Version) -> dict[str, Any]:
    schema, words = version
    properties = {f"member{schema}": {"type": "string"}}
    return {
        "name": name,
        "description": f"Does {name}, in the words of {'one' if words else 'another'}.",
        "inputSchema": {"type": "object", "properties": properties},
    }


ONE: Final = Costs(HeuristicCounter()).of_definition(definition("beta", (0, 0)), "git__beta")
"""Tokens of a tool; they all cost the same."""


def forms(toolset: Toolset) -> dict[str, list[Any]]:
    """Every list that stands at the front of a prompt and may only grow."""
    gemini = toolset.for_gemini()
    return {
        "anthropic": toolset.for_anthropic(),
        "openai chat": toolset.for_openai_chat(),
        "openai chat, strict": toolset.for_openai_chat(strict=True),
        "openai responses": toolset.for_openai_responses(),
        "gemini": gemini[0]["functionDeclarations"] if gemini else [],
        "plain": toolset.for_json(),
    }


@dataclass(frozen=True)
class Moment:
    """The conversation as it was at a mark."""

    mark: str
    there: Mapping[str, Version]
    """Callable tools, as they were taken over."""
    shown: frozenset[str]
    forms: Mapping[str, list[Any]]

    @property
    def visible(self) -> frozenset[str]:
        return self.shown & self.there.keys()


@dataclass
class World:
    """One conversation, and the model of it."""

    scripts: dict[str, ScriptedUpstream]
    toolset: Toolset
    published: dict[str, Version]
    taken: dict[str, Version]
    known: dict[str, Version | None] = field(default_factory=dict[str, Version | None])
    """By name: the version that the model knows of a shown tool; None: as refused, the newest."""
    uses: Counter[str] = field(default_factory=Counter[str])
    moments: list[Moment] = field(default_factory=list[Moment])

    def shown(self) -> frozenset[str]:
        return frozenset(it["name"] for it in self.toolset.for_json() if "__" in it["name"])

    async def play(self, step: Step) -> None:  # noqa: C901 - an arm for each step
        what, which, bits, version = step
        server, name = SERVERS[which], f"{SERVERS[which]}__{NAMES[bits % 3]}"
        match what:
            case "change":
                await self.change(server, bits, (version // 2, version % 2))
            case "refresh":
                await self.refresh(rewrite=False)
            case "rewrite":
                await self.refresh(rewrite=True)
            case "delta":
                changed = self.toolset.delta().changed_names
                self.known |= {it: self.taken[it] for it in changed}
                for told in changed[:1]:
                    await self.call(told, through=bool(version % 2))
            case "surprise":
                # A tool that is shown, if any is, changes just before its call.
                name = (sorted(self.shown()) or [name])[bits % max(1, len(self.shown()))]
                await self.change(name.partition("__")[0], 7, (version // 2, version % 2))
                await self.call(name, through=bool(bits % 2))
            case "use":
                for bit, chosen in enumerate(NAMES):
                    for _ in range(USES if bits >> bit & 1 else 0):
                        await self.call(f"{server}__{chosen}", through=bool(version % 2))
            case _:
                await self.call(name, through=what == "call_tool")

    async def change(self, server: str, bits: int, version: Version) -> None:
        names = [name for bit, name in enumerate(NAMES) if bits >> bit & 1]
        self.scripts[server].change([definition(name, version) for name in names])
        await anyio.sleep(15)
        others = {it: v for it, v in self.published.items() if not it.startswith(f"{server}__")}
        self.published = {**others, **{f"{server}__{name}": version for name in names}}

    async def refresh(self, *, rewrite: bool) -> None:
        before = self.shown()
        await self.toolset.refresh("rewrite" if rewrite else "keep")
        self.taken = dict(self.published)
        after = self.shown()
        if rewrite:
            self.known = {}
        for name in after - (frozenset[str]() if rewrite else before):
            self.known[name] = self.taken[name]
        self.pinned(before, after, rewrite=rewrite)
        self.look_back()

    def pinned(self, before: frozenset[str], after: frozenset[str], *, rewrite: bool) -> None:
        """What is shown for its use was used, and is as much as the budget takes."""
        if self.toolset.exposure == "full":
            assert after >= self.taken.keys()
            return
        used = {name for name, times in self.uses.items() if times >= USES}
        assert after - (frozenset() if rewrite else before) <= used
        SEEN["pinned by use"] += len(after - before)
        assert len(after) <= FITTING
        waiting = (used & self.taken.keys()) - after
        assert not waiting or len(after) == FITTING, f"{waiting} would fit"

    def moment(self) -> Moment:
        return Moment(self.toolset.mark, dict(self.taken), self.shown(), forms(self.toolset))

    def look_back(self) -> None:
        """What is told since any moment is what is different from it, however it came about."""
        now = self.moment()
        for then in self.moments[-5:]:
            said = delta.delta_of(
                self.toolset._conversation,  # pyright: ignore[reportPrivateUsage] - tells nobody
                delta.Mark.read(then.mark),
            )
            self.same(said, then, now)
        self.moments.append(now)

    def same(self, said: delta.Delta, then: Moment, now: Moment) -> None:
        stayed = then.visible & now.there.keys()
        changed = {it for it in stayed if then.there[it][0] != now.there[it][0]}
        reworded = {it for it in stayed - changed if then.there[it] != now.there[it]}
        assert set(said.added) == now.visible - then.visible
        assert set(said.removed) == then.visible - now.there.keys()
        assert set(said.changed_names) == changed
        assert set(said.reworded) == reworded
        for server in SERVERS if self.toolset.exposure == "search" else ():
            more = said.joined.get(server, 0) - said.left.get(server, 0)
            counts = [sum(it.startswith(server) for it in at.there) for at in (then, now)]
            assert more == counts[1] - counts[0]
        if said.prefix_survives:
            for form, tools in then.forms.items():
                kept = now.forms[form][: len(tools)]
                assert json.dumps(kept) == json.dumps(tools), f"{form} lost its prefix"
        SEEN["added"] += len(said.added)
        SEEN["removed"] += len(said.removed)
        SEEN["changed"] += len(changed)
        SEEN["reworded"] += len(reworded)
        SEEN["came back"] += bool((now.visible - then.visible) & then.shown)
        SEEN["prefix gone"] += not said.prefix_survives
        SEEN["prefix survives a change"] += said.prefix_survives and bool(changed or reworded)

    async def call(self, name: str, *, through: bool) -> None:
        """A call is sent exactly where the model knows the tool as it is published now."""
        script = self.scripts[name.partition("__")[0]]
        before, at = len(script.calls), self.published.get(name)
        if through and self.toolset.exposure == "search":
            result = await self.toolset.call("call_tool", {"name": name, "args": {}})
        else:
            result = await self.toolset.call(name, {})
        self.uses[name] += name in self.taken
        code, reached = code_of(result), len(script.calls) - before
        knows = self.known.get(name)
        if at is None:
            assert (reached, code) == (0, "tool_gone") or code == "bad_arguments", (name, result)
        elif knows is not None and knows[0] != at[0]:
            assert (reached, code) == (0, "schema_changed"), (name, result)
            assert f"member{at[0]}" in str(result["structuredContent"])
            self.known[name] = at
            SEEN["refused for an old contract"] += 1
            SEEN["refused through call_tool"] += through and self.toolset.exposure == "search"
        elif name in self.known or name in self.taken:
            assert (reached, code) == (1, ""), (name, result)
            SEEN["reached"] += 1


async def play(script: tuple[Wanted, list[Step]]) -> None:
    exposure, steps = script
    start = {f"{server}__{name}": (0, 0) for server in SERVERS for name in NAMES}
    scripts = {it: ScriptedUpstream([definition(name, (0, 0)) for name in NAMES]) for it in SERVERS}
    settings = ExposureSettings(pinned_tokens=FITTING * ONE + 1)
    async with scripted_crib(scripts, exposure=settings) as (crib, _):
        await crib.catalogs().reach()
        await anyio.sleep(15)
        toolset = await crib.toolset(exposure=exposure, pin_used=USES)
        world = World(scripts, toolset, dict(start), dict(start))
        world.known = {name: start[name] for name in world.shown()}
        world.look_back()
        for step in steps:
            await world.play(step)
        await world.refresh(rewrite=False)


PLAYS = Plays(play, STEPS, examples=28)


def test_a_conversation_keeps_its_prefix_tells_what_changed_and_sends_nothing_contradicted() -> (
    None
):
    SEEN.clear()
    PLAYS.hold()
    assert {name for name, count in SEEN.items() if count} >= TO_BE_SEEN, SEEN


FAULTS = [
    CodeFault(
        "what came and went is told to have changed",
        delta._Folded._fold,  # pyright: ignore[reportPrivateUsage] - a fault is planted there
        "if name in self.appeared:",
        "if not name:",
    ),
    CodeFault(
        "a new list is taken for the old one",
        Conversation.begin,
        "self._lists += not goes_on",
        "self._lists += 0",
    ),
    CodeFault(
        "a call does not say what was seen",
        Toolset.call,
        "self._conversation.seen(meant)",
        "''",
    ),
    CodeFault(
        "a call through call_tool does not say it",
        Toolset.call,
        "self._conversation.seen(meant)",
        "self._conversation.seen(exposed)",
    ),
    CodeFault(
        "what was told is forgotten",
        Toolset.delta,
        "conversation.told(name, change.after)",
        "pass",
    ),
    CodeFault(
        "a refusal is forgotten",
        Conversation.informed,
        'self._told[name] = ""',
        "return",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_conversation_that_goes_wrong_is_noticed(
    fault: CodeFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault.plant(monkeypatch)
    PLAYS.fail()
