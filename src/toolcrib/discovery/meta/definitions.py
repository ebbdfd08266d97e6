"""What the model is told of the meta-tools: written for models, the same whatever the catalog.

The texts say when to use which, because a model that is not told so either searches for what it
has or gives up on what it could find. Their size is part of the first 1,000 tokens, and tested.
"""

from collections.abc import Mapping
from typing import Any, Final, assert_never

from toolcrib.core.exposure import Wanted
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.discovery.meta.arguments import DETAILS_MOST, full_hits
from toolcrib.errors import ToolcribBug
from toolcrib.settings import Limits

SEARCH: Final = "search_tools"
DETAILS: Final = "get_tool_details"
CALL: Final = "call_tool"

_READING: Final = {"readOnlyHint": True, "openWorldHint": False}


def search_definition(limits: Limits) -> dict[str, Any]:
    """`search_tools`, with the configured limits in its schema."""
    return {
        "name": SEARCH,
        "title": "Search tools",
        "description": (
            "Find tools by what they do. Most tools are not in your list: search here before you "
            "say that something cannot be done, and again with other words if nothing fits. "
            "An empty query lists the servers, or the tools of one server."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What the tool should do, in a few words, any language; "
                    "or a /regular expression/",
                },
                "server": {"type": "string", "description": "Only tools of this server"},
                "detail": {
                    "type": "string",
                    "enum": ["name", "brief", "full"],
                    "default": "brief",
                    "description": "name: names only; brief: also a line and the parameters; "
                    "full: whole definitions",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": limits.search_hits_most,
                    "description": f"Default {limits.search_hits}, with full {full_hits(limits)}",
                },
            },
            "required": ["query"],
        },
        "annotations": _READING,
    }


def details_definition() -> dict[str, Any]:
    """`get_tool_details`."""
    return {
        "name": DETAILS,
        "title": "Get tool details",
        "description": (
            "Get the whole definitions of tools that you found: description, all parameters, "
            "result. Use it before the first call of a tool, unless its parameters are plain."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "names": {
                    "type": "array",
                    "items": {"type": "string"},
                    "maxItems": DETAILS_MOST,
                    "description": f"Exactly as {SEARCH} gives them",
                }
            },
            "required": ["names"],
        },
        "annotations": _READING,
    }


def call_definition() -> dict[str, Any]:
    """`call_tool`; nobody can say what it does, so it warns of everything."""
    return {
        "name": CALL,
        "title": "Call a tool",
        "description": (
            "Call a tool that you found and that is not in your list. It answers as the tool does; "
            "if the tool changed or the arguments do not fit, it says how to correct the call."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": f"Exactly as {SEARCH} gives it"},
                "args": {"type": "object", "description": "The tool's own arguments"},
            },
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    }


def item_of(definition: Mapping[str, Any]) -> Item:
    """A definition of ours judged like any server's, so that it can be listed like one."""
    verdict = judge(Kind.TOOLS, dict(definition), header_rules=True).verdict
    if not isinstance(verdict, Item):
        raise ToolcribBug(f"the meta-tool {verdict.key} is malformed: {verdict.detail}")
    return verdict


def instructions(exposure: Wanted) -> str:
    """What a host should tell its model beside the definitions; empty where nothing is hidden.

    It goes into the `instructions` that a server gives (MCP 2026-07-28, discovery). That of `auto`
    holds whatever is shown.
    """
    match exposure:
        case "auto":
            return _FINDING_IF
        case "full":
            return ""
        case "search":
            return _FINDING
        case "code":
            return f"{_FINDING} {_PROGRAMS}"
        case _:
            assert_never(exposure)


_FINDING: Final = (
    f"Most tools here are not in your list. When you need one, find it with {SEARCH}, read its "
    f"parameters with {DETAILS} where they are not plain, and use it with {CALL}."
)
_FINDING_IF: Final = (
    f"If {SEARCH} is in your list, there are more tools than the list has: find them with it, read "
    f"their parameters with {DETAILS} where they are not plain, and use them with {CALL}."
)
"""One sentence whose condition holds for all of it: without a search there is nothing to find."""
_PROGRAMS: Final = "For many calls, or large results that you only need parts of, use run_code."
