"""Serves one request: the rules first, then what is right; the wire only carries it out."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

import anyio

from toolcrib.testing.server.actions import (
    Action,
    Answer,
    Ask,
    Change,
    Cut,
    Delay,
    Drop,
    Ending,
    Exit,
    Fail,
    Forget,
    Garble,
    Hang,
    Honour,
    Leave,
    Mute,
    Noise,
    Pad,
    Progress,
    Refuse,
    Say,
    Shaping,
    Signal,
    Telling,
)
from toolcrib.testing.server.answers import KINDS, answer, capabilities
from toolcrib.testing.server.exchange import Exchange
from toolcrib.testing.server.listing import Place
from toolcrib.testing.server.outlets import Outlet, changed
from toolcrib.testing.server.revision import (
    INVALID_PARAMS,
    LIST_CHANGED,
    METHOD_NOT_FOUND,
    SUBSCRIPTION_ID,
    Rejection,
    check_version,
    error_status,
    mapping,
    meta_of,
    params_of,
)
from toolcrib.testing.server.rulebook import LISTEN
from toolcrib.testing.server.script import Arrival, Script

__all__ = ["attend", "serve"]

_PAD: Final = "dev.toolcrib.testing/padding"


async def attend(script: Script, actions: Sequence[Action]) -> Ending | None:
    """Carry out what is to be done with what is no request; the ending, if one is wanted."""
    for action in actions:
        match action:
            case Delay():
                await anyio.sleep(action.seconds)
            case Change():
                script.set(action.content)
            case Signal():
                await script.outlets.signal(action.kind, action.count)
            case _ if isinstance(action, Ending):
                return action
            case _:
                continue
    return None


async def serve(script: Script, request: Mapping[str, Any], exchange: Exchange) -> None:
    """Serve one request from its arrival to its answer, or to whatever it gets instead."""
    arrival = script.receive(request, exchange.heard)
    scope = script.fly(exchange.peer, request.get("id"))
    try:
        with scope:
            await _Service(script, arrival, exchange).run()
    finally:
        script.land(exchange.peer, request.get("id"))


class _Service:
    """The steps of serving one request."""

    def __init__(self, script: Script, arrival: Arrival, exchange: Exchange) -> None:
        self._script = script
        self._arrival = arrival
        self._exchange = exchange
        self._id = arrival.request.get("id")
        self._padding = 0
        self._late: list[Signal] = []
        self._leave: Exit | None = None
        self._honoured: frozenset[str] | None = None
        # The content is read now: what a delay lets in between must not be in the answer.
        self._answer = self._right_answer()

    async def run(self) -> None:
        """The actions in their order, then the answer, then what comes after it."""
        if not any(isinstance(action, Refuse) for action in self._arrival.actions):
            await self._exchange.accept()
        for action in self._arrival.actions:
            if isinstance(action, Ending):
                await self._end(action)
                return
            if isinstance(action, Shaping):
                self._shape(action)
            else:
                await self._tell(action)
        if self._listens:
            await self._listen(mute=False, acknowledges=True)
            return
        await self._take_time()
        await self._send(self._answer)
        await self._follow_up()

    async def _follow_up(self) -> None:
        for signal in self._late:
            await self._script.outlets.signal(signal.kind, signal.count)
        if self._leave is not None:
            await self._exchange.end(self._leave, {})

    @property
    def _listens(self) -> bool:
        """Whether it is a listen that this server serves."""
        return self._arrival.method == LISTEN and not isinstance(self._answer, Rejection)

    # ------------------------------------------------------------ the right answer

    def _right_answer(self) -> Mapping[str, Any] | Rejection:
        request, modern = self._arrival.request, self._arrival.modern
        wrong = self._exchange.reject(request, modern=modern)
        if wrong is None and modern:
            wrong = check_version(request, self._script.profile)
        if wrong is not None:
            return wrong
        if kind := KINDS.get(self._arrival.method):
            place = self._arrival.place
            if not isinstance(place, Place):
                return Rejection(INVALID_PARAMS, str(place))
            return self._script.lister.page(kind, place, modern=modern)
        if self._arrival.method == LISTEN:
            if modern:
                return {"resultType": "complete", "_meta": {SUBSCRIPTION_ID: self._id}}
            return Rejection(METHOD_NOT_FOUND, f"method not found: {LISTEN}")
        return answer(request, self._script.profile, self._script.content, modern=modern)

    async def _take_time(self) -> None:
        kind = KINDS.get(self._arrival.method)
        if kind is not None and isinstance(self._arrival.place, Place):
            number = self._script.lister.number(kind, self._arrival.place)
            await anyio.sleep(self._script.lister.latency(number))

    def _message(self, outcome: Mapping[str, Any] | Rejection) -> dict[str, Any]:
        if isinstance(outcome, Rejection):
            error: dict[str, Any] = {"code": outcome.code, "message": outcome.message}
            if outcome.data is not None:
                error["data"] = outcome.data
            return {"jsonrpc": "2.0", "id": self._id, "error": error}
        result = dict(outcome)
        if self._padding:
            result["_meta"] = {**result.get("_meta", {}), _PAD: "x" * self._padding}
        return {"jsonrpc": "2.0", "id": self._id, "result": result}

    async def _send(self, outcome: Mapping[str, Any] | Rejection) -> None:
        status = 200
        if isinstance(outcome, Rejection):
            status = outcome.status or error_status(outcome.code, modern=self._arrival.modern)
        await self._exchange.answer(self._message(outcome), status)
        if self._arrival.method == "initialize" and not isinstance(outcome, Rejection):
            self._script.tally.add(sessions=1)

    # ------------------------------------------------------------ actions

    async def _tell(self, action: Telling) -> None:
        match action:
            case Delay():
                await anyio.sleep(action.seconds)
            case Noise():
                await self._exchange.make_noise(action.line, action.to)
            case Signal():
                await self._signal(action)
            case Progress():
                await self._report(action)
            case Ask():
                message, answered = self._script.ask(action.method, action.params)
                await self._exchange.say(message)
                await answered.wait()
            case Say():
                said = {"jsonrpc": "2.0", "method": action.method, "params": dict(action.params)}
                await self._exchange.say(said)
            case _:
                assert_never(action)

    def _shape(self, action: Shaping) -> None:
        match action:
            case Change():
                self._script.set(action.content)
            case Pad():
                self._padding += action.size
            case Honour():
                self._honoured = frozenset(kind.capability for kind in action.kinds)
            case Leave():
                self._leave = Exit(action.status)
            case _:
                assert_never(action)

    async def _signal(self, signal: Signal) -> None:
        if signal.late:
            self._late.append(signal)
        elif signal.unasked:
            await self._exchange.say(changed(signal.kind), signal.count)
        else:
            await self._script.outlets.signal(signal.kind, signal.count)

    async def _report(self, report: Progress) -> None:
        token = meta_of(self._arrival.request).get("progressToken")
        if token is None:
            return
        told: dict[str, Any] = {"progressToken": token, "progress": report.progress}
        if report.total is not None:
            told["total"] = report.total
        if report.message is not None:
            told["message"] = report.message
        message = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
        await self._exchange.say(message)

    async def _end(self, action: Ending) -> None:
        match action:
            case Answer():
                await self._send(action.result)
            case Fail():
                await self._send(Rejection(action.code, action.message, action.data, action.status))
            case Hang():
                await anyio.sleep_forever()
            case Mute():
                await self._listen(mute=True, acknowledges=action.acknowledges)
            case Drop() if self._listens:
                await self._acknowledge()
                await self._say_farewell(graceful=action.graceful)
            case Refuse() | Garble() | Cut() | Drop() | Forget() | Exit():
                await self._exchange.end(action, self._message(self._answer))
            case _:
                assert_never(action)

    # ------------------------------------------------------------ listening

    def _honours(self) -> frozenset[str]:
        """Capabilities whose signals are asked for and offered (MCP 2026-07-28, subscriptions)."""
        asked = mapping(params_of(self._arrival.request).get("notifications"))
        wanted = {name for name, member in LIST_CHANGED.items() if asked.get(member)}
        if self._honoured is not None:
            return frozenset(wanted & self._honoured)
        declared = capabilities(self._script.profile, self._script.content)
        return frozenset(name for name in wanted if mapping(declared.get(name)).get("listChanged"))

    async def _acknowledge(self) -> None:
        honoured = {LIST_CHANGED[name]: True for name in sorted(self._honours())}
        params = {"_meta": {SUBSCRIPTION_ID: self._id}, "notifications": honoured}
        method = "notifications/subscriptions/acknowledged"
        await self._exchange.say({"jsonrpc": "2.0", "method": method, "params": params})

    async def _listen(self, *, mute: bool, acknowledges: bool) -> None:
        outlet = Outlet(self._exchange.say, of=self._honours(), subscription=self._id, mute=mute)
        # Open before the acknowledgement is on its way, so that no signal falls between; it is
        # behind it still, because a wire writes in the order of asking.
        with self._script.outlets.opened(outlet):
            await self._exchange.open()
            if acknowledges:
                await self._acknowledge()
            await outlet.wait_ended()
        await self._say_farewell(graceful=outlet.graceful)

    async def _say_farewell(self, *, graceful: bool) -> None:
        if graceful:
            await self._send(self._answer)
        else:
            await self._exchange.hang_up()
