"""The meta-tool `run_code`: what models are told of it, and its calls."""

from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.call import Requester, Retry
from toolcrib.codemode.programs import Programs, Source
from toolcrib.core.quoting import literal
from toolcrib.errors import BadArguments
from toolcrib.settings import Language

RUN: Final = "run_code"

_DESCRIPTION: Final = (
    "Run a program that calls tools: for many calls, loops, or results that you need only parts "
    "of. For one or two calls, call them directly. Only what the program returns or prints comes "
    "back. No files, no network. `from SERVER import TOOL`, with _ for what no identifier holds; "
    "`await TOOL(name=value)`; a failing tool raises. From `toolcrib`: call(server, tool, args), "
    "try_call(awaitable) and gather_settled(*awaitables) give {ok, value, error}, "
    "map_limit(function, items, limit). Use await at the top, and end with the value or `return`. "
    "Not in this Python: classes with bases, yield, with, del, asyncio.create_task."
)


def definition(languages: tuple[Language, ...]) -> dict[str, Any]:
    """`run_code` for these languages, the first one by default."""
    properties: dict[str, Any] = {"code": {"type": "string", "description": "The program"}}
    if len(languages) > 1:
        properties["language"] = {
            "type": "string",
            "enum": list(languages),
            "default": languages[0],
        }
    return {
        "name": RUN,
        "title": "Run a program",
        "description": _DESCRIPTION,
        "inputSchema": {"type": "object", "properties": properties, "required": ["code"]},
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    }


class RunCode:
    """The tool of one principal (`discovery.meta.seams.ExtraTool`).

    Args:
        programs: Runs them.
        languages: Those that are configured, the default first.
    """

    def __init__(self, programs: Programs, languages: tuple[Language, ...]) -> None:
        self._programs = programs
        self._languages = languages
        self._definition = definition(languages)

    @property
    def definition(self) -> Mapping[str, Any]:
        """Always the same bytes."""
        return self._definition

    async def call(
        self, arguments: Mapping[str, Any], requester: Requester, retry: Retry | None = None
    ) -> dict[str, Any]:
        """The result of a program; raises as `Programs.run` does, and `BadArguments`."""
        return await self._programs.run(self._source(arguments), requester, retry)

    def _source(self, arguments: Mapping[str, Any]) -> Source:
        code, language = arguments.get("code"), arguments.get("language")
        if not isinstance(code, str) or not code.strip():
            raise BadArguments(f"{RUN}: give the program as a text in `code`")
        if unknown := sorted(arguments.keys() - {"code", "language"}):
            raise BadArguments(f"{RUN} takes code and language, not {literal(unknown[0])}")
        found = self._languages[0] if language is None else None
        for known in self._languages:
            if language == known:
                found = known
        if found is None:
            words = ", ".join(self._languages)
            raise BadArguments(f"{RUN}: language is {literal(language)}; it may be {words}")
        return Source(found, code)
