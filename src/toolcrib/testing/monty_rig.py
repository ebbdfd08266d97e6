"""What tests of the Python runtime run programs with: modules, settings, one sandbox that ends."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from toolcrib.adapters.monty.sandbox import MontySandbox
from toolcrib.ports import Program, SandboxModule
from toolcrib.settings import CodeSettings

GITHUB: Final = SandboxModule(
    "from typing import NotRequired, TypedDict\n"
    "class Issue(TypedDict):\n    number: int\n    title: NotRequired[str]\n"
    "async def create_issue(*, title: str, body: str = ...) -> Issue: ...\n"
    "async def list_issues() -> list[Issue]: ...\n",
    frozenset({"create_issue", "list_issues"}),
)
TOOLCRIB: Final = SandboxModule(
    "from collections.abc import Awaitable\nfrom typing import Any\n"
    "async def call(server: str, tool: str, args: dict[str, Any] = ...) -> Any: ...\n"
    "async def try_call(server: str, tool: str) -> dict[str, Any]: ...\n"
    "async def gather_settled(*awaitables: Awaitable[Any]) -> list[dict[str, Any]]: ...\n",
    frozenset({"call"}),
    """
import asyncio

async def _settled(awaitable):
    try:
        return {"ok": True, "value": await awaitable}
    except Exception as error:
        return {"ok": False, "error": str(error)}

async def try_call(server, tool):
    return await _settled(call(server, tool))

async def gather_settled(*awaitables):
    return list(await asyncio.gather(*[_settled(each) for each in awaitables]))
""",
)
MODULES: Final = {"github": GITHUB, "toolcrib": TOOLCRIB}


def program(source: str, *, checked: bool = False, **others: Any) -> Program:
    """A program that sees two modules."""
    return Program(source, MODULES, checked=checked, **others)


@asynccontextmanager
async def monty(**settings: Any) -> AsyncGenerator[MontySandbox]:
    """A sandbox that is closed at the end."""
    sandbox = MontySandbox(CodeSettings(**settings))
    try:
        yield sandbox
    finally:
        await sandbox.aclose()
