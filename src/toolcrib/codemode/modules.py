"""The modules that a program imports: the servers of its caller, as their catalogs are now.

Of a thousand tools a program uses five, and whoever checks its types reads what it is given. So a
program is given the modules whose names stand in its text, with the functions whose names do; a
name that does not stand there cannot be used.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from anyio import to_thread

from toolcrib.calls.call import Requester
from toolcrib.catalog.access import CatalogAccess
from toolcrib.codemode.callees import RAW, TOOLCRIB, Callee
from toolcrib.core.naming import near
from toolcrib.core.program.toolcrib_module import (
    PYTHON_DECLARATIONS,
    PYTHON_SOURCE,
    TYPESCRIPT_DECLARATIONS,
    TYPESCRIPT_SOURCE,
)
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.core.snapshot import Kind, Snapshot
from toolcrib.core.stubs.server_stubs import ServerStubs, module_names, server_stubs
from toolcrib.errors import ToolGone
from toolcrib.ports import SandboxModule
from toolcrib.settings import Language

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OFF_LOOP: Final = 200
"""Tools of one server from which on its module is made in a thread."""
_NEAR: Final = 2_000
_SAME: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class View:
    """What one program can import, and what its names stand for."""

    modules: Mapping[str, SandboxModule]
    callees: Mapping[str, Callee]
    """By `module.function`."""
    names: Mapping[str, Collection[str]]
    """The functions of every module that there is, empty where its module was not needed."""


class Modules:
    """Makes the modules of one principal's servers.

    Args:
        access: Its catalogs.
    """

    def __init__(self, access: CatalogAccess) -> None:
        self._access = access
        self._made: dict[str, tuple[str, ServerStubs]] = {}

    async def view(self, source: str, language: Language, servers: Iterable[str]) -> View:
        """What a program of this text can import of these servers."""
        words = set(_WORD.findall(source))
        by_module = {module: server for server, module in module_names(servers).items()}
        modules = {TOOLCRIB: _toolcrib(language)}
        callees: dict[str, Callee] = {}
        in_python = language == "python"
        names: dict[str, Collection[str]] = {TOOLCRIB: (), **dict.fromkeys(by_module, ())}
        for module, server in sorted(by_module.items()):
            if module not in words:
                continue
            snapshot = (await self._access.read_one(server, Kind.TOOLS)).snapshot
            if snapshot is None:
                continue
            stubs = await self._stubs(server, module, snapshot)
            used = {name: key for name, key in stubs.tools.items() if name in words}
            names[module] = stubs.tools
            modules[module] = SandboxModule(stubs.text(language, used), frozenset(used))
            for name, key in used.items():
                item = snapshot.get(key)
                contract = "" if item is None else item.contract
                callees[f"{module}.{name}"] = Callee(
                    server, key, contract, stubs.stubs[name].renamed if in_python else _SAME
                )
        return View(modules, callees, names)

    async def _stubs(self, server: str, module: str, snapshot: Snapshot) -> ServerStubs:
        digest, earlier = self._made.get(server, ("", None))
        if earlier is not None and (digest, earlier.module) == (snapshot.digest, module):
            return earlier
        items = snapshot.items
        if len(items) < _OFF_LOOP:
            made = server_stubs(server, module, items, earlier)
        else:
            made = await to_thread.run_sync(server_stubs, server, module, items, earlier)
        self._made[server] = (snapshot.digest, made)
        return made


class CalleesOf:
    """Implements `Callees` for one program, as its names were when it began.

    Args:
        callees: By `module.function`.
        access: The catalogs, for raw names.
        servers: Those that there are for its caller.
    """

    def __init__(
        self, callees: Mapping[str, Callee], access: CatalogAccess, servers: Collection[str]
    ) -> None:
        self._callees = callees
        self._access = access
        self._servers = servers

    def named(self, module: str, function: str) -> Callee | None:
        """What a function stood for when the program began."""
        return self._callees.get(f"{module}.{function}")

    async def raw(self, server: str, tool: str, requester: Requester) -> Callee:
        """A tool by the names that its server gives, as it is now."""
        del requester
        if server not in self._servers:
            close = near(server, self._servers)
            raise ToolGone(f"there is no server {quoted(server)}{_meant(close)}")
        snapshot = (await self._access.read_one(server, Kind.TOOLS)).snapshot
        if snapshot is not None and snapshot.get(tool) is None:
            keys = [item.key for item in snapshot.items[:_NEAR]]
            what = f"{quoted(server)} has no tool {quoted(tool)}{_meant(near(tool, keys))}"
            raise ToolGone(what, server=server)
        return Callee(server, tool)


def _meant(close: Collection[str]) -> str:
    return f"; did you mean {enumerated(map(quoted, close))}?" if close else ""


def _toolcrib(language: Language) -> SandboxModule:
    functions = frozenset({RAW})
    match language:
        case "python":
            return SandboxModule(PYTHON_DECLARATIONS, functions, PYTHON_SOURCE)
        case "typescript":
            return SandboxModule(TYPESCRIPT_DECLARATIONS, functions, TYPESCRIPT_SOURCE)
