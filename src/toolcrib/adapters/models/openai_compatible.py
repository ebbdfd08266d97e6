"""Models behind chat completions, the API of OpenAI that most servers of models speak, too.

https://platform.openai.com/docs/api-reference/chat/create, read in November 2026.
"""

from collections.abc import Mapping
from typing import Any

import httpx2

from toolcrib.adapters.models.address import header_value, read_address
from toolcrib.adapters.models.exchange import ModelExchange, some_text
from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.settings import SubagentSettings

__all__ = ["OpenAiModel"]


class OpenAiModel:
    """Asks a model by `POST {url}/chat/completions`.

    Parameters differ between models of this API. The first request holds what most take; where
    the API names one that the model does not, requests go without it from then on, or with its
    successor.

    Raises:
        ConfigError: URL or key cannot be used.
    """

    def __init__(
        self, settings: SubagentSettings, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        url = read_address(settings.url, settings.key)
        if not url.path.endswith("/chat/completions"):
            url = url.copy_with(path=f"{url.path.rstrip('/')}/chat/completions")
        headers: dict[str, str] = {}
        if settings.key is not None:
            headers["authorization"] = f"Bearer {header_value(settings.key)}"
        self._exchange = ModelExchange(url, headers, transport)
        self._model = settings.model
        self._bound = "max_tokens"
        self._temperature = True

    def __repr__(self) -> str:
        return f"OpenAiModel({self._model!r})"

    async def complete(
        self, instructions: str, question: str, *, most_tokens: int, timeout: float
    ) -> str:
        """The text of the first choice, as the SmallModel port describes it."""

        def body() -> Mapping[str, Any]:
            return {
                "model": self._model,
                "messages": [
                    {"role": "system", "content": instructions},
                    {"role": "user", "content": question},
                ],
                self._bound: most_tokens,
                "stream": False,
                **({"temperature": 0} if self._temperature else {}),
            }

        answer = await self._exchange.ask(body, timeout=timeout, adapt=self._adapt)
        return some_text(_text(answer))

    def _adapt(self, complaint: str, sent: Mapping[str, Any]) -> bool:
        if "max_tokens" in complaint and "max_tokens" in sent:
            self._bound = "max_completion_tokens"
            return True
        if "temperature" in complaint and "temperature" in sent:
            self._temperature = False
            return True
        return False


def _text(answer: Mapping[str, Any]) -> str:
    """The text of the first choice; some servers give it in parts. Empty where there is none."""
    choices: object = answer.get("choices")
    first: object = choices[0] if is_array(choices) and choices else None
    message: object = first.get("message") if is_object(first) else None
    content: object = message.get("content") if is_object(message) else None
    if isinstance(content, str):
        return content.strip()
    parts = content if is_array(content) else ()
    texts = (part.get("text") for part in parts if is_object(part))
    return "".join(text for text in texts if isinstance(text, str)).strip()
