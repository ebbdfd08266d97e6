"""Models behind the messages API of Anthropic.

https://platform.claude.com/docs/en/api/messages, read in November 2026.
"""

from collections.abc import Mapping
from typing import Any, Final

import httpx2

from toolcrib.adapters.models.address import header_value, read_address
from toolcrib.adapters.models.exchange import ModelExchange, some_text
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.settings import SubagentSettings

__all__ = ["AnthropicModel"]

_VERSION: Final = "2023-06-01"
"""The newest version of the API."""


class AnthropicModel:
    """Asks a model by `POST {url}/v1/messages`; `/v1`, or the whole path, may be in the URL.

    Newer models take no temperature: where the API says so, requests go without from then on.

    Raises:
        ConfigError: URL or key cannot be used.
    """

    def __init__(
        self, settings: SubagentSettings, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        headers = {"anthropic-version": _VERSION}
        if settings.key is not None:
            headers["x-api-key"] = header_value(settings.key)
        url = _method_of(read_address(settings.url, settings.key))
        self._exchange = ModelExchange(url, headers, transport)
        self._model = settings.model
        self._temperature = True

    def __repr__(self) -> str:
        return f"AnthropicModel({self._model!r})"

    async def complete(
        self, instructions: str, question: str, *, most_tokens: int, timeout: float
    ) -> str:
        """The text blocks of the answer, as the SmallModel port describes it."""

        def body() -> Mapping[str, Any]:
            return {
                "model": self._model,
                "system": instructions,
                "messages": [{"role": "user", "content": question}],
                "max_tokens": most_tokens,
                **({"temperature": 0} if self._temperature else {}),
            }

        answer = await self._exchange.ask(body, timeout=timeout, adapt=self._adapt)
        return some_text(_text(answer))

    def _adapt(self, complaint: str, sent: Mapping[str, Any]) -> bool:
        if "temperature" in complaint and "temperature" in sent:
            self._temperature = False
            return True
        return False


def _method_of(url: httpx2.URL) -> httpx2.URL:
    path = url.path.rstrip("/")
    if path.endswith("/messages"):
        return url
    return url.copy_with(path=f"{path}/messages" if path.endswith("/v1") else f"{path}/v1/messages")


def _text(answer: Mapping[str, Any]) -> str:
    """The text blocks together, without what the model thought; empty where there are none."""
    content: object = answer.get("content")
    blocks = content if is_array(content) else ()
    texts = (one.get("text") for one in blocks if is_object(one) and one.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str)).strip()
