"""The tools that enable servers, in the order in which they are listed."""

from toolcrib.discovery.meta.seams import ExtraTool
from toolcrib.discovery.servers.enabling import DisableServer, EnableServer, Exposed
from toolcrib.discovery.servers.looking import SearchAvailableServers
from toolcrib.discovery.servers.offers import OfferSearch
from toolcrib.discovery.servers.servers import Servers
from toolcrib.settings import Limits


def server_tools(
    servers: Servers, search: OfferSearch, *, exposed: Exposed, limits: Limits
) -> tuple[ExtraTool, ...]:
    """`search_available_servers`, `enable_server` and `disable_server` for one principal."""
    return (
        SearchAvailableServers(servers, search, limits),
        EnableServer(servers, exposed),
        DisableServer(servers),
    )
