"""The module of one server, for programs: its text in both languages, and the way back.

    stubs = server_stubs("github", "github", snapshot.items)
    stubs.text("python")                        # declarations of all its tools
    stubs.stubs["create_issue"].key             # the tool's own name
    stubs.stubs["create_issue"].renamed         # keys of arguments that Python calls otherwise

The same tools have the same bytes, whatever the order in which they arrive.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolcrib.core.snapshot import Item
from toolcrib.core.stubs.identifiers import FUNCTIONS, MODULES, identifiers
from toolcrib.core.stubs.python_text import HEADER, python_declarations
from toolcrib.core.stubs.reserved import TYPE_WORDS
from toolcrib.core.stubs.signature import pascal, signature
from toolcrib.core.stubs.typescript_text import TYPE_WORDS as TYPESCRIPT_WORDS
from toolcrib.core.stubs.typescript_text import typescript_declarations
from toolcrib.core.stubs.wording import python_string, typescript_comment

Tongue = Literal["python", "typescript"]

VALUE_RULE: Final = (
    "A call gives its structured content; else its text, parsed where that is JSON, or a list of "
    'texts; images and other bytes are {"$content": kind, "handle", "bytes"}.'
)
"""What a call's value is, in one line; the whole rule where the result has no schema."""

_KEY_RULE: Final = "In names of tools and arguments, _ stands for what no identifier holds."


@dataclass(frozen=True, slots=True)
class ToolStub:
    """One tool as a function."""

    key: str
    """The tool's name upstream."""
    identifier: str
    prefix: str
    """Begins the names of its types."""
    fingerprint: str
    """Of the definition it was made from."""
    python: str
    typescript: str
    renamed: Mapping[str, str]
    """Keys of arguments that Python calls otherwise, by what it calls them."""
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class ServerStubs:
    """One server's tools as a module."""

    server: str
    module: str
    stubs: Mapping[str, ToolStub]
    """By identifier, in the order of identifiers."""

    def text(self, tongue: Tongue, only: Collection[str] | None = None) -> str:
        """The declarations of all functions, or of these alone: a checker reads fewer faster."""
        return _text(self.server, self.stubs, tongue, only)


def module_names(servers: Iterable[str]) -> dict[str, str]:
    """The module of each server, by server id."""
    return identifiers(servers, MODULES)


def server_stubs(
    server: str, module: str, items: Iterable[Item], earlier: ServerStubs | None = None
) -> ServerStubs:
    """The module of a server.

    Args:
        server: Its configured id.
        module: Its name, from `module_names`.
        items: The tools that the program may see, in any order.
        earlier: What was made of another listing of this server: unchanged tools are taken over.
    """
    by_key = {item.key: item for item in items}
    names = identifiers(by_key, FUNCTIONS, server)
    taken = {*TYPE_WORDS, *TYPESCRIPT_WORDS, *names.values()}
    known: Mapping[str, ToolStub] = {} if earlier is None else earlier.stubs
    everything = "\0".join(sorted(names.values()))  # so that nobody can foresee the next prefix
    stubs: dict[str, ToolStub] = {}
    for name, key in sorted((name, key) for key, name in names.items()):
        stub = _stub(by_key[key], name, pascal(name), known)
        turn = 0
        while stub.types & taken:
            turn += 1
            mark = hashlib.sha256(f"{name}\0{turn}\0{everything}".encode()).hexdigest()[:8]
            stub = _stub(by_key[key], name, f"{pascal(name)}{mark}", known)
        taken |= stub.types
        stubs[name] = stub
    return ServerStubs(server, module, stubs)


def _stub(item: Item, name: str, prefix: str, known: Mapping[str, ToolStub]) -> ToolStub:
    old = known.get(name)
    if old is not None and (old.key, old.prefix, old.fingerprint) == (
        item.key,
        prefix,
        item.fingerprint,
    ):
        return old
    it = signature(name, item.definition, prefix)
    return ToolStub(
        item.key,
        name,
        prefix,
        item.fingerprint,
        python_declarations(it),
        typescript_declarations(it),
        it.renamed,
        it.type_names,
    )


def _text(
    server: str, stubs: Mapping[str, ToolStub], tongue: Tongue, only: Collection[str] | None
) -> str:
    shown = [stub for name, stub in stubs.items() if only is None or name in only]
    about = f"Tools of {server[:60]}. {VALUE_RULE}"
    if tongue == "python":
        parts = [
            python_string(f"{about} {_KEY_RULE}"),
            "\n",
            HEADER,
            *(stub.python for stub in shown),
        ]
    else:
        parts = [typescript_comment(about), "\n", *(stub.typescript for stub in shown)]
    return "".join(parts)
