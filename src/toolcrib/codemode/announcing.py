"""Runtimes whose start is told: what runs programs here, and in which jail or in none."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from toolcrib.facts import RuntimeStarted
from toolcrib.ports import Abilities, Observer, Program, Running, Sandbox, Sandboxes
from toolcrib.settings import Language

_NO_JAIL: Final = "none: "
"""How `Abilities.jail` begins where there is none."""


class Announcing:
    """Passes everything on, and notes a `RuntimeStarted` with the first abilities of each runtime.

    Args:
        sandboxes: The runtimes.
        observer: Hears of them.
    """

    def __init__(self, sandboxes: Sandboxes, observer: Observer) -> None:
        self._sandboxes = sandboxes
        self._observer = observer
        self._told: set[Language] = set()

    def sandbox(self, language: Language) -> Sandbox:
        """The runtime of a language, as the Sandboxes port describes it."""
        return _Announced(self._sandboxes.sandbox(language), self._tell)

    async def aclose(self) -> None:
        """End the workers of all of them."""
        await self._sandboxes.aclose()

    def _tell(self, abilities: Abilities) -> None:
        if abilities.language in self._told:
            return
        self._told.add(abilities.language)
        self._observer.note(started(abilities))


class _Announced:
    def __init__(self, sandbox: Sandbox, tell: Callable[[Abilities], None]) -> None:
        self._sandbox = sandbox
        self._tell = tell

    async def abilities(self) -> Abilities:
        abilities = await self._sandbox.abilities()
        self._tell(abilities)
        return abilities

    def open(
        self, program: Program, *, snapshot: bytes | None = None
    ) -> AbstractAsyncContextManager[Running]:
        return self._sandbox.open(program, snapshot=snapshot)

    async def aclose(self) -> None:
        await self._sandbox.aclose()


def started(abilities: Abilities) -> RuntimeStarted:
    """What there is to tell of a runtime."""
    jail = abilities.jail
    if jail.startswith(_NO_JAIL):
        reason = jail.removeprefix(_NO_JAIL)
        return RuntimeStarted(abilities.language, abilities.version, "", reason)
    return RuntimeStarted(abilities.language, abilities.version, jail)
