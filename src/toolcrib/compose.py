"""Builds the adapters and hands them to the rooms: the one file that sees both sides.

Adapters are imported when they are built, so that a command pays only for what it uses.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread

from toolcrib.discovery.instruments import Instruments, Meaning
from toolcrib.ports import (
    ClientProfile,
    Clock,
    Connector,
    EntryStore,
    EraMemory,
    InvalidationBus,
    Keys,
    Observer,
    Sandbox,
    Sandboxes,
    SchemaChecker,
    SchemaFault,
    Sealer,
    Signals,
    SmallModel,
    SnapshotStore,
    Stemmer,
    TokenCounter,
    Unchecked,
    Upstream,
    Vault,
    VectorIndex,
    VectorStore,
)
from toolcrib.settings import (
    CodeSettings,
    ExposureSettings,
    HttpLaunch,
    Language,
    Limits,
    SearchSettings,
    Secret,
    ServerSettings,
    Settings,
    StdioLaunch,
    SubagentSettings,
)

if TYPE_CHECKING:
    from toolcrib.adapters.http.authorisation import Authoriser
    from toolcrib.adapters.oauth.authorisers import Authorisers
    from toolcrib.adapters.oauth.login import Login


@dataclass(frozen=True, slots=True)
class Parts:
    """What a crib is built of; replace any of them to test, or to run on something else."""

    clock: Clock
    observer: Observer
    keys: Keys
    store: SnapshotStore
    bus: InvalidationBus
    watch_store: Callable[[], Coroutine[Any, Any, None]]
    """Runs beside the crib and brings in what other processes wrote."""
    connector: Connector
    entries: EntryStore
    """In the same place as the snapshots, with the same fate."""
    sealer: Sealer
    checker: SchemaChecker
    instruments: Instruments
    """What tools are found with."""
    sandboxes: Sandboxes
    """Where programs run."""


@contextmanager
def open_parts(settings: Settings, *, observer: Observer, keys: Keys) -> Generator[Parts]:
    """The parts of production: the system's clock, the real transports, the configured store.

    A store that cannot be used is replaced by one in memory, and the observer is told.
    """
    from toolcrib.adapters.store.memory import MemoryStore
    from toolcrib.adapters.system_clock import SystemClock

    clock = SystemClock()
    path = settings.store.path
    if path is None:
        store = MemoryStore(clock)
    else:
        from toolcrib.adapters.sqlite.store import open_store

        store = open_store(path, clock, observer)
    try:
        yield Parts(
            clock=clock,
            observer=observer,
            keys=keys,
            store=store,
            bus=store.bus,
            watch_store=store.watch,
            connector=LateConnector(settings, observer, clock, keys),
            entries=store.entries,
            sealer=LateSealer(keys, clock),
            checker=LateChecker(settings.limits),
            instruments=_instruments(settings, store.vectors),
            sandboxes=LateSandboxes(settings.code),
        )
    finally:
        store.close()


def _instruments(settings: Settings, vectors: VectorStore) -> Instruments:
    """What the settings want tools to be found with.

    Raises `ConfigError` for what they demand and is not installed.
    """
    subagent = settings.search.subagent
    return Instruments(
        stem=LateStemmer(),
        patterns=_linear_pattern,
        counter=_counter(settings.exposure),
        meaning=_meaning(settings.search, vectors),
        model=None if subagent is None else LateModel(subagent),
    )


def _linear_pattern(pattern: str) -> Callable[[str], bool]:
    from toolcrib.adapters.linear_patterns import linear_pattern

    return linear_pattern(pattern)


def _counter(settings: ExposureSettings) -> TokenCounter:
    from toolcrib.context.tokens import FactoredCounter, HeuristicCounter

    counter: TokenCounter = HeuristicCounter()
    if settings.counting == "exact":
        from toolcrib.adapters.quicktok_counter import QuicktokCounter

        counter = QuicktokCounter()
    factor = settings.token_factor
    return counter if factor == 1 else FactoredCounter(counter, factor)


def _meaning(settings: SearchSettings, vectors: VectorStore) -> Meaning | None:
    """The embedder that is installed, unless words are all that is wanted."""
    from toolcrib.adapters.embedding.sentence_encoder import SentenceEncoder, is_installed

    demanded = settings.method in {"semantic", "hybrid"}
    if settings.method in {"lexical", "regex"} or not (demanded or is_installed()):
        return None
    embedder = SentenceEncoder()

    def index() -> VectorIndex:
        from toolcrib.adapters.embedding.vectors import NumpyVectors

        return NumpyVectors(embedder.dimensions)

    return Meaning(embedder, vectors, index)


class LateSandboxes:
    """Imports a runtime with the first program of its language."""

    def __init__(self, settings: CodeSettings) -> None:
        self._settings = settings
        self._made: dict[Language, Sandbox] = {}

    def sandbox(self, language: Language) -> Sandbox:
        """The runtime of a language, as the Sandboxes port describes it."""
        if language not in self._made:
            self._made[language] = _sandbox(language, self._settings)
        return self._made[language]

    async def aclose(self) -> None:
        """End the workers of all that were used."""
        for sandbox in self._made.values():
            await sandbox.aclose()


def _sandbox(language: Language, settings: CodeSettings) -> Sandbox:
    match language:
        case "python":
            from toolcrib.adapters.monty.sandbox import MontySandbox

            return MontySandbox(settings)
        case "typescript":
            from toolcrib.adapters.deno.sandbox import DenoSandbox

            return DenoSandbox(settings)


class LateStemmer:
    """Imports the stemmer with the first word."""

    def __call__(self, word: str) -> str:
        """A stem, as the Stemmer port describes it."""
        return self._stem(word)

    @cached_property
    def _stem(self) -> Stemmer:
        from toolcrib.adapters.stemming import EnglishStemmer

        return EnglishStemmer()


class LateModel:
    """Imports what speaks to a small model beside the event loop, with the first question."""

    def __init__(self, settings: SubagentSettings) -> None:
        self._settings = settings
        self._loaded: SmallModel | None = None

    async def complete(
        self, instructions: str, question: str, *, most_tokens: int, timeout: float
    ) -> str:
        """Its answer, as the SmallModel port describes it."""
        if self._loaded is None:
            self._loaded = await anyio.to_thread.run_sync(self._load)
        return await self._loaded.complete(
            instructions, question, most_tokens=most_tokens, timeout=timeout
        )

    def _load(self) -> SmallModel:
        from toolcrib.adapters.models.opening import open_model

        return open_model(self._settings)


class LateConnector:
    """Imports the transports beside the event loop when the first server is connected.

    They are a fifth of what a gateway imports, and hosts are answered from the store before.
    """

    def __init__(self, settings: Settings, observer: Observer, clock: Clock, keys: Keys) -> None:
        self._limits = settings.limits
        self._observer = observer
        self._clock = clock
        self._authorisers = LateAuthorisers(settings, observer, clock, keys)
        self._loaded: Connector | None = None

    @asynccontextmanager
    async def connect(
        self,
        server: ServerSettings,
        profile: ClientProfile,
        signals: Signals,
        remembered: EraMemory | None,
    ) -> AsyncGenerator[Upstream]:
        """A connection, as the Connector port describes it."""
        connector = self._loaded
        if connector is None:
            connector = self._loaded = await anyio.to_thread.run_sync(self._load)
        await self._authorisers.prepare(server)
        async with connector.connect(server, profile, signals, remembered) as upstream:
            yield upstream

    def _load(self) -> Connector:
        from toolcrib.adapters.connector import McpConnector

        return self._loaded or McpConnector(
            limits=self._limits,
            observer=self._observer,
            clock=self._clock,
            authorisers=self._authorisers,
        )


class LateAuthorisers:
    """Imports OAuth, and looks for a keyring, when the first server that wants it is connected."""

    def __init__(self, settings: Settings, observer: Observer, clock: Clock, keys: Keys) -> None:
        self._vault = settings.store.vault
        self._keys = keys
        self._observer = observer
        self._clock = clock
        self._lock = anyio.Lock()
        self._loaded: Authorisers | None = None

    async def prepare(self, server: ServerSettings) -> None:
        """Import what the server needs, beside the event loop; nothing where it needs nothing."""
        if not isinstance(server.launch, HttpLaunch) or server.launch.oauth is None:
            return
        async with self._lock:
            if self._loaded is None:
                self._loaded = await anyio.to_thread.run_sync(self.load)

    def for_server(self, server: ServerSettings) -> "Authoriser | None":
        """The authoriser of a server that was prepared; None where it is not to have one."""
        return self._loaded.for_server(server) if self._loaded is not None else None

    def load(self) -> "Authorisers":
        """Those who have the tokens, over the best vault there is."""
        from toolcrib.adapters.oauth.authorisers import Authorisers

        vault = _vault(self._vault, self._keys, self._observer)
        return Authorisers(vault=vault, keys=self._keys, clock=self._clock)


def _vault(folder: str | None, keys: Keys, observer: Observer) -> Vault:
    """The keyring's vault where there is a keyring, else files with their key beside them."""
    if folder is None:
        from toolcrib.adapters.vault.memory_vault import MemoryVault

        return MemoryVault()
    from toolcrib.adapters.vault.choice import open_vault

    return open_vault(folder, keys, observer)


def open_login(
    server: ServerSettings, settings: Settings, *, keys: Keys, observer: Observer
) -> "Login":
    """What logs in to one server, and out of it.

    Raises `ConfigError` where the server is not configured for OAuth.
    """
    from toolcrib.adapters.oauth.login import Login
    from toolcrib.adapters.system_clock import SystemClock

    authorisers = LateAuthorisers(settings, observer, SystemClock(), keys)
    return Login(server, authorisers.load(), limits=settings.limits)


class LateChecker:
    """Imports the validators when the first value is checked: commands that only look never do."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def check(
        self, schema: object, value: object, *, mark: str
    ) -> tuple[SchemaFault, ...] | Unchecked:
        """Where a value does not fit, as the SchemaChecker port describes it."""
        return self._checker.check(schema, value, mark=mark)

    @cached_property
    def _checker(self) -> SchemaChecker:
        from toolcrib.adapters.schema.checker import JsonSchemaChecker

        return JsonSchemaChecker(self._limits)


class LateSealer:
    """Imports the cipher when something is sealed for the first time: most runs never do."""

    def __init__(self, keys: Keys, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock

    def seal(self, value: bytes, *, bound: bytes, lifetime: float) -> str:
        """A sealed text, as the Sealer port describes it."""
        return self._sealer.seal(value, bound=bound, lifetime=lifetime)

    def unseal(self, text: str, *, bound: bytes) -> bytes | None:
        """What is in a sealed text, as the Sealer port describes it."""
        return self._sealer.unseal(text, bound=bound)

    @cached_property
    def _sealer(self) -> Sealer:
        from toolcrib.adapters.sealing import AesSealer

        return AesSealer(self._keys, self._clock)


class Observation:
    """Logs on standard error and counters for Prometheus; no configured secret gets through."""

    def __init__(
        self, settings: Settings, *, log_format: Literal["text", "json"], log_level: int
    ) -> None:
        from toolcrib.adapters.observing.log_lines import start_logging
        from toolcrib.adapters.observing.log_observer import LogObserver

        self.protect(settings)
        start_logging(log_format, level=log_level, redact=self._blot)
        self.observer: Observer = LogObserver()
        """Takes every fact."""
        self.metrics: Callable[[], bytes] | None = None
        """What `/metrics` shows, where there is such a page."""
        if settings.gateway.http is not None:
            from toolcrib.adapters.observing.fan_out import FanOut
            from toolcrib.adapters.observing.prometheus_observer import PrometheusObserver

            prometheus = PrometheusObserver()
            self.observer = FanOut([self.observer, prometheus])
            self.metrics = prometheus.render

    def protect(self, settings: Settings) -> None:
        """Blots the secrets of these settings out of every log line from now on."""
        from toolcrib.adapters.redaction import Redaction

        self._redact: Callable[[str], str] = Redaction(secrets_of(settings))

    def _blot(self, text: str) -> str:
        """What the newest settings allow to be written; a handler keeps this method for good."""
        return self._redact(text)


def secrets_of(settings: Settings) -> list[Secret]:
    """Every configured value that may be a secret."""
    found: list[Secret] = []
    for server in settings.servers:
        match server.launch:
            case StdioLaunch(env=env):
                found += env.values()
            case HttpLaunch(url=url, headers=headers, oauth=oauth):
                found += [url, *headers.values(), *(oauth.secrets if oauth is not None else ())]
    if (subagent := settings.search.subagent) is not None and subagent.key is not None:
        found.append(subagent.key)
    return found
