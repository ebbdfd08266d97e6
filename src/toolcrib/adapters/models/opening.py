"""The model that the settings name."""

from typing import assert_never

import httpx2

from toolcrib.adapters.models.anthropic import AnthropicModel
from toolcrib.adapters.models.openai_compatible import OpenAiModel
from toolcrib.ports import SmallModel
from toolcrib.settings import SubagentSettings

__all__ = ["open_model"]


def open_model(
    settings: SubagentSettings, transport: httpx2.AsyncBaseTransport | None = None
) -> SmallModel:
    """The model behind the configured endpoint. Nothing is sent, and nothing has to be closed.

    Args:
        settings: URL, API, model and key.
        transport: Takes the place of the network, for tests.

    Raises:
        ConfigError: URL or key cannot be used; it says why and what to write.
    """
    match settings.api:
        case "openai":
            return OpenAiModel(settings, transport)
        case "anthropic":
            return AnthropicModel(settings, transport)
        case _:
            assert_never(settings.api)
