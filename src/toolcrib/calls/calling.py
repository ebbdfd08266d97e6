"""How the parts of this room go together: what all principals share, and what each has alone."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from toolcrib.calls.approval.answers import Answers
from toolcrib.calls.approval.approval import Approval
from toolcrib.calls.ledger.history import History
from toolcrib.calls.ledger.ledger import Ledger
from toolcrib.calls.ledger.owners import Owners
from toolcrib.calls.names import Names
from toolcrib.calls.pipeline import Pipeline, Surroundings
from toolcrib.calls.results.kept import KeptResults
from toolcrib.calls.rounds.parked import Parking
from toolcrib.calls.rounds.rounds import Rounds
from toolcrib.catalog.access import CatalogAccess
from toolcrib.core.naming import expose
from toolcrib.ports import Clock, EntryStore, Keys, Observer, SchemaChecker, Sealer
from toolcrib.settings import Settings


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports that calls are made with."""

    checker: SchemaChecker
    entries: EntryStore
    sealer: Sealer
    keys: Keys
    clock: Clock
    observer: Observer


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """What the calls of one principal go through."""

    pipeline: Pipeline
    rounds: Rounds
    """Sends what is no tool call: `prompts/get`, `resources/read`."""
    names: Names
    ledger: Ledger
    past: History
    kept: KeptResults


class Calling:
    """Makes the `Calls` of principals over one configuration.

    Args:
        settings: As at the start; another configuration of approval and limits needs a new one.
        tools: The ports.
        run: Marks this run of the process, unlike every other one on the same store.
        launch: The keyed digest of how a server is launched now, by its id.
    """

    def __init__(
        self, settings: Settings, tools: Tools, *, run: str, launch: Callable[[str], str]
    ) -> None:
        self._settings = settings
        self._tools = tools
        self._launch = launch
        limits, entries, keys = settings.limits, tools.entries, tools.keys
        self._rounds_owners = Owners(keys, "rounds")
        self._parking = Parking(limits, process_id=run)
        self.ledger = Ledger(entries, keys=keys, clock=tools.clock, limits=limits)
        self.kept = KeptResults(entries, keys=keys, limits=limits)
        self.answers = Answers(entries, keys=keys, limits=limits, run=run)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Calls can stay open for their callers' answers while the context lasts."""
        async with self._parking.running():
            yield

    def calls(self, access: CatalogAccess) -> Calls:
        """What the calls of the principal of these catalogs go through; once per principal.

        It listens to the catalogs for as long as they are there.
        """
        tools, limits, gateway = self._tools, self._settings.limits, self._settings.gateway
        rounds = Rounds(
            access,
            parking=self._parking,
            sealer=tools.sealer,
            entries=tools.entries,
            owner=self._rounds_owners.caller,
            relay=gateway.relay,
            limits=limits,
        )
        approval = Approval(
            self._settings.approval,
            asking=rounds,
            answers=self.answers,
            launch=self._launch,
            clock=tools.clock,
        )
        history = History()
        pipeline = Pipeline(
            Surroundings(
                access=access,
                checker=tools.checker,
                sights=self.ledger,
                past=history,
                approving=approval,
                sending=rounds,
                shown=self._shown,
                limits=limits,
                observer=tools.observer,
            )
        )
        names = Names(access, self.ledger, style=gateway.names, limit=limits.name_length)
        access.on_published(history.published)
        return Calls(pipeline, rounds, names, self.ledger, history, self.kept)

    def _shown(self, server: str, key: str) -> str:
        limit = self._settings.limits.name_length
        return expose(server, key, style=self._settings.gateway.names, limit=limit)
