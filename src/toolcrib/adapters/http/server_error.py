"""Makes the errors that a server sends fit to hand on: no secret is echoed in them."""

import json
from collections.abc import Iterator
from typing import Final

from mcp_types import ErrorData

from toolcrib.adapters.http.authorisation import Authoriser
from toolcrib.adapters.http.launch import read_url
from toolcrib.adapters.redaction import Redaction
from toolcrib.settings import HttpLaunch, Secret

__all__ = ["ErrorFilter"]

_TOKEN_LENGTH: Final = 16
"""Shorter parts of a path are words such as `sse`; blotting them would garble the error."""


def _secret_texts(launch: HttpLaunch) -> Iterator[str]:
    """What of a launch a server may quote: header values and their words, the URL and its parts."""
    for secret in launch.headers.values():
        value = secret.reveal()
        yield value
        yield from value.split()
    if launch.oauth is not None:
        yield from (one.reveal() for one in launch.oauth.secrets)
    yield launch.url.reveal()
    url = read_url(launch)
    yield url.password
    yield from (part for part in url.path.split("/") if len(part) >= _TOKEN_LENGTH)
    yield from url.params.values()


class ErrorFilter:
    """Cleans the JSON-RPC errors of one server. Results are the server's own data and stay."""

    def __init__(self, launch: HttpLaunch, authoriser: Authoriser | None = None) -> None:
        self._configured = set(_secret_texts(launch))
        self._authoriser = authoriser

    def __repr__(self) -> str:
        return "ErrorFilter(***)"

    def words(self, text: str) -> str:
        """The text without what is configured as secret, and without tokens."""
        return Redaction([Secret(one) for one in self._texts()])(text)

    def _texts(self) -> set[str]:
        """What must not be quoted now; tokens change while a connection lives."""
        if self._authoriser is None:
            return self._configured
        return self._configured | {one.reveal() for one in self._authoriser.secrets()}

    def clean(self, error: ErrorData) -> ErrorData:
        """The error without secrets in its message and data.

        Data that cannot be looked through (it nests too deeply) is left out.
        """
        data: object = error.data
        try:
            shown = json.dumps(data)
            blotted = Redaction([Secret(json.dumps(one)[1:-1]) for one in self._texts()])(shown)
            kept: object = data if blotted == shown else json.loads(blotted)
        except (RecursionError, ValueError):
            kept = None
        return ErrorData(code=error.code, message=self.words(error.message), data=kept)
