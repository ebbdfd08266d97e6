"""The questions to one session's host that it has not answered yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import anyio
from mcp_types import INTERNAL_ERROR

from toolcrib.core.jsontypes import is_object
from toolcrib.errors import UpstreamRefused
from toolcrib.wire.http.reply import Reply

FAREWELL: Final = 1.0
"""Seconds in which a host is told that a question is void."""


@dataclass(slots=True, eq=False)
class _Waiting:
    answered: anyio.Event = field(default_factory=anyio.Event)
    response: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Asked:
    """Sends questions under ids that never come twice in a session, and takes the answers."""

    def __init__(self) -> None:
        self._ids = count(1)
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    async def put(self, reply: Reply, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask on the stream of the request that the question belongs to, and wait for the result.

        A question that nobody waits for any more is called off. Raises `UpstreamRefused` for an
        error, an answer that is no response, and a host that cannot hear the question.
        """
        if reply.lost:
            raise UpstreamRefused("the host is gone", rpc_code=INTERNAL_ERROR)
        request_id = next(self._ids)
        waiting = self._waiting[request_id] = _Waiting()
        try:
            await reply.request(request_id, method, params)
            await waiting.answered.wait()
        except anyio.get_cancelled_exc_class():
            told = {"requestId": request_id, "reason": "the answer is not waited for any more"}
            with anyio.move_on_after(FAREWELL, shield=True):
                await reply.notify("notifications/cancelled", told)
            raise
        finally:
            del self._waiting[request_id]
        return _result(waiting.response)

    def take(self, response: Mapping[str, Any]) -> None:
        """Take a posted response; one to no open question of its host is late, or foreign."""
        request_id = response.get("id")
        waiting = self._waiting.get(request_id) if isinstance(request_id, int) else None
        if waiting is not None and not waiting.answered.is_set():
            waiting.response = response
            waiting.answered.set()


def _result(response: Mapping[str, Any]) -> dict[str, Any]:
    result, error = response.get("result"), response.get("error")
    if is_object(result) and error is None:
        return result
    code = error.get("code") if is_object(error) else None
    message = error.get("message") if is_object(error) else None
    if not is_object(error) or type(code) is not int or not isinstance(message, str):
        raise UpstreamRefused("the host's answer is no response", rpc_code=INTERNAL_ERROR)
    raise UpstreamRefused(message, rpc_code=code, data=error.get("data"))
