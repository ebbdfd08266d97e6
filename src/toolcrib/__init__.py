"""toolcrib: the runtime between an AI agent and many MCP servers.

The public names; each is imported when it is first used, so that a part costs only itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.version import __version__

if TYPE_CHECKING:
    from toolcrib.calls.call import Requester
    from toolcrib.catalog.access import CatalogAccess, PublishedChange
    from toolcrib.catalog.reading import Reading
    from toolcrib.config.loading import load_settings
    from toolcrib.core.snapshot import Item, Kind, Snapshot
    from toolcrib.crib import Crib
    from toolcrib.errors import ToolcribError
    from toolcrib.settings import HttpLaunch, Secret, ServerSettings, Settings, StdioLaunch

__all__ = [
    "CatalogAccess",
    "Crib",
    "HttpLaunch",
    "Item",
    "Kind",
    "PublishedChange",
    "Reading",
    "Requester",
    "Secret",
    "ServerSettings",
    "Settings",
    "Snapshot",
    "StdioLaunch",
    "ToolcribError",
    "__version__",
    "load_settings",
]

_HOMES = {
    "CatalogAccess": "toolcrib.catalog.access",
    "Crib": "toolcrib.crib",
    "HttpLaunch": "toolcrib.settings",
    "Item": "toolcrib.core.snapshot",
    "Kind": "toolcrib.core.snapshot",
    "PublishedChange": "toolcrib.catalog.access",
    "Reading": "toolcrib.catalog.reading",
    "Requester": "toolcrib.calls.call",
    "Secret": "toolcrib.settings",
    "ServerSettings": "toolcrib.settings",
    "Settings": "toolcrib.settings",
    "Snapshot": "toolcrib.core.snapshot",
    "StdioLaunch": "toolcrib.settings",
    "ToolcribError": "toolcrib.errors",
    "load_settings": "toolcrib.config.loading",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolcrib' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
