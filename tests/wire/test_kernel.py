"""What is the same on every transport: shapes, methods, errors, the envelope of results."""

from typing import Any

import anyio
import pytest

from toolcrib.core.partition import LOCAL
from toolcrib.errors import UpstreamUnreachable
from toolcrib.testing.fake_service import FakeService, host_request
from toolcrib.wire.audience import Topic
from toolcrib.wire.faults import RpcFault, invalid_params
from toolcrib.wire.jsonwire import Result
from toolcrib.wire.kernel import Kernel, refusal_before_handshake
from toolcrib.wire.progress import ProgressRelay
from toolcrib.wire.service import HostRequest

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
SERVER_INFO = "io.modelcontextprotocol/serverInfo"


async def fault(kernel: Kernel, request: HostRequest) -> RpcFault:
    with pytest.raises(RpcFault) as raised:
        await kernel.respond(request)
    return raised.value


async def test_a_modern_result_is_passed_with_unknown_members_in_their_order() -> None:
    raw = {"x-vendor": {"b": 1, "a": None}, "content": [{"type": "new", "k": 1}], "isError": False}
    answered = await Kernel(FakeService(raw)).respond(host_request("tools/call", {"name": "t"}))
    assert isinstance(answered, dict)
    assert answered["x-vendor"] == {"b": 1, "a": None}
    assert list(answered["x-vendor"]) == ["b", "a"]
    assert answered["content"] == raw["content"]
    assert answered["resultType"] == "complete"
    assert answered["_meta"] == {SERVER_INFO: {"name": "fake", "version": "1", "title": "Fake"}}


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_a_handshake_result_has_no_envelope(version: str) -> None:
    kernel = Kernel(FakeService({"content": [], "ttlMs": 3, "structuredContent": [1]}))
    answered = await kernel.respond(host_request("tools/call", {"name": "t"}, version))
    assert answered == {"content": [{"type": "text", "text": "[1]"}]}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 3}),
        ("tools/call", {"name": "t", "arguments": []}),
        ("tools/call", {"name": "t", "arguments": "x"}),
        ("tools/list", {"cursor": 3}),
        ("prompts/get", {}),
        ("resources/read", {"uri": None}),
        ("completion/complete", {"ref": {"type": "ref/unknown"}, "argument": {}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}}),
    ],
)
@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
async def test_malformed_parameters_are_refused_without_quoting_them(
    method: str, params: dict[str, Any], version: str
) -> None:
    service = FakeService()
    refused = await fault(Kernel(service), host_request(method, params, version))
    assert refused.code == -32602
    assert service.asked == []
    assert refused.data is None


async def test_a_refusal_names_the_place_and_not_the_value() -> None:
    params = {"name": "t", "arguments": "hunter2"}
    refused = await fault(Kernel(FakeService()), host_request("tools/call", params))
    assert "params.arguments" in refused.message
    assert "hunter2" not in refused.message


@pytest.mark.parametrize("lacking", ["protocolVersion", "clientCapabilities"])
async def test_an_envelope_that_lacks_a_member_is_refused(lacking: str) -> None:
    request = host_request("tools/list")
    meta = request.params["_meta"]
    del meta[f"io.modelcontextprotocol/{lacking}"]
    assert (await fault(Kernel(FakeService()), request)).code == -32602


@pytest.mark.parametrize(
    ("method", "version"),
    [
        ("nonsense", "2026-07-28"),
        ("nonsense", "2025-11-25"),
        ("ping", "2026-07-28"),
        ("logging/setLevel", "2026-07-28"),
        ("resources/subscribe", "2026-07-28"),
        ("initialize", "2026-07-28"),
        ("server/discover", "2025-11-25"),
        ("subscriptions/listen", "2025-11-25"),
        ("tasks/get", "2025-11-25"),
    ],
)
async def test_a_method_that_the_revision_does_not_have_is_not_found(
    method: str, version: str
) -> None:
    refused = await fault(Kernel(FakeService()), host_request(method, {}, version))
    assert (refused.code, refused.data) == (-32601, method)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": "file:///a"}),
        ("resources/unsubscribe", {"uri": "file:///a"}),
    ],
)
async def test_what_we_do_not_declare_is_not_found_either(
    method: str, params: dict[str, Any]
) -> None:
    request = host_request(method, params, "2025-11-25")
    assert (await fault(Kernel(FakeService()), request)).code == -32601


async def test_ping_is_answered_in_the_handshake_revisions() -> None:
    assert await Kernel(FakeService()).respond(host_request("ping", {}, "2025-11-25")) == {}


async def test_discovery_names_versions_capabilities_and_instructions() -> None:
    answered = await Kernel(FakeService()).respond(host_request("server/discover"))
    assert isinstance(answered, dict)
    assert answered.pop("_meta")[SERVER_INFO]["name"] == "fake"
    assert answered == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": True}},
        "instructions": "Ask anything.",
        "ttlMs": 0,
        "cacheScope": "private",
    }


async def test_errors_of_the_service_leave_as_faults() -> None:
    service = FakeService()
    kernel = Kernel(service)
    errors: list[Exception] = [
        invalid_params("no", {"uri": "u"}),
        UpstreamUnreachable("down", server="alpha"),
        ZeroDivisionError("the inside"),
    ]

    async def fail(_request: HostRequest) -> Result:
        raise errors.pop(0)

    service.script = fail
    request = host_request("tools/call", {"name": "t"})
    first = await fault(kernel, request)
    assert (first.code, first.message, first.data) == (-32602, "no", {"uri": "u"})
    second = await fault(kernel, request)
    assert second.code == -32603
    assert second.message == "down"
    third = await fault(kernel, request)
    assert (third.code, third.message) == (-32603, "Internal error")


@pytest.mark.parametrize("broken", [False, True], ids=["answered", "failed"])
async def test_progress_ends_with_the_request_however_it_ends(*, broken: bool) -> None:
    heard: list[str] = []

    async def notify(method: str, _params: object) -> None:
        heard.append(method)

    relay = ProgressRelay("t", notify)

    async def work(request: HostRequest) -> Result:
        assert request.progress is relay
        await relay(1.0, None, None)
        if broken:
            raise invalid_params("no")
        return {"content": []}

    service = FakeService()
    service.script = work
    request = host_request("tools/call", {"name": "t"}, progress=relay)
    if broken:
        await fault(Kernel(service), request)
    else:
        await Kernel(service).respond(request)
    await relay(2.0, None, None)
    assert heard == ["notifications/progress"]


def test_before_the_handshake_served_and_unserved_methods_are_told_apart() -> None:
    assert refusal_before_handshake("tools/list").code == -32600
    assert refusal_before_handshake("server/discover").code == -32601
    assert refusal_before_handshake("logging/setLevel").code == -32601


# ---- subscriptions/listen ----

LISTEN = "subscriptions/listen"
ID_KEY = "io.modelcontextprotocol/subscriptionId"


class Stream(list[tuple[str, dict[str, Any]]]):
    """What one listen stream carried."""

    def __init__(self) -> None:
        super().__init__()
        self._grew = anyio.Event()

    async def notify(self, method: str, params: Any) -> None:
        self.append((method, params))
        self._grew.set()
        self._grew = anyio.Event()

    async def wait(self, count: int) -> None:
        with anyio.fail_after(5):
            while len(self) < count:
                await self._grew.wait()


@pytest.mark.duty(29)
async def test_a_listen_stream_acknowledges_first_and_only_what_it_will_tell() -> None:
    service, stream = FakeService(), Stream()
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": False,
        "resourceSubscriptions": ["file:///a"],
    }
    params = {"notifications": wanted}
    request = host_request(LISTEN, params, id="sub-1", notify=stream.notify)
    results: list[Result] = []

    async def run() -> None:
        results.append(await Kernel(service).respond(request))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await stream.wait(1)
        (subscriber,) = service.audience(LOCAL).subscribers()
        subscriber.tell(Topic.PROMPTS)
        subscriber.tell(Topic.TOOLS)
        await stream.wait(2)
        service.audience(LOCAL).close()
    meta = {ID_KEY: "sub-1"}
    acknowledged = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    assert stream == [
        ("notifications/subscriptions/acknowledged", acknowledged),
        ("notifications/tools/list_changed", {"_meta": meta}),
    ]
    (result,) = results
    assert isinstance(result, dict)
    assert result["resultType"] == "complete"
    assert result["_meta"][ID_KEY] == "sub-1"
    assert len(service.audience(LOCAL)) == 0


@pytest.mark.duty(29)
async def test_a_change_during_the_acknowledgement_is_told_after_it() -> None:
    service, stream = FakeService(), Stream()

    async def notify(method: str, params: Any) -> None:
        if not stream:
            (subscriber,) = service.audience(LOCAL).subscribers()
            subscriber.tell(Topic.TOOLS)
            service.audience(LOCAL).close()
        await stream.notify(method, params)

    request = host_request(LISTEN, {"notifications": {"toolsListChanged": True}}, notify=notify)
    with anyio.fail_after(5):
        await Kernel(service).respond(request)
    assert [method.rpartition("/")[2] for method, _ in stream] == ["acknowledged", "list_changed"]


async def test_a_listen_stream_that_is_cancelled_leaves_its_audience() -> None:
    service, stream = FakeService(), Stream()
    request = host_request(LISTEN, {"notifications": {}}, notify=stream.notify)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(Kernel(service).respond, request)
        await stream.wait(1)
        assert len(service.audience(LOCAL)) == 1
        tasks.cancel_scope.cancel()
    assert len(service.audience(LOCAL)) == 0
    assert stream == [
        (
            "notifications/subscriptions/acknowledged",
            {"notifications": {}, "_meta": {ID_KEY: 1}},
        )
    ]


@pytest.mark.parametrize("params", [{}, {"notifications": []}, {"notifications": None}], ids=repr)
async def test_a_listen_request_without_a_filter_is_refused(params: dict[str, Any]) -> None:
    assert (await fault(Kernel(FakeService()), host_request(LISTEN, params))).code == -32602
