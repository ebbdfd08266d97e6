"""How the parts of this room go together: what all principals share, and what each has alone."""

import itertools
from contextlib import suppress
from dataclasses import dataclass

from toolcrib.calls.calling import Calls
from toolcrib.catalog.access import CatalogAccess
from toolcrib.codemode.announcing import Announcing
from toolcrib.codemode.modules import Modules
from toolcrib.codemode.output import Telling
from toolcrib.codemode.programs import Programs, Surroundings
from toolcrib.codemode.run_code import RunCode
from toolcrib.codemode.setting_aside import SettingAside
from toolcrib.codemode.shelf import Shelf
from toolcrib.codemode.turns import Turns
from toolcrib.discovery.seams import Enabling
from toolcrib.errors import SandboxUnavailable
from toolcrib.ports import Clock, EntryStore, Keys, Observer, Sandboxes, Sealer
from toolcrib.settings import Language, Settings


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports that this room works with."""

    sandboxes: Sandboxes
    entries: EntryStore
    sealer: Sealer
    keys: Keys
    clock: Clock
    observer: Observer


class Coding:
    """Makes the `Programs` of principals over one configuration.

    Args:
        settings: As at the start.
        tools: The ports.
        run: Marks this run of the process, unlike every other one on the same store.
    """

    def __init__(self, settings: Settings, tools: Tools, *, run: str) -> None:
        self._settings = settings
        self._tools = tools
        self._marks = (f"{run}/{number}" for number in itertools.count(1))
        self._sandboxes = Announcing(tools.sandboxes, tools.observer)
        self._turns = Turns(settings.code)
        self._shelf = Shelf(
            tools.entries,
            sealer=tools.sealer,
            keys=tools.keys,
            settings=settings.code,
            seconds=settings.limits.state_seconds,
            run=run,
        )

    async def prepare(self) -> None:
        """Start the runtimes that are configured; one that cannot run here is left out."""
        for language in self._languages():
            with suppress(SandboxUnavailable):
                await self._sandboxes.sandbox(language).abilities()

    def programs(self, access: CatalogAccess, calls: Calls, enabling: Enabling) -> Programs:
        """What runs the programs of the principal of these catalogs; once per principal."""
        settings, tools = self._settings.code, self._tools
        return Programs(
            Surroundings(
                access=access,
                modules=Modules(access, calls.ledger),
                pipeline=calls.pipeline,
                enabling=enabling,
                sandboxes=self._sandboxes,
                shelf=self._shelf,
                telling=Telling(settings, calls.kept.keep),
                turns=self._turns,
                set_aside=SettingAside(calls.kept.keep),
                settings=settings,
                clock=tools.clock,
                observer=tools.observer,
                marks=lambda: next(self._marks),
            )
        )

    def tool(self, programs: Programs) -> RunCode:
        """The meta-tool of a principal."""
        return RunCode(programs, self._languages())

    def _languages(self) -> tuple[Language, ...]:
        return self._settings.code.languages
