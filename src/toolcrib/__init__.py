"""toolcrib: the runtime between an AI agent and many MCP servers.

The public names; each is imported when it is first used, so that a part costs only itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.version import __version__

if TYPE_CHECKING:
    from toolcrib.calls.call import Requester
    from toolcrib.calls.rounds.questions import (
        CANCELLED,
        DECLINED,
        Callbacks,
        FormQuestion,
        PageQuestion,
        Said,
    )
    from toolcrib.catalog.access import CatalogAccess, PublishedChange
    from toolcrib.catalog.reading import Reading
    from toolcrib.codemode.ran import Ran
    from toolcrib.config.loading import load_settings
    from toolcrib.context.delta import Delta
    from toolcrib.context.toolset import Toolset
    from toolcrib.core.partition import Principal
    from toolcrib.core.snapshot import Item, Kind, Snapshot
    from toolcrib.crib import Crib
    from toolcrib.errors import ScriptFailed, ToolcribError
    from toolcrib.protocol.forms import Field, Form
    from toolcrib.protocol.pages import Page
    from toolcrib.settings import (
        CodeSettings,
        DynamicSettings,
        ExposureSettings,
        FlowRule,
        HttpLaunch,
        SearchSettings,
        Secret,
        ServerSettings,
        Settings,
        Skill,
        StdioLaunch,
        SubagentSettings,
    )

__all__ = [
    "CANCELLED",
    "DECLINED",
    "Callbacks",
    "CatalogAccess",
    "CodeSettings",
    "Crib",
    "Delta",
    "DynamicSettings",
    "ExposureSettings",
    "Field",
    "FlowRule",
    "Form",
    "FormQuestion",
    "HttpLaunch",
    "Item",
    "Kind",
    "Page",
    "PageQuestion",
    "Principal",
    "PublishedChange",
    "Ran",
    "Reading",
    "Requester",
    "Said",
    "ScriptFailed",
    "SearchSettings",
    "Secret",
    "ServerSettings",
    "Settings",
    "Skill",
    "Snapshot",
    "StdioLaunch",
    "SubagentSettings",
    "ToolcribError",
    "Toolset",
    "__version__",
    "load_settings",
]

_HOMES = {
    "CANCELLED": "toolcrib.calls.rounds.questions",
    "DECLINED": "toolcrib.calls.rounds.questions",
    "Callbacks": "toolcrib.calls.rounds.questions",
    "CatalogAccess": "toolcrib.catalog.access",
    "CodeSettings": "toolcrib.settings",
    "Crib": "toolcrib.crib",
    "Delta": "toolcrib.context.delta",
    "DynamicSettings": "toolcrib.settings",
    "ExposureSettings": "toolcrib.settings",
    "Field": "toolcrib.protocol.forms",
    "FlowRule": "toolcrib.settings",
    "Form": "toolcrib.protocol.forms",
    "FormQuestion": "toolcrib.calls.rounds.questions",
    "HttpLaunch": "toolcrib.settings",
    "Item": "toolcrib.core.snapshot",
    "Kind": "toolcrib.core.snapshot",
    "Page": "toolcrib.protocol.pages",
    "PageQuestion": "toolcrib.calls.rounds.questions",
    "Principal": "toolcrib.core.partition",
    "PublishedChange": "toolcrib.catalog.access",
    "Ran": "toolcrib.codemode.ran",
    "Reading": "toolcrib.catalog.reading",
    "Requester": "toolcrib.calls.call",
    "Said": "toolcrib.calls.rounds.questions",
    "ScriptFailed": "toolcrib.errors",
    "SearchSettings": "toolcrib.settings",
    "Secret": "toolcrib.settings",
    "ServerSettings": "toolcrib.settings",
    "Settings": "toolcrib.settings",
    "Skill": "toolcrib.settings",
    "Snapshot": "toolcrib.core.snapshot",
    "StdioLaunch": "toolcrib.settings",
    "SubagentSettings": "toolcrib.settings",
    "ToolcribError": "toolcrib.errors",
    "Toolset": "toolcrib.context.toolset",
    "load_settings": "toolcrib.config.loading",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'toolcrib' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
