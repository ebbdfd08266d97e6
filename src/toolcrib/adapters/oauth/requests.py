"""Sends the requests of an OAuth flow: guarded, bounded, with redirects kept to their origin."""

from typing import Final

import anyio
import httpx2

from toolcrib.adapters.http.client import system_trust
from toolcrib.adapters.http.event_stream import read_body
from toolcrib.adapters.http.faults import describe_fault, name_fault
from toolcrib.adapters.http.proxy import choose_proxy
from toolcrib.adapters.oauth.addresses import AddressGuard
from toolcrib.errors import UpstreamUnreachable
from toolcrib.version import __version__

__all__ = ["OAuthRequests"]

_SECONDS: Final = 10.0
_BYTES: Final = 256 * 1024
_REDIRECTS: Final = 3


class OAuthRequests:
    """One flow's way to the authorization server. No connection outlives a request."""

    def __init__(
        self, guard: AddressGuard, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.guard = guard
        self._transport = transport

    async def send(self, request: httpx2.Request, what: str) -> httpx2.Response:
        """The answer with its body read. `what` names the URL's owner in errors.

        Redirects are followed for GET and within the origin only; others are the answer.

        Raises:
            AuthRequired: The URL must not be used.
            UpstreamUnreachable: No answer came, or it is larger than 256 KiB.
        """
        followed = 0
        while True:
            response = await self._send_once(request, what)
            target = self._redirect(request, response)
            if target is None or followed == _REDIRECTS:
                return response
            headers = {"accept": "application/json"}
            request = httpx2.Request("GET", target, headers=headers)
            followed += 1

    @staticmethod
    def _redirect(request: httpx2.Request, response: httpx2.Response) -> httpx2.URL | None:
        if request.method != "GET" or not response.has_redirect_location:
            return None
        try:
            target = request.url.join(response.headers["location"])
        except (httpx2.InvalidURL, ValueError):
            return None
        here, there = (
            (url.scheme, url.host, url.port, url.userinfo) for url in (request.url, target)
        )
        return target if here == there else None

    async def _send_once(self, request: httpx2.Request, what: str) -> httpx2.Response:
        problem = "it does not answer"
        try:
            with anyio.move_on_after(_SECONDS):
                proxy = choose_proxy(request.url)
                for attempt in await self._attempts(request, what):
                    try:
                        return await self._exchange(attempt, proxy)
                    except httpx2.ConnectError as refused:  # the next address may answer
                        problem = describe_fault(name_fault(refused))
        except (httpx2.HTTPError, OSError) as broken:
            problem = describe_fault(name_fault(broken))
        raise UpstreamUnreachable(f"{what} cannot be reached: {problem}") from None

    async def _attempts(self, request: httpx2.Request, what: str) -> list[httpx2.Request]:
        """The request for each address it may go to; name and certificate stay those of the URL."""
        request.headers["user-agent"] = f"toolcrib/{__version__}"
        places = await self.guard.places(request.url, what)
        if not places:
            return [request]
        return [
            httpx2.Request(
                request.method,
                request.url.copy_with(host=place),
                headers={**request.headers, "host": request.url.netloc.decode("ascii")},
                content=request.content,
                extensions={"sni_hostname": request.url.host},
            )
            for place in places
        ]

    async def _exchange(self, request: httpx2.Request, proxy: str | None) -> httpx2.Response:
        transport = self._transport or httpx2.AsyncHTTPTransport(verify=system_trust(), proxy=proxy)
        try:
            response = await transport.handle_async_request(request)
            try:
                body = await read_body(response, _BYTES)
            finally:
                await response.aclose()
        finally:
            if self._transport is None:
                with anyio.CancelScope(shield=True):
                    await transport.aclose()
        if body is None:
            raise UpstreamUnreachable(f"an answer is larger than {_BYTES // 1024} KiB")
        kept = [
            (name, value)
            for name, value in response.headers.items()
            if name not in {"content-encoding", "content-length", "transfer-encoding"}
        ]
        return httpx2.Response(response.status_code, headers=kept, content=body, request=request)
