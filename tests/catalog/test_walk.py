from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib.catalog import walk
from toolcrib.catalog.walk import LARGE_PAGE, failure_of, fetch_page
from toolcrib.core.freshness.events import Failure, FailureKind
from toolcrib.core.snapshot import Kind, Page, Scope
from toolcrib.errors import (
    AuthRequired,
    IncompatibleServer,
    LimitExceeded,
    RateLimited,
    RequestTimedOut,
    ToolcribError,
    UpstreamRefused,
    UpstreamUnreachable,
)
from toolcrib.ports import Era, Progress, RequestContext, ServerFacts
from toolcrib.settings import Limits
from toolcrib.testing.fake_access import snapshot_of
from toolcrib.testing.scripted import tool
from toolcrib.testing.virtual_clock import LoopClock


class Line:
    """A live connection that answers one thing and keeps what it was asked."""

    def __init__(self, answer: dict[str, Any] | ToolcribError, era: Era = "handshake") -> None:
        self.answer = answer
        self.facts = ServerFacts(era, "2026-07-28", {})
        self.closed = False
        self.stderr = ""
        self.asked: list[tuple[str, Mapping[str, Any] | None, float | None]] = []

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        headers: Mapping[str, str] | None = None,
        context: RequestContext | None = None,
    ) -> dict[str, Any]:
        self.asked.append((method, params, timeout))
        if isinstance(self.answer, ToolcribError):
            raise self.answer
        return self.answer

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        raise AssertionError(method)

    async def wait_closed(self) -> str:
        raise AssertionError


async def fetched(line: Line, cursor: str | None = None, **changes: Any) -> Page | Failure:
    given: dict[str, Any] = {
        "clock": LoopClock(),
        "limits": Limits(),
        "timeout": 20.0,
        "known": {},
        **changes,
    }
    return await fetch_page(line, Kind.TOOLS, cursor, **given)


@pytest.mark.parametrize("kind", list(Kind))
async def test_the_first_request_carries_no_cursor_key_and_the_next_exactly_its_cursor(
    kind: Kind,
) -> None:
    line = Line({kind.field: []})
    for cursor in (None, "", "0", "eyJvIjoyfQ=="):
        page = await fetch_page(
            line, kind, cursor, clock=LoopClock(), limits=Limits(), timeout=7.0, known={}
        )
        assert isinstance(page, Page)
    assert line.asked == [
        (kind.method, {}, 7.0),
        (kind.method, {"cursor": ""}, 7.0),
        (kind.method, {"cursor": "0"}, 7.0),
        (kind.method, {"cursor": "eyJvIjoyfQ=="}, 7.0),
    ]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AuthRequired("no"), FailureKind.FORBIDDEN),
        (RateLimited("slow down"), FailureKind.RATE_LIMITED),
        (RequestTimedOut("late"), FailureKind.TIMEOUT),
        (LimitExceeded("too large"), FailureKind.LIMIT),
        (UpstreamUnreachable("gone"), FailureKind.TRANSPORT),
        (IncompatibleServer("odd"), FailureKind.TRANSPORT),
        (UpstreamRefused("oops", rpc_code=-32603), FailureKind.TRANSPORT),
        (UpstreamRefused("oops", rpc_code=-32000), FailureKind.TRANSPORT),
        (UpstreamRefused("what page", rpc_code=-32602), FailureKind.TRANSPORT),
    ],
)
async def test_every_error_is_a_failure_of_its_kind(
    error: ToolcribError, kind: FailureKind
) -> None:
    failure = await fetched(Line(error))
    assert isinstance(failure, Failure)
    assert failure.kind is kind
    assert error.message in failure.detail


def test_the_wait_a_server_asks_for_is_kept() -> None:
    asked = RateLimited("slow down", details={"retry_after": 17.0})
    assert failure_of(asked).retry_after == 17.0
    assert failure_of(RateLimited("slow down")).retry_after is None


@pytest.mark.parametrize("cursor", [None, "2"])
async def test_the_wait_asked_for_with_the_servers_own_error_is_kept_too(
    cursor: str | None,
) -> None:
    busy = UpstreamRefused("busy", rpc_code=-32000, http_status=503, retry_after=30.0)
    failure = await fetched(Line(busy), cursor)
    assert isinstance(failure, Failure)
    assert (failure.kind, failure.retry_after) == (FailureKind.TRANSPORT, 30.0)


async def test_only_a_cursor_can_be_refused() -> None:
    refusal = UpstreamRefused("unknown cursor", rpc_code=-32602)
    failure = await fetched(Line(refusal), "2")
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.REFUSED_CURSOR
    other = await fetched(Line(UpstreamRefused("oops", rpc_code=-32603)), "2")
    assert isinstance(other, Failure)
    assert other.kind is FailureKind.TRANSPORT


async def test_a_server_that_does_not_know_the_method_has_nothing_of_that_kind() -> None:
    unknown = UpstreamRefused("Method not found", rpc_code=-32601)
    page = await fetched(Line(unknown))
    assert isinstance(page, Page)
    assert (page.items, page.next_cursor) == ((), None)


async def test_a_server_that_forgets_the_method_in_mid_walk_fails_it() -> None:
    unknown = UpstreamRefused("Method not found", rpc_code=-32601)
    failure = await fetched(Line(unknown), "2")
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.TRANSPORT


@pytest.mark.parametrize(
    "result",
    [
        {},
        {"tools": None},
        {"tools": {"a": {}}},
        {"tools": [], "nextCursor": 3},
        {"error": "no"},
        {"tools": "a"},
    ],
    ids=repr,
)
async def test_a_result_that_is_no_list_result_is_malformed(result: dict[str, Any]) -> None:
    failure = await fetched(Line(result))
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.MALFORMED


async def test_a_giant_cursor_is_malformed_and_told_in_a_line() -> None:
    failure = await fetched(Line({"tools": [], "nextCursor": "x" * 5_000_000}))
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.MALFORMED
    assert "5,000,000 bytes" in failure.detail
    assert len(failure.detail) < 200


async def test_a_page_says_when_it_was_received_and_what_was_odd_about_its_hints() -> None:
    line = Line(
        {"resultType": "complete", "tools": [tool("a")], "ttlMs": -5, "cacheScope": "tenant"},
        "modern",
    )
    clock = LoopClock()
    page = await fetched(line, clock=clock)
    assert isinstance(page, Page)
    assert page.received.mono <= clock.now().mono
    assert (page.hints.ttl, page.hints.scope) == (0.0, Scope.PRIVATE)
    assert len(page.hints.oddities) == 2


async def test_the_configured_limits_hold() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(10):
        deep = {"type": "object", "properties": {"a": deep}}
    line = Line(
        {
            "resultType": "complete",
            "tools": [tool("flat"), {"name": "deep", "inputSchema": deep}],
            "ttlMs": 90_000,
            "cacheScope": "public",
        },
        "modern",
    )
    page = await fetched(line, limits=Limits(schema_depth=5, ttl_clamp=10.0))
    assert isinstance(page, Page)
    assert [item.key for item in page.items] == ["flat"]
    assert page.hints.ttl == 10.0
    for limits, setting in (
        (Limits(schema_bytes=150), "schema_bytes"),
        (Limits(definition_bytes=150), "definition_bytes"),
    ):
        page = await fetched(line, limits=limits)
        assert isinstance(page, Page)
        assert [item.key for item in page.items] == ["flat"]
        assert setting in page.quarantined[0].detail


async def test_what_is_known_and_unchanged_is_the_same_object() -> None:
    known = snapshot_of(Kind.TOOLS, [tool("a"), tool("b")])
    line = Line({"tools": [tool("a"), tool("b", x={"type": "string"})]})
    page = await fetched(line, known={item.fingerprint: item for item in known.items})
    assert isinstance(page, Page)
    assert page.items[0] is known.get("a")
    assert page.items[1] is not known.get("b")


@pytest.mark.parametrize("many", [LARGE_PAGE, LARGE_PAGE + 1])
async def test_a_large_page_is_parsed_off_the_event_loop_and_gives_the_same(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    run_sync = walk.anyio.to_thread.run_sync

    async def counted(parse: Any) -> Any:
        threads.append("one")
        return await run_sync(parse)

    monkeypatch.setattr(walk.anyio.to_thread, "run_sync", counted)
    page = await fetched(Line({"tools": [tool(f"t{n}") for n in range(many)]}))
    assert isinstance(page, Page)
    assert len(page.items) == many
    assert len(threads) == (many > LARGE_PAGE)


async def test_a_large_page_that_is_malformed_is_a_failure_too() -> None:
    line = Line({"tools": [tool(f"t{n}") for n in range(LARGE_PAGE + 1)], "nextCursor": 1})
    failure = await fetched(line)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.MALFORMED
