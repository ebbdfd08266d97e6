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
from toolcrib.calls.seams import Sights
from toolcrib.catalog.access import CatalogAccess
from toolcrib.catalog.reading import Reading
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
from toolcrib.core.stubs.identifiers import FUNCTIONS, identifiers
from toolcrib.core.stubs.server_stubs import ServerStubs, ToolStub, module_names, server_stubs
from toolcrib.discovery.meta.current import looked_up
from toolcrib.discovery.meta.seams import Spoken
from toolcrib.discovery.seams import Enabling, not_enabled
from toolcrib.errors import ToolcribError, ToolGone
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
    """The functions of every module that there is; empty where nobody looked."""
    away: Mapping[str, str]
    """Why the tools of a module that the text names are not known."""
    renamed: Mapping[str, str]
    """The modules of servers that the text names by an id that is no module, by that id."""
    stale: Collection[str]
    """The servers whose catalogs may be older than what the author of the text knows."""


class Modules:
    """Makes the modules of one principal's servers.

    Args:
        access: Its catalogs.
        sights: What its callers were shown.
    """

    def __init__(self, access: CatalogAccess, sights: Sights) -> None:
        self._access = access
        self._sights = sights
        self._made: dict[str, tuple[str, ServerStubs]] = {}
        self._named: dict[str, tuple[str, Mapping[str, str]]] = {}

    async def view(
        self,
        source: str,
        language: Language,
        servers: Iterable[str],
        requester: Requester,
        *,
        renew: Collection[str] = (),
        on_demand: Iterable[str] = (),
    ) -> View:
        """What a program of this text can import of these servers; the catalogs of some anew.

        Of the servers on demand those that are not among them have to be enabled first.
        """
        access = self._access
        words = set(_WORD.findall(source))
        by_module = {module: server for server, module in module_names(servers).items()}
        wanted = {module: server for module, server in by_module.items() if module in words}
        found, failed = await looked_up(
            wanted.values(),
            lambda server: (access.renewed if server in renew else access.read_one)(
                server, Kind.TOOLS
            ),
        )
        modules = {TOOLCRIB: _toolcrib(language)}
        callees: dict[str, Callee] = {}
        names: dict[str, Collection[str]] = {TOOLCRIB: (), **dict.fromkeys(by_module, ())}
        away = _not_enabled(on_demand, by_module, words)
        for module, server in sorted(wanted.items()):
            reading = found.get(server)
            if reading is None or reading.snapshot is None:
                away[module] = _why(server, reading, failed.get(server))
                continue
            stubs = await self._stubs(server, module, reading.snapshot)
            used = [name for name in stubs.stubs if name in words]
            names[module] = stubs.stubs.keys()
            modules[module] = SandboxModule(stubs.text(language, used), frozenset(used))
            for name in used:
                callees[f"{module}.{name}"] = await self._callee(
                    server, stubs.stubs[name], reading.snapshot, language, requester
                )
        renamed = {
            server: module
            for module, server in by_module.items()
            if module != server and server in words
        }
        stale = {it.server for it in found.values() if not it.current} - set(renew)
        return View(modules, callees, names, away, renamed, stale)

    def spoken(self, server: str, keys: Collection[str], servers: Iterable[str]) -> Spoken:
        """What programs call a server, and tools that its catalog has now."""
        module = module_names({*servers, server})[server]
        there = server in self._access.server_ids()
        snapshot = self._access.peek(server, Kind.TOOLS).snapshot if there else None
        if snapshot is None:
            return Spoken(module, {})
        digest, functions = self._named.get(server, ("", _SAME))
        if digest != snapshot.digest:
            functions = identifiers((item.key for item in snapshot.items), FUNCTIONS, server)
            self._named[server] = (snapshot.digest, functions)
        return Spoken(module, {key: functions[key] for key in keys if key in functions})

    async def _callee(
        self,
        server: str,
        stub: ToolStub,
        snapshot: Snapshot,
        language: Language,
        requester: Requester,
    ) -> Callee:
        """What a function stands for, under the contract that its caller knows.

        A program is written from what its author saw. Where that was another contract than the
        current one, the call has to be refused like a direct one, although the module that is
        imported is the current one.
        """
        item = snapshot.get(stub.key)
        now = "" if item is None else item.contract
        seen = await self._sights.contract(requester, server, stub.key, now=now)
        return Callee(
            server, stub.key, seen or now, stub.renamed if language == "python" else _SAME
        )

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


def modules_again(
    modules: Iterable[str], callees: Iterable[str], language: Language
) -> dict[str, SandboxModule]:
    """The modules of a program that goes on: those that it had, whatever catalogs hold now.

    Its types were checked before, so nothing is declared.

    Args:
        modules: Their names.
        callees: All functions of servers, as `module.function`.
        language: Of the program.
    """
    functions: dict[str, set[str]] = {module: set() for module in modules if module != TOOLCRIB}
    for name in callees:
        module, _, function = name.rpartition(".")
        functions.setdefault(module, set()).add(function)
    made = {module: SandboxModule("", frozenset(names)) for module, names in functions.items()}
    return {TOOLCRIB: _toolcrib(language), **made}


class CalleesOf:
    """Implements `Callees` for one program, as its names were when it began.

    Args:
        callees: By `module.function`.
        access: The catalogs, for names of what is there.
        enabling: Has servers there.
        servers: Those that there are for its caller.
    """

    def __init__(
        self,
        callees: Mapping[str, Callee],
        access: CatalogAccess,
        enabling: Enabling,
        servers: Collection[str],
    ) -> None:
        self._callees = callees
        self._access = access
        self._enabling = enabling
        self._servers = servers

    def named(self, module: str, function: str) -> Callee | None:
        """What a function stood for when the program began."""
        return self._callees.get(f"{module}.{function}")

    async def reach(self, server: str, requester: Requester) -> None:
        """Have a server there; raises `ToolGone` and `NotAllowed`."""
        await self._enabling.need(requester, server)
        if server not in self._access.server_ids():
            close = near(server, self._servers)
            raise ToolGone(f"there is no server {quoted(server)}{_meant(close)}", server=server)

    def in_own_names(self, gone: ToolGone, server: str, tool: str) -> ToolGone:
        """The error for a missing tool, with names as programs call by; of a rename as it is."""
        if "inputSchema" in gone.details or server not in self._access.server_ids():
            return gone
        snapshot = self._access.peek(server, Kind.TOOLS).snapshot
        keys = [] if snapshot is None else [item.key for item in snapshot.items[:_NEAR]]
        what = f"{quoted(server)} has no tool {quoted(tool)}{_meant(near(tool, keys))}"
        return ToolGone(what, server=server, details=gone.details)


def _not_enabled(
    on_demand: Iterable[str], by_module: Mapping[str, str], words: Collection[str]
) -> dict[str, str]:
    """Why the modules of servers are not there that nobody enabled, where the text names them."""
    there = set(by_module.values())
    hidden = set(on_demand) - there
    names = module_names(there | hidden) if hidden else {}
    named = {names[server]: server for server in hidden if names[server] in words}
    return {
        module: f"there is no module {quoted(module)}: {not_enabled(server)}"
        for module, server in named.items()
        if module not in by_module
    }


def _why(server: str, reading: Reading | None, failed: ToolcribError | None) -> str:
    """Why the tools of a server are not known, in a sentence."""
    why = "" if failed is None else failed.for_model()
    if reading is not None and reading.trouble:
        why = reading.trouble
    what = f"the tools of the server {quoted(server)} cannot be read now"
    return f"{what}: {why}" if why else what


def _meant(close: Collection[str]) -> str:
    return f"; did you mean {enumerated(map(quoted, close))}?" if close else ""


def _toolcrib(language: Language) -> SandboxModule:
    functions = frozenset({RAW})
    match language:
        case "python":
            return SandboxModule(PYTHON_DECLARATIONS, functions, PYTHON_SOURCE)
        case "typescript":
            return SandboxModule(TYPESCRIPT_DECLARATIONS, functions, TYPESCRIPT_SOURCE)
