"""What a conversation shows, in the form of each provider."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from toolcrib.context.conversation import Conversation, Line
from toolcrib.context.exhibit import Exhibit
from toolcrib.context.providers import anthropic, gemini, openai_chat, openai_responses, plain
from toolcrib.context.rendering import Make, Rendering
from toolcrib.errors import ConfigError

Ttl = Literal["5m", "1h"]
"""How long Anthropic holds a cache point."""


class Forms:
    """The tools of one conversation as `tools` of a request, and results as its messages.

    Every list is a fresh copy, always of the same bytes for the same conversation.
    """

    def __init__(self) -> None:
        """Show nothing yet."""
        self._conversation = Conversation()
        self._exhibit = Exhibit("full", ())
        self._rendering = Rendering()

    def for_anthropic(
        self, *, cache: Ttl | None = "5m", native_search: bool = False
    ) -> list[dict[str, Any]]:
        """`tools` for the Messages API of Anthropic.

        Args:
            cache: Puts a cache point behind the definitions that the conversation began with, and
                how long it holds; None: none.
            native_search: Whether Anthropic's own tool search finds the deferred tools.

        Raises:
            ConfigError: There are more deferred tools than it takes.
        """
        tools = self._shown("anthropic", anthropic.tool, native=native_search)
        begun = self._conversation.lines[: self._conversation.begun_with]
        stable = sum(map(self._chosen(native=native_search), begun))
        deferred: list[dict[str, Any]] = []
        if native_search:
            deferred = self._offered("anthropic deferred", partial(anthropic.tool, deferred=True))
            if len(deferred) > anthropic.MOST_DEFERRED:
                raise ConfigError(
                    f"{len(deferred):,} tools are deferred, but tool search of Anthropic takes "
                    f"{anthropic.MOST_DEFERRED:,}",
                    remedy="deny tools, or leave the search to toolcrib: native_search=False",
                )
        if deferred:
            tools.insert(0, dict(anthropic.SEARCH_TOOL))
            stable += 1
        if cache is not None and stable:
            point = {"type": "ephemeral", **({} if cache == "5m" else {"ttl": cache})}
            tools[stable - 1] = {**tools[stable - 1], "cache_control": point}
        return [*tools, *deferred]

    def for_openai_chat(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """`tools` for Chat Completions; `strict`: held to the schema, where it can be said so."""
        form = f"openai chat {strict}"
        return self._shown(form, partial(openai_chat.tool, strict=strict))

    def for_openai_responses(
        self, *, strict: bool = False, native_search: bool = False
    ) -> list[dict[str, Any]]:
        """`tools` for the Responses API.

        Args:
            strict: Whether models are held to schemas, where they can be said so.
            native_search: Whether OpenAI's own tool search finds the deferred tools, by server.
        """
        form = f"openai responses {strict}"
        make = partial(openai_responses.tool, strict=strict)
        tools = self._shown(form, make, native=native_search)
        if not native_search:
            return tools
        later = self._offered(f"{form} deferred", partial(make, deferred=True))
        servers: dict[str, list[dict[str, Any]]] = {}
        for line, tool in zip(self._later(), later, strict=True):
            servers.setdefault(line.server, []).append(tool)
        spaces = [
            openai_responses.namespace(it, self._exhibit.about.get(it, ""), servers[it])
            for it in sorted(servers)
        ]
        return [dict(openai_responses.SEARCH_TOOL), *tools, *spaces] if spaces else tools

    def for_gemini(self, *, json_schema: bool = False) -> list[dict[str, Any]]:
        """`tools` for Gemini: one object with `functionDeclarations`; without tools none.

        Args:
            json_schema: Whether schemas go as `parametersJsonSchema` instead of `parameters`.
        """
        make = partial(gemini.declaration, json_schema=json_schema)
        declarations = self._shown(f"gemini {json_schema}", make)
        return [{"functionDeclarations": declarations}] if declarations else []

    def for_json(self) -> list[dict[str, Any]]:
        """Plain objects with `name`, `description` and `inputSchema`."""
        return self._shown("plain", plain.tool)

    @staticmethod
    def result_for_anthropic(tool_use_id: str, result: Mapping[str, Any]) -> dict[str, Any]:
        """The `tool_result` block, for a message of the user."""
        return anthropic.result(tool_use_id, result)

    @staticmethod
    def result_for_openai_chat(tool_call_id: str, result: Mapping[str, Any]) -> dict[str, Any]:
        """The message of role `tool`."""
        return openai_chat.result(tool_call_id, result)

    @staticmethod
    def result_for_openai_responses(call_id: str, result: Mapping[str, Any]) -> dict[str, Any]:
        """The `function_call_output` item."""
        return openai_responses.result(call_id, result)

    @staticmethod
    def result_for_gemini(
        name: str, result: Mapping[str, Any], call_id: str = ""
    ) -> dict[str, Any]:
        """The part with `functionResponse`, for a content of the user."""
        return gemini.result(name, result, call_id)

    # ---- inside ----

    def _shown(self, form: str, make: Make, *, native: bool = False) -> list[dict[str, Any]]:
        """The tool objects of what is shown; without what a provider's own search stands for."""
        return self._rendering.of(
            form, filter(self._chosen(native=native), self._conversation.lines), make
        )

    def _chosen(self, *, native: bool) -> Callable[[Line], bool]:
        kept = {str(it["name"]) for it in self._exhibit.meta_beside_native}
        return lambda line: not native or line.item is not None or line.name in kept

    def _offered(self, form: str, make: Make) -> list[dict[str, Any]]:
        """The tool objects of deferred tools that are not shown already."""
        return self._rendering.of(form, self._later(), make)

    def _later(self) -> list[Line]:
        self._conversation.is_searched_outside = True
        offered = self._conversation.offered.values()
        return [line for line in offered if not self._conversation.is_shown(line.name)]
