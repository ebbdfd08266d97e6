"""The meta-tool `run_code`: what models are told of it, and its calls."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from toolcrib.calls.call import Requester, Retry
from toolcrib.codemode.modules import Modules
from toolcrib.codemode.programs import Programs, Source
from toolcrib.core.quoting import literal
from toolcrib.errors import BadArguments
from toolcrib.ports import Progress
from toolcrib.settings import Language

RUN: Final = "run_code"

_WHEN: Final = (
    "Run a program that calls tools: for many calls, loops, or large results that you need only "
    "parts of. For one or two calls, call them directly. Only what it returns or prints comes "
    "back. No files, no network."
)

LACKED: Final = (
    "class inheritance",
    "exception classes",
    "yield",
    "del",
    "next(generator)",
    "property",
    "asyncio.create_task",
    "asyncio.wait_for",
)
"""What models write most of all that this Python lacks, by the names of its probes.

The definition has to be the same bytes in every process, before any worker runs, so nothing is
tried for it; a test holds this list to what the installed version is found to lack. Whatever else a
program uses that is not there is told before it runs, from what was found.
"""

_CALLS: Final[Mapping[Language, str]] = MappingProxyType(
    {
        "python": "Python: `from SERVER import TOOL`, `await TOOL(name=value)`.",
        "typescript": (
            'TypeScript: `import { TOOL } from "SERVER"`, `await TOOL({name: value})`; '
            "helpers in camelCase."
        ),
    }
)
_HELPERS: Final = (
    "_ stands for what no identifier holds. A failing tool raises. From `toolcrib`: "
    "call(server, tool, args), map_limit(function, items, limit); try_call(awaitable) and "
    "gather_settled(*awaitables) give {ok, value, error}. Await at the top level; end with "
    "`return`."
)
_LACKS: Final = f"This Python lacks {', '.join(LACKED)}."


def definition(languages: tuple[Language, ...]) -> dict[str, Any]:
    """`run_code` for these languages, the first one by default."""
    properties: dict[str, Any] = {"code": {"type": "string", "description": "The program"}}
    if len(languages) > 1:
        properties["language"] = {
            "type": "string",
            "enum": list(languages),
            "default": languages[0],
        }
    lacks = [_LACKS] if "python" in languages else []
    return {
        "name": RUN,
        "title": "Run a program",
        "description": " ".join([_WHEN, *(_CALLS[it] for it in languages), _HELPERS, *lacks]),
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
    def speaking(self) -> Modules:
        """Says what programs call tools."""
        return self._programs.modules

    @property
    def definition(self) -> Mapping[str, Any]:
        """Always the same bytes."""
        return self._definition

    async def call(
        self,
        arguments: Mapping[str, Any],
        requester: Requester,
        retry: Retry | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The result of a program; raises as `Programs.run` does, and `BadArguments`."""
        return await self._programs.run(self._source(arguments), requester, retry, progress)

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
