"""`enable_server` and `disable_server`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.core.jsontypes import described
from toolcrib.core.naming import near
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.discovery.meta.one_line import exact, one_line
from toolcrib.discovery.servers.definitions import (
    SEARCH_SERVERS,
    disable_definition,
    enable_definition,
)
from toolcrib.discovery.servers.faults import told, wrong
from toolcrib.discovery.servers.servers import Servers, Standing
from toolcrib.errors import BadArguments

_NAMES: Final = 600
"""Characters of names of tools in one answer about a server."""
_TROUBLE: Final = 300

Exposed = Callable[[str, str], str]
"""(server, original name) -> exposed name."""


class EnableServer:
    """Implements `ExtraTool`."""

    def __init__(self, servers: Servers, exposed: Exposed) -> None:
        self.definition: Mapping[str, Any] = enable_definition()
        self._servers = servers
        self._exposed = exposed

    async def call(self, arguments: Mapping[str, Any], requester: Requester) -> dict[str, Any]:
        """How many tools are there now, and some of them; or why they are not there yet.

        Raises:
            BadArguments: There is neither a server nor a skill of that name.
            NotAllowed: Nothing tells this caller from others.
        """
        name = _name(arguments)
        found = _meant(name, (*self._servers.configured, *self._servers.skills))
        if found is None:
            raise _unknown(name, (*self._servers.on_demand, *self._servers.skills))
        if found in self._servers.configured:
            return told(map(self._line, await self._servers.enable(requester, (found,))))
        skill = self._servers.skill(found)
        wanted = () if skill is None else skill.servers
        # A skill may name servers that are switched off; the others are of use without them.
        there = [server for server in wanted if server in self._servers.configured]
        lines = [self._line(it) for it in await self._servers.enable(requester, there)]
        away = [quoted(server) for server in wanted if server not in there]
        if away:
            lines.append(f"Switched off in the configuration: {enumerated(away)}.")
        return told([f"Skill {quoted(found)}:", *lines])

    def _line(self, standing: Standing) -> str:
        who, tools = quoted(standing.server), standing.tools
        enabled = f"{who} is {'enabled' if standing.on_demand else 'there without being enabled'}"
        why = one_line(standing.trouble, _TROUBLE)
        if standing.connected and tools is not None:
            return f"{enabled}: {self._counted(standing)}."
        later = "It is tried again by itself, and at once by this tool."
        if tools:
            reason = f" ({why})" if why else ""
            then = f"when it was last listed it had {self._counted(standing)}"
            return f"{enabled}, but cannot be reached now{reason}; {then}. {later}"
        if why:
            return f"{enabled}, but its tools are not there yet: {why.rstrip('.')}. {later}"
        return f"{enabled}; it takes longer to start, and its tools are found when it is there."

    def _counted(self, standing: Standing) -> str:
        tools = standing.tools or ()
        if not tools:
            return "it has no tools"
        names = (exact(self._exposed(standing.server, tool)) for tool in tools)
        count = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
        return f"{count}: {enumerated(names, _NAMES)}"


class DisableServer:
    """Implements `ExtraTool`."""

    def __init__(self, servers: Servers) -> None:
        self.definition: Mapping[str, Any] = disable_definition()
        self._servers = servers

    async def call(self, arguments: Mapping[str, Any], requester: Requester) -> dict[str, Any]:
        """Whether the server was enabled.

        Raises:
            BadArguments: There is no server of that name, or it is always there.
        """
        name = _name(arguments)
        found = _meant(name, (*self._servers.configured, *self._servers.skills))
        if found is None:
            raise _unknown(name, self._servers.on_demand)
        skill = self._servers.skill(found)
        if skill is not None and found not in self._servers.configured:
            servers = enumerated(map(quoted, skill.servers))
            raise BadArguments(f"{quoted(found)} is a skill: disable its servers ({servers}).")
        if found not in self._servers.on_demand:
            raise BadArguments(f"The server {quoted(found)} is always there.")
        had = await self._servers.disable(requester, found)
        what = "is disabled; enable it again when you need it" if had else "was not enabled"
        return told([f"{quoted(found)} {what}."])


def _name(arguments: Mapping[str, Any]) -> str:
    """The name that is meant; models also call it what it is."""
    value = next((arguments[key] for key in ("server", "skill", "name") if key in arguments), None)
    if not isinstance(value, str) or not value.strip():
        found = "is empty" if isinstance(value, str) else f"is {described(value)}"
        raise wrong("server", f"{found}, but must be a name, as {SEARCH_SERVERS} gives it")
    return value.strip()


def _meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that is written, perhaps in other capitals."""
    names = tuple(known)
    if name in names:
        return name
    alike = {each for each in names if each.casefold() == name.casefold()}
    return alike.pop() if len(alike) == 1 else None


def _unknown(name: str, known: Iterable[str]) -> BadArguments:
    names = sorted(known)
    similar = near(name, names)
    lead = "Similar ones" if similar else "There are"
    told_names = enumerated(map(exact, similar or names), _NAMES) or "none"
    return BadArguments(
        f"There is neither a server nor a skill {quoted(name)}. {lead}: {told_names}.",
        details={"near": list(similar)},
    )
