"""One question to a model over HTTP: bounded, without redirects, and discreet about its key.

No connection outlives a question. They are seldom, and a kept connection that the other side has
closed meanwhile would cost one of them now and then.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio
import httpx2

from toolcrib.adapters.http.client import system_trust
from toolcrib.adapters.http.event_stream import read_body
from toolcrib.adapters.http.faults import describe_fault, name_fault
from toolcrib.adapters.http.proxy import choose_proxy
from toolcrib.adapters.models.refusals import refused
from toolcrib.core.jsontypes import is_object
from toolcrib.errors import (
    ConfigError,
    LimitExceeded,
    RequestTimedOut,
    ResultInvalid,
    UpstreamUnreachable,
)
from toolcrib.version import __version__

__all__ = ["Adapt", "ModelExchange", "some_text"]

_BYTES: Final = 1024 * 1024
"""Of a question and of an answer, as JSON."""
_OK: Final = 200
_MISFITS: Final = frozenset({400, 422})
"""What an API answers to a parameter that the model does not take."""
_ADAPTATIONS: Final = 3

Adapt = Callable[[str, Mapping[str, Any]], bool]
"""Takes what an API says is wrong with a request, and that request; whether another is worth
sending. It is asked of what was sent: another question may have been adapted meanwhile."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: httpx2.Headers
    body: bytes


class ModelExchange:
    """The way to one endpoint.

    Args:
        url: The whole address of the method.
        headers: What goes with each request; the key is in them.
        transport: Takes the place of the network, for tests.
    """

    def __init__(
        self,
        url: httpx2.URL,
        headers: Mapping[str, str],
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url
        self._headers = {
            **headers,
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": f"toolcrib/{__version__}",
        }
        self._transport = transport

    def __repr__(self) -> str:
        return "ModelExchange(***)"

    async def ask(
        self, body: Callable[[], Mapping[str, Any]], *, timeout: float, adapt: Adapt
    ) -> Mapping[str, Any]:
        """The answer to a question, as JSON.

        Args:
            body: The question; asked for again after an adaptation.
            timeout: Seconds for everything.
            adapt: Called with the API's complaint where it takes the request for malformed.

        Raises:
            ToolcribError: As `SmallModel.complete`.
        """
        with anyio.move_on_after(timeout):
            answer = await self._adapting(body, adapt)
            if answer.status != _OK:
                raise refused(answer.status, answer.headers, answer.body)
            return _read(answer.body)
        raise RequestTimedOut(
            f"the small model did not answer in {timeout:g} s",
            remedy="use a quicker model, or give it more time (timeout_seconds)",
        )

    async def _adapting(self, body: Callable[[], Mapping[str, Any]], adapt: Adapt) -> _Answer:
        """Ask, and ask again in another way as often as that may help."""
        sent = body()
        answer = await self._send(sent)
        for _ in range(_ADAPTATIONS):
            if answer.status not in _MISFITS or not adapt(_complaint(answer.body), sent):
                break
            sent = body()
            answer = await self._send(sent)
        return answer

    async def _send(self, body: Mapping[str, Any]) -> _Answer:
        content = json.dumps(body, ensure_ascii=False).encode()
        if len(content) > _BYTES:
            raise LimitExceeded(
                f"the question to the small model is larger than {_BYTES:,} bytes",
                remedy="give it fewer candidates",
            )
        request = httpx2.Request("POST", self._url, headers=self._headers, content=content)
        try:
            return await self._exchange(request)
        except (httpx2.HTTPError, OSError) as broken:
            problem = describe_fault(name_fault(broken))
        raise UpstreamUnreachable(f"the small model cannot be reached: {problem}") from None

    async def _exchange(self, request: httpx2.Request) -> _Answer:
        transport = self._transport or self._open_transport()
        try:
            response = await transport.handle_async_request(request)
            try:
                body = await read_body(response, _BYTES)
            finally:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
        finally:
            if self._transport is None:
                with anyio.CancelScope(shield=True):
                    await transport.aclose()
        if body is None:
            raise ResultInvalid(f"the small model's answer is larger than {_BYTES:,} bytes")
        return _Answer(response.status_code, response.headers, body)

    def _open_transport(self) -> httpx2.AsyncBaseTransport:
        try:
            return httpx2.AsyncHTTPTransport(verify=system_trust(), proxy=choose_proxy(self._url))
        except (ImportError, ValueError, httpx2.InvalidURL):
            raise ConfigError(
                "the proxy that the environment names for the small model cannot be used",
                remedy="give HTTP_PROXY and HTTPS_PROXY as http:// URLs, or set NO_PROXY",
            ) from None


def some_text(text: str) -> str:
    """The text of an answer; raises `ResultInvalid` where there is none."""
    if not text:
        raise ResultInvalid(
            "the small model answered without a text",
            remedy="give it more tokens (output_tokens): a model may spend them all on thought",
        )
    return text


def _read(body: bytes) -> Mapping[str, Any]:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not is_object(value):
        raise ResultInvalid(
            "the small model's answer is no JSON object",
            remedy="check that the URL is that of the API, and which API it is",
        )
    return value


def _complaint(body: bytes) -> str:
    """What an API says is wrong, with the parameter it names; empty where it says nothing."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error: object = value.get("error", value) if is_object(value) else None
    if not is_object(error):
        return str(error or "")
    return " ".join(str(error.get(member) or "") for member in ("param", "message", "detail"))
