"""The era of a server is found by evidence, remembered, and doubted when it no longer holds."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from toolcrib.adapters.http.outcome import TRANSPORT_FAILED, HttpOutcome
from toolcrib.adapters.session.era import BELIEVED_FOR, EraSearch, NotStreamable
from toolcrib.adapters.session.session import Session
from toolcrib.errors import (
    AuthRequired,
    IncompatibleServer,
    RateLimited,
    RequestTimedOut,
    ToolcribError,
    UpstreamUnreachable,
)
from toolcrib.facts import EraFound
from toolcrib.ports import ClientProfile, EraMemory
from toolcrib.protocol.eras import TransportKind
from toolcrib.settings import Reconnect
from toolcrib.testing.session_rig import Message, Peer, SessionRig, open_rig, reopen
from toolcrib.testing.virtual_clock import EPOCH

pytestmark = pytest.mark.virtual_time

DISCOVERED: dict[str, Any] = {
    "supportedVersions": ["2026-07-28", "2025-11-25"],
    "capabilities": {"tools": {"listChanged": True}},
    "instructions": "be kind",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "1"}},
}
INITIALIZED: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "n", "version": "1"},
    "instructions": "be kind",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of a scripted server."""

    name: str
    act: Callable[[Peer, Message], None]

    def __str__(self) -> str:
        return self.name


def answers(result: dict[str, Any]) -> Step:
    return Step(f"answers {result}"[:60], lambda peer, message: peer.answer(message, **result))


def refuses(code: int, data: object = None, **outcome: Any) -> Step:
    told = HttpOutcome(**outcome) if outcome else None
    return Step(
        f"refuses {code} {data} {outcome}",
        lambda peer, message: peer.refuse(message, code, "why", data=data, outcome=told),
    )


def http(status: int | None, **fields: Any) -> Step:
    return refuses(TRANSPORT_FAILED, status=status, **fields)


def _ignore(peer: Peer, message: Message) -> None:
    del peer, message


def _hang_up(peer: Peer, message: Message) -> None:
    del message
    peer.hang_up()


hangs, exits = Step("hangs", _ignore), Step("exits", _hang_up)


class Script:
    """A server whose answers to each of the two openings are listed; the last is repeated."""

    def __init__(self, discover: list[Step], initialize: list[Step]) -> None:
        self._steps = {"server/discover": discover, "initialize": initialize}
        self.asked: list[str] = []

    async def __call__(self, peer: Peer, message: Message) -> None:
        method = message["method"]
        if method in self._steps:
            self.asked.append("discover" if "discover" in method else "initialize")
            steps = self._steps[method]
            (steps.pop(0) if len(steps) > 1 else steps[0]).act(peer, message)


@asynccontextmanager
async def searching(
    script: Script, kind: TransportKind, **options: Any
) -> AsyncGenerator[tuple[SessionRig, EraSearch]]:
    async with open_rig(script, http=kind != "stdio", **options) as rig:

        async def renew() -> Session:
            script.asked.append("renew")
            return await reopen(rig, script)

        yield rig, EraSearch(rig.attempt, rig.session, renew, kind)


def remembered(era: Any, *, age: float = 60.0) -> EraMemory:
    version = "2026-07-28" if era == "modern" else "2025-11-25"
    return EraMemory(era, version, EPOCH + anyio.current_time() - age)


# ---- modern ----


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_discover_result_is_a_modern_server(kind: TransportKind) -> None:
    script = Script([answers(DISCOVERED)], [answers(INITIALIZED)])
    async with searching(script, kind) as (rig, search):
        session = await search.run(None)
        assert session is rig.session
        facts = session.facts
    assert script.asked == ["discover"]
    assert (facts.era, facts.protocol_version) == ("modern", "2026-07-28")
    assert (facts.name, facts.version, facts.instructions) == ("n", "1", "be kind")
    assert facts.capabilities == {"tools": {"listChanged": True}}
    assert rig.facts.of(EraFound) == [EraFound("rig", "modern", "answered server/discover")]
    probe = rig.peer.sent("server/discover")[0]["params"]["_meta"]
    assert probe["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    if kind == "http":
        assert rig.peer.headers[0] == {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "server/discover",
        }


async def test_what_a_server_says_of_itself_may_be_missing_or_wrong() -> None:
    odd: dict[str, Any] = {
        "supportedVersions": ["2026-07-28"],
        "capabilities": 1,
        "instructions": [],
        "_meta": 2,
    }
    async with searching(Script([answers(odd)], [hangs]), "stdio") as (_, search):
        facts = (await search.run(None)).facts
    assert (facts.capabilities, facts.name, facts.version, facts.instructions) == ({}, "", "", "")


@pytest.mark.duty(16)
async def test_a_modern_error_that_names_a_mutual_revision_is_followed_by_that_revision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolcrib.protocol.eras.MODERN_VERSIONS", ("2026-07-28", "2026-01-01"))
    refusal = refuses(-32022, {"supported": ["2026-01-01"]})
    discovered = DISCOVERED | {"supportedVersions": ["2026-01-01"]}
    script = Script([refusal, answers(discovered)], [hangs])
    async with searching(script, "stdio") as (rig, search):
        assert (await search.run(None)).facts.protocol_version == "2026-01-01"
    metas = [message["params"]["_meta"] for message in rig.peer.sent("server/discover")]
    assert [meta["io.modelcontextprotocol/protocolVersion"] for meta in metas] == [
        "2026-07-28",
        "2026-01-01",
    ]


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize(
    ("step", "says"),
    [
        (refuses(-32022, {"supported": ["2027-01-01"]}), "2027-01-01"),
        (refuses(-32022), "names no other"),
        (refuses(-32020), "-32020"),
        (refuses(-32021, {"requiredCapabilities": {"roots": {}, "a": {}}}), "declare: a, roots"),
        (refuses(-32021, [1]), "declare: unnamed"),
        (answers({"supportedVersions": ["2027-01-01"]}), "2027-01-01"),
        (answers({**DISCOVERED, "resultType": "weird"}), "resultType `weird`"),
        (answers({**DISCOVERED, "resultType": "input_required"}), "resultType `input_required`"),
    ],
    ids=str,
)
async def test_a_modern_server_without_a_common_revision_is_named_and_never_initialized(
    step: Step, says: str, kind: TransportKind
) -> None:
    script = Script([step], [answers(INITIALIZED)])
    async with searching(script, kind) as (_, search):
        with pytest.raises(IncompatibleServer) as caught:
            await search.run(None)
    assert says in caught.value.message
    assert script.asked == ["discover"]


@pytest.mark.duty(16)
@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_refusal_that_names_the_refused_revision_itself_is_taken_at_its_word_once(
    kind: TransportKind,
) -> None:
    refusal = refuses(-32022, {"supported": ["2026-07-28"]})
    script = Script([refusal, answers(DISCOVERED)], [answers(INITIALIZED)])
    async with searching(script, kind) as (_, search):
        assert (await search.run(None)).facts.era == "modern"
    assert script.asked == ["discover"] * 2
    script = Script([refusal], [answers(INITIALIZED)])
    async with searching(script, kind) as (_, search):
        with pytest.raises(IncompatibleServer, match="claims to support"):
            await search.run(None)
    assert script.asked == ["discover"] * 2


# ---- handshake ----


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize(
    "step",
    [
        refuses(-32601),
        refuses(-32602),
        refuses(-32600),
        refuses(-32000),
        refuses(-32603),
        refuses(-1),
        refuses(-32022, {"supported": ["2025-06-18"]}),
        answers({"supportedVersions": ["2025-11-25"]}),
        answers({}),
        answers({"supportedVersions": "2026-07-28"}),
    ],
    ids=str,
)
async def test_any_other_answer_of_the_server_itself_means_a_handshake(
    step: Step, kind: TransportKind
) -> None:
    script = Script([step], [answers(INITIALIZED)])
    async with searching(script, kind) as (rig, search):
        facts = (await search.run(None)).facts
    assert script.asked == ["discover", "initialize"]
    assert (facts.era, facts.protocol_version) == ("handshake", "2025-06-18")
    assert (facts.name, facts.version, facts.instructions) == ("n", "1", "be kind")
    assert [fact.era for fact in rig.facts.of(EraFound)] == ["handshake"]


async def test_the_handshake_is_spoken_as_it_should_be() -> None:
    script = Script([refuses(-32601)], [answers(INITIALIZED)])
    profile = ClientProfile({"roots": {}}, name="crib", version="3")
    async with searching(script, "http", profile=profile) as (rig, search):
        session = await search.run(None)
        await session.notify("notifications/x")
    _, initialize, initialized, _ = rig.peer.received
    assert initialize["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "crib", "version": "3"},
    }
    assert initialized == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    version = {"MCP-Protocol-Version": "2025-06-18"}
    assert rig.peer.headers[1:] == [None, version, version]


@pytest.mark.parametrize("step", [http(400), http(404), http(405), http(406), http(422)], ids=str)
async def test_an_http_refusal_without_a_modern_body_means_a_handshake(step: Step) -> None:
    script = Script([step], [answers(INITIALIZED)])
    async with searching(script, "http") as (_, search):
        assert (await search.run(None)).facts.era == "handshake"


@pytest.mark.parametrize(
    "version",
    ["1999-01-01", "2026-07-28", "", 5, None],
    ids=["old", "modern", "empty", "5", "none"],
)
async def test_an_unknown_version_in_the_answer_to_initialize_is_incompatible(
    version: object,
) -> None:
    script = Script([refuses(-32601)], [answers(INITIALIZED | {"protocolVersion": version})])
    async with searching(script, "stdio") as (rig, search):
        with pytest.raises(IncompatibleServer):
            await search.run(None)
    assert rig.peer.sent("notifications/initialized") == []


async def test_a_server_that_refuses_both_openings_is_quoted() -> None:
    script = Script([refuses(-32601)], [refuses(-32603)])
    async with searching(script, "stdio") as (_, search):
        with pytest.raises(
            IncompatibleServer, match=r"refused initialize with error -32603 \(why\)"
        ):
            await search.run(None)


# ---- processes that hang or exit ----


@pytest.mark.duty(17)
@pytest.mark.parametrize(("first", "patience"), [(exits, 0.0), (hangs, 4.0)], ids=str)
async def test_a_process_that_hangs_or_exits_at_the_probe_is_started_anew(
    first: Step, patience: float
) -> None:
    script = Script([first], [answers(INITIALIZED)])
    async with searching(script, "stdio", reconnect=Reconnect(probe_timeout=4.0)) as (rig, search):
        began = anyio.current_time()
        session = await search.run(None)
        assert anyio.current_time() - began == patience
        assert session.facts.era == "handshake"
        assert session is rig.session
    assert script.asked == ["discover", "renew", "initialize"]
    assert len(rig.peers) == 2
    assert [one["method"] for one in rig.peer.received] == [
        "initialize",
        "notifications/initialized",
    ]


@pytest.mark.parametrize("first", [exits, hangs], ids=str)
async def test_a_process_upset_by_a_refused_probe_gets_a_second_start(first: Step) -> None:
    script = Script([refuses(-32601)], [first, answers(INITIALIZED)])
    async with searching(script, "stdio") as (_, search):
        assert (await search.run(None)).facts.era == "handshake"
    assert script.asked == ["discover", "initialize", "renew", "initialize"]


@pytest.mark.parametrize(("last", "kind"), [(exits, UpstreamUnreachable), (hangs, RequestTimedOut)])
async def test_a_process_that_never_comes_up_says_so(last: Step, kind: type[ToolcribError]) -> None:
    script = Script([exits], [last])
    async with searching(script, "stdio") as (rig, search):
        with pytest.raises(kind) as caught:
            await search.run(None)
        assert caught.value.server == "rig"
    assert script.asked == ["discover", "renew", "initialize"]
    assert rig.facts.of(EraFound) == []


async def test_a_slow_modern_process_names_itself_when_it_is_initialized() -> None:
    refusal = refuses(-32022, {"supported": ["2026-07-28"]})
    script = Script([hangs, answers(DISCOVERED)], [refusal])
    async with searching(script, "stdio") as (rig, search):
        session = await search.run(None)
        assert session.facts.era == "modern"
        rig.peer.ask(1, "ping")
        await anyio.wait_all_tasks_blocked()
        assert "result" not in rig.peer.received[-1], "a modern server is never answered"
    assert script.asked == ["discover", "renew", "initialize", "discover"]


async def test_a_server_that_contradicts_itself_is_asked_a_bounded_number_of_times() -> None:
    script = Script([refuses(-32601)], [refuses(-32022, {"supported": ["2026-07-28"]})])
    async with searching(script, "stdio") as (_, search):
        with pytest.raises(IncompatibleServer, match="contradicts itself"):
            await search.run(None)
    assert len(script.asked) == 5


# ---- what is no evidence ----


@pytest.mark.duty(17)
@pytest.mark.parametrize("age", [None, 60.0], ids=["unknown", "remembered-modern"])
@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (http(401), AuthRequired),
        (http(403), AuthRequired),
        (http(429), RateLimited),
        (http(500), UpstreamUnreachable),
        (http(502), UpstreamUnreachable),
        (http(503), UpstreamUnreachable),
        (refuses(-32603, status=503, from_server=True), UpstreamUnreachable),
        (http(None, fault="connect_refused"), UpstreamUnreachable),
        (http(None, fault="reset"), UpstreamUnreachable),
        (http(302, fault="redirect"), UpstreamUnreachable),
        (hangs, RequestTimedOut),
    ],
    ids=str,
)
async def test_an_outage_over_http_decides_nothing(
    step: Step, kind: type[ToolcribError], age: float | None
) -> None:
    script = Script([step], [answers(INITIALIZED)])
    async with searching(script, "http") as (rig, search):
        memory = None if age is None else remembered("modern", age=age)
        with pytest.raises(ToolcribError) as caught:
            await search.run(memory)
        assert type(caught.value) is kind
    assert script.asked == ["discover"]
    assert rig.facts.of(EraFound) == []


@pytest.mark.parametrize(("kind", "seconds"), [("stdio", 5.0), ("http", 20.0)])
async def test_silence_is_an_answer_on_stdio_only_and_comes_sooner_there(
    kind: TransportKind, seconds: float
) -> None:
    async with searching(Script([hangs], [exits]), kind) as (_, search):
        began = anyio.current_time()
        with pytest.raises(ToolcribError):
            await search.run(None)
        assert anyio.current_time() - began == seconds


async def test_an_outage_that_asks_for_patience_is_told_so() -> None:
    step = refuses(-32603, status=503, from_server=True, retry_after=7.0)
    async with searching(Script([step], [hangs]), "http") as (_, search):
        with pytest.raises(UpstreamUnreachable) as caught:
            await search.run(None)
    assert caught.value.details["retry_after"] == 7.0


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_url_that_refuses_both_openings_may_be_one_of_http_sse(status: int) -> None:
    script = Script([http(status)], [http(status)])
    async with searching(script, "http") as (_, search):
        with pytest.raises(NotStreamable):
            await search.run(None)
    assert script.asked == ["discover", "initialize"]


async def test_over_http_sse_there_is_nothing_to_probe() -> None:
    script = Script([hangs], [answers(INITIALIZED)])
    async with searching(script, "sse") as (_, search):
        assert (await search.run(None)).facts.era == "handshake"
    assert script.asked == ["initialize"]


# ---- memory ----


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_remembered_handshake_spares_the_probe(kind: TransportKind) -> None:
    script = Script([hangs], [answers(INITIALIZED)])
    async with searching(script, kind) as (rig, search):
        await search.run(remembered("handshake"))
        assert search.resuming
    assert script.asked == ["initialize"]
    assert rig.facts.of(EraFound) == [EraFound("rig", "handshake", "remembered")]


@pytest.mark.duty(17)
@pytest.mark.parametrize(("kind", "starts"), [("stdio", 2), ("http", 1)])
@pytest.mark.parametrize("code", [-32601, -32602, -32020])
async def test_a_remembered_handshake_that_is_refused_is_probed(
    kind: TransportKind, starts: int, code: int
) -> None:
    script = Script([answers(DISCOVERED)], [refuses(code)])
    async with searching(script, kind) as (rig, search):
        assert (await search.run(remembered("handshake"))).facts.era == "modern"
        assert not search.resuming
    assert [step for step in script.asked if step != "renew"] == ["initialize", "discover"]
    assert len(rig.peers) == starts


@pytest.mark.duty(17)
@pytest.mark.parametrize("age", [BELIEVED_FOR, -10.0], ids=["too-old", "from-the-future"])
async def test_an_old_memory_is_not_believed(age: float) -> None:
    script = Script([answers(DISCOVERED)], [answers(INITIALIZED)])
    async with searching(script, "stdio") as (_, search):
        assert (await search.run(remembered("handshake", age=age))).facts.era == "modern"
    assert script.asked == ["discover"]


async def test_a_remembered_modern_process_may_be_slow() -> None:
    delayed: list[tuple[Peer, Message]] = []
    slowly = Step("slowly", lambda peer, message: delayed.append((peer, message)))

    async def later() -> None:
        await anyio.sleep(15.0)
        peer, message = delayed[0]
        peer.answer(message, **DISCOVERED)

    script = Script([slowly], [answers(INITIALIZED)])
    async with searching(script, "stdio") as (_, search), anyio.create_task_group() as tasks:
        tasks.start_soon(later)
        assert (await search.run(remembered("modern"))).facts.era == "modern"
    assert script.asked == ["discover"]


async def test_a_remembered_modern_process_that_became_older_is_found_out() -> None:
    script = Script([refuses(-32601)], [answers(INITIALIZED)])
    async with searching(script, "stdio") as (_, search):
        assert (await search.run(remembered("modern"))).facts.era == "handshake"


async def test_a_failure_of_a_remembered_start_can_be_told() -> None:
    async with searching(Script([hangs], [exits]), "stdio") as (_, search):
        with pytest.raises(UpstreamUnreachable):
            await search.run(remembered("handshake"))
        assert search.resuming
