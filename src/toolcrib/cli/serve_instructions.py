"""What the gateway has hosts tell their models, beside the definitions that they list."""

from typing import Final

from toolcrib.discovery.meta.definitions import instructions
from toolcrib.settings import Settings

NOBODY: Final = (
    "There are no tools here at the moment: toolcrib has no server that it can use, because none "
    "is configured, or all of them are disabled or broken. Tell the person you work for to look at "
    "its configuration."
)


def instructions_of(settings: Settings) -> str:
    """The text for a configuration; empty where the definitions say it all."""
    servers = [it for it in settings.servers if not it.disabled]
    if not servers:
        return NOBODY
    wanted = settings.gateway.exposure
    on_demand = any(it.on_demand for it in servers)
    return instructions("search" if wanted == "full" and on_demand else wanted)
