"""What a conversation shows, in the form of each provider."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, assert_never

from toolcrib.context.conversation import Conversation
from toolcrib.context.exhibit import Exhibit
from toolcrib.context.front import Front, Line, Search, Space
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
        if not native_search:
            tools = self._shown("anthropic", anthropic.tool)
            return _with_cache_point(tools, self._conversation.begun_with, cache)
        if (deferred := self._conversation.deferred) > anthropic.MOST_DEFERRED:
            raise ConfigError(
                f"{deferred:,} tools are deferred, but tool search of Anthropic takes "
                f"{anthropic.MOST_DEFERRED:,}",
                remedy="deny tools, or leave the search to toolcrib: native_search=False",
            )
        front = self._conversation.front(by_server=False)
        seen = [
            dict(anthropic.SEARCH_TOOL)
            if isinstance(entry, Search)
            else self._one("anthropic", entry, anthropic.tool)
            for entry in front.entries
            if not isinstance(entry, Space)
        ]
        begun = front.entries[: front.begun_with]
        stable = sum(not isinstance(entry, Space) for entry in begun)
        make = partial(anthropic.tool, deferred=True)
        later = self._rendering.of("anthropic deferred", front.deferred.values(), make)
        return [*_with_cache_point(seen, stable, cache), *later]

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
        if not native_search:
            return self._shown(form, make)
        front = self._conversation.front(by_server=True)
        spaces = self._spaces(front, f"{form} deferred", partial(make, deferred=True))
        tools: list[dict[str, Any]] = []
        for entry in front.entries:
            match entry:
                case Line():
                    tools.append(self._one(form, entry, make))
                case Search():
                    tools.append(dict(openai_responses.SEARCH_TOOL))
                case Space(server, about):
                    tools.append(openai_responses.namespace(server, about, spaces[server]))
                case _:
                    assert_never(entry)
        return tools

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

    def _shown(self, form: str, make: Make) -> list[dict[str, Any]]:
        """The tool objects of what is shown."""
        return self._rendering.of(form, self._conversation.lines, make)

    def _one(self, form: str, line: Line, make: Make) -> dict[str, Any]:
        return self._rendering.of(form, (line,), make)[0]

    def _spaces(self, front: Front, form: str, make: Make) -> dict[str, list[dict[str, Any]]]:
        """The tool objects of deferred tools, by server."""
        return {
            server: self._rendering.of(form, lines, make)
            for server, lines in front.of_server().items()
        }


def _with_cache_point(
    tools: list[dict[str, Any]], stable: int, ttl: Ttl | None
) -> list[dict[str, Any]]:
    """The tools with a cache point of Anthropic behind so many of them."""
    if ttl is not None and stable:
        point = {"type": "ephemeral", **({} if ttl == "5m" else {"ttl": ttl})}
        tools[stable - 1] = {**tools[stable - 1], "cache_control": point}
    return tools
