"""What the model is told of the tools that enable servers: the same whatever is configured."""

from typing import Any, Final

SEARCH_SERVERS: Final = "search_available_servers"
ENABLE: Final = "enable_server"
DISABLE: Final = "disable_server"


def search_servers_definition() -> dict[str, Any]:
    """`search_available_servers`."""
    return {
        "name": SEARCH_SERVERS,
        "title": "Search available servers",
        "description": (
            "Find servers and skills that can be enabled. Use it when search_tools finds nothing "
            "that fits: the tools of a server are found once it is enabled."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What for; without it, all are listed"},
                "limit": {"type": "integer", "minimum": 1},
            },
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def enable_definition() -> dict[str, Any]:
    """`enable_server`."""
    return {
        "name": ENABLE,
        "title": "Enable a server",
        "description": (
            "Connect a server, or all servers of a skill, so that search_tools finds its tools. "
            "Also tries again at once where a server could not be reached."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "server": {"type": "string", "description": "Name of a server or a skill"}
            },
            "required": ["server"],
        },
        "annotations": {"destructiveHint": False, "idempotentHint": True},
    }


def disable_definition() -> dict[str, Any]:
    """`disable_server`."""
    return {
        "name": DISABLE,
        "title": "Disable a server",
        "description": "Give back a server that you enabled and need no more.",
        "inputSchema": {
            "type": "object",
            "properties": {"server": {"type": "string"}},
            "required": ["server"],
        },
        "annotations": {"destructiveHint": False, "idempotentHint": True},
    }
