"""Makes the errors that a server sends fit to hand on: no secret is echoed in them."""

import json
from collections.abc import Iterator
from typing import Final

from mcp_types import ErrorData

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
    yield launch.url.reveal()
    url = read_url(launch)
    yield url.password
    yield from (part for part in url.path.split("/") if len(part) >= _TOKEN_LENGTH)
    yield from url.params.values()


class ErrorFilter:
    """Cleans the JSON-RPC errors of one server. Results are the server's own data and stay."""

    def __init__(self, launch: HttpLaunch) -> None:
        texts = set(_secret_texts(launch))
        self._text = Redaction([Secret(text) for text in texts])
        self._json = Redaction([Secret(json.dumps(text)[1:-1]) for text in texts])

    def __repr__(self) -> str:
        return "ErrorFilter(***)"

    def words(self, text: str) -> str:
        """The text without what is configured as secret."""
        return self._text(text)

    def clean(self, error: ErrorData) -> ErrorData:
        """The error without secrets in its message and data.

        Data that cannot be looked through (it nests too deeply) is left out.
        """
        data: object = error.data
        try:
            shown = json.dumps(data)
            blotted = self._json(shown)
            kept: object = data if blotted == shown else json.loads(blotted)
        except (RecursionError, ValueError):
            kept = None
        return ErrorData(code=error.code, message=self._text(error.message), data=kept)
