"""The requests of a session on their way: written, waited for, and what became of them told."""

from collections.abc import Callable
from typing import Any, Final

from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext

from toolcrib.adapters.background import background
from toolcrib.adapters.session.attempt import Attempt
from toolcrib.adapters.session.error_mapping import is_closing, map_error
from toolcrib.adapters.session.hearing import Hearing
from toolcrib.adapters.session.lifetime import Lifetime
from toolcrib.adapters.session.patience import Patience
from toolcrib.adapters.session.sending import Sending
from toolcrib.adapters.session.stamps import Stamp
from toolcrib.adapters.session.under_way import Requests
from toolcrib.errors import BadArguments, RequestTimedOut, ToolcribError
from toolcrib.protocol.headers import UnmirrorableValue

_ENVELOPE_ONLY: Final[CallOptions] = {}


class Outgoing:
    """Sends requests over the SDK's dispatcher; every failure is an error of the port.

    Args:
        attempt: What the connection was opened with.
        dispatcher: Correlates and cancels.
        requests: Where those that somebody waits for are noted.
        life: Of the connection.
        http: Whether requests have headers.
        deaf: Told of what a listener raises.
    """

    def __init__(
        self,
        attempt: Attempt,
        dispatcher: JSONRPCDispatcher[TransportContext],
        requests: Requests,
        life: Lifetime,
        *,
        http: bool,
        deaf: Callable[[Exception], None],
    ) -> None:
        self._server = attempt.server.id
        self._asking_seconds = attempt.limits.state_seconds
        self._dispatcher = dispatcher
        self._requests = requests
        self._life = life
        self._http = http
        self._deaf = deaf

    async def accompany(self, sending: Sending, stamp: Stamp, seconds: float) -> dict[str, Any]:
        """Send a request and hand on what is heard of it before its answer, and nothing after."""
        patience, context = self._patience(seconds), sending.context
        if sending.progress is None and context.heard is None:
            with self._requests.begun(sending.method, context, patience, None):
                return await self._send(sending, stamp, patience)
        hearing = Hearing(sending.progress, context.heard, self._deaf)
        with self._requests.begun(sending.method, context, patience, hearing) as request:
            token = None if sending.progress is None else request.token
            async with background() as tasks:
                tasks.start_soon(hearing.run)
                try:
                    result = await self._send(sending, stamp, patience, token=token)
                except ToolcribError:
                    await hearing.finish()
                    raise
                await hearing.finish()
            return result

    async def send(
        self,
        sending: Sending,
        stamp: Stamp,
        seconds: float | None,
        options: CallOptions = _ENVELOPE_ONLY,
    ) -> dict[str, Any]:
        """Send a request of the connection itself, which nothing a server says is about."""
        return await self._send(sending, stamp, self._patience(seconds), options)

    async def _send(
        self,
        sending: Sending,
        stamp: Stamp,
        patience: Patience,
        options: CallOptions = _ENVELOPE_ONLY,
        *,
        token: int | None = None,
    ) -> dict[str, Any]:
        method = sending.method
        if self._life.closed:
            raise await self._life.unreachable()
        try:
            body = sending.body(stamp, token)
            if self._http:
                options = {**options, "headers": sending.all_headers(stamp, body)}
            # Not the dispatcher's own time-out: it starts after the write, so that a server which
            # reads nothing would never time out, and its error looks like one of the server.
            patience.start()
            with patience.scope:
                return await self._dispatcher.send_raw_request(method, body, options)
        except MCPError as error:
            if is_closing(error) or self._life.session_lost:
                raise await self._life.unreachable() from None
            raise map_error(error, server=self._server, http=self._http) from None
        except UnmirrorableValue as error:
            why = f"{method} cannot be sent over HTTP: {error}"
            raise BadArguments(why, server=self._server) from None
        except (ValueError, RecursionError):
            why = f"the parameters of {method} cannot be written as JSON"
            raise BadArguments(why, server=self._server) from None
        raise RequestTimedOut(patience.says(method), server=self._server)

    def _patience(self, seconds: float | None) -> Patience:
        return Patience(seconds, self._asking_seconds)
