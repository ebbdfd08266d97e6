"""What tests of the TypeScript runtime run programs with: modules, and a sandbox that ends."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from toolcrib.adapters.deno.sandbox import DenoSandbox
from toolcrib.core.program.toolcrib_module import TYPESCRIPT_DECLARATIONS, TYPESCRIPT_SOURCE
from toolcrib.ports import Program, SandboxModule
from toolcrib.settings import CodeSettings

GITHUB: Final = SandboxModule(
    "export interface Issue { number: number; title?: string }\n"
    "export function create_issue(args: { title: string; body?: string }): Promise<Issue>;\n"
    "export function list_issues(): Promise<Array<Issue>>;\n",
    frozenset({"create_issue", "list_issues"}),
)
TOOLCRIB: Final = SandboxModule(TYPESCRIPT_DECLARATIONS, frozenset({"call"}), TYPESCRIPT_SOURCE)
MODULES: Final = {"github": GITHUB, "toolcrib": TOOLCRIB}


def program(source: str, **others: Any) -> Program:
    """A program that sees two modules."""
    return Program(source, MODULES, **others)


@asynccontextmanager
async def deno(**settings: Any) -> AsyncGenerator[DenoSandbox]:
    """A sandbox that is closed at the end.

    It fails where programs in TypeScript cannot run: a test that was skipped proves nothing.
    """
    sandbox = DenoSandbox(CodeSettings(**settings))
    try:
        yield sandbox
    finally:
        await sandbox.aclose()
