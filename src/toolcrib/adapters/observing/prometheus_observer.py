"""Facts as Prometheus metrics, in a registry of their own.

Labels are server ids and enumerations, never names of tools, principals or addresses; and whatever
arrives, each label takes a bounded number of values.
"""

from typing import Final, assert_never

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from toolcrib import facts
from toolcrib.facts import Fact

MOST_SERVERS: Final = 1_000
MOST_WORDS: Final = 64
"""Values that a label takes; further ones count as `other`."""

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_OVER: Final = frozenset({"closed"})
_NOT_ASKED: Final = frozenset({"paused", "over_budget"})

_OfConnection = facts.ConnectionChanged | facts.EraFound | facts.NoiseSkipped | facts.Finding
_OfCatalog = facts.Refreshed | facts.Invalidated | facts.Withdrawn | facts.ServedStale
_OfWalk = facts.WalkEnded | facts.RefreshFailed | facts.ItemQuarantined
_OfCall = facts.CallForwarded | facts.CallRefused | facts.CallFailed
_OfCrib = (
    facts.Listed
    | facts.HostNotified
    | facts.ExposureChanged
    | facts.SmallModelAsked
    | facts.StoreDegraded
)
_OfProgram = (
    facts.RuntimeStarted
    | facts.ProgramStarted
    | facts.ProgramCalling
    | facts.ProgramCalled
    | facts.ProgramEnded
)


class PrometheusObserver:
    """Counts facts; `render` is the answer to a scrape."""

    content_type = CONTENT_TYPE_LATEST
    """The `Content-Type` of what `render` returns."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._labels = _Labels()
        self._states: dict[tuple[str, int], str] = {}
        self._noise: dict[str, int] = {}
        self._walks = self._counter("walks", "Walks ended.", "server", "kind", "outcome")
        self._requests = self._counter("list_requests", "List requests sent.", "server", "kind")
        self._walk_seconds = self._histogram("walk_seconds", "Length of walks.", "server", "kind")
        self._failures = self._counter(
            "refresh_failures", "Walks that failed.", "server", "kind", "failure"
        )
        self._quarantined = self._counter(
            "quarantined", "Definitions kept out.", "server", "kind", "reason"
        )
        self._refreshes = self._counter("refreshes", "New contents published.", "server", "kind")
        self._invalidations = self._counter(
            "invalidations", "Catalogs marked stale.", "server", "kind", "reason"
        )
        self._withdrawals = self._counter("withdrawals", "Catalogs withdrawn.", "server", "kind")
        self._stale = self._counter(
            "served_stale", "Answers from catalogs that were not fresh.", "server", "kind"
        )
        self._calls = self._counter("calls", "Calls answered.", "server", "method", "outcome")
        self._call_seconds = self._histogram(
            "call_seconds", "Time that servers took for calls.", "server", "method"
        )
        self._refused = self._counter("calls_refused", "Calls not sent.", "server", "code")
        self._failed = self._counter(
            "calls_failed", "Calls sent that brought no usable result.", "server", "code"
        )
        self._connections = Gauge(
            "toolcrib_connections",
            "Connections by state.",
            ("server", "state"),
            registry=self.registry,
        )
        self._eras = self._counter("eras_found", "Protocol eras decided.", "server", "era")
        self._noise_lines = self._counter(
            "noise_lines", "Lines on stdout that were no message.", "server"
        )
        self._findings = self._counter("findings", "Oddities reported.", "server", "code")
        self._listings = self._counter("listings", "Listings served to hosts.", "kind", "fresh")
        self._listing_seconds = self._histogram(
            "listing_seconds", "Time that listings took.", "kind"
        )
        self._notified = self._counter("hosts_notified", "list_changed sent to hosts.", "kind")
        self._choices = self._counter(
            "small_model_choices", "Searches that a small model was to choose in.", "outcome"
        )
        self._choice_seconds = self._histogram(
            "small_model_seconds", "Time that a small model took."
        )
        self._invented = self._counter(
            "small_model_invented", "Choices of a small model that were no candidates."
        )
        self._exposures = self._counter(
            "exposure_changes", "Times that models were shown more or less from then on.", "to"
        )
        self._runtimes = self._counter(
            "runtimes", "Runtimes of programs started.", "language", "jailed"
        )
        self._programs = self._counter("programs", "Programs of models started.", "language")
        self._program_ends = self._counter("program_ends", "How programs ended.", "why")
        self._program_seconds = self._histogram(
            "program_seconds", "Time that programs took, without what they waited for people."
        )
        self._program_calls_begun = self._counter(
            "program_calls_begun", "Calls that programs were about to make.", "server"
        )
        self._program_calls = self._counter(
            "program_calls", "Calls made by programs.", "server", "outcome"
        )
        self._degraded = self._counter("store_degraded", "Times the store could not be used.")

    def render(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def note(self, fact: Fact) -> None:
        """Counts one fact."""
        match fact:
            case (
                facts.ConnectionChanged()
                | facts.EraFound()
                | facts.NoiseSkipped()
                | facts.Finding()
            ):
                self._note_connection(fact)
            case facts.Refreshed() | facts.Invalidated() | facts.Withdrawn() | facts.ServedStale():
                self._note_catalog(fact)
            case facts.WalkEnded() | facts.RefreshFailed() | facts.ItemQuarantined():
                self._note_walk(fact)
            case facts.CallForwarded() | facts.CallRefused() | facts.CallFailed():
                self._note_call(fact)
            case (
                facts.RuntimeStarted()
                | facts.ProgramStarted()
                | facts.ProgramCalling()
                | facts.ProgramCalled()
                | facts.ProgramEnded()
            ):
                self._note_program(fact)
            case (
                facts.Listed()
                | facts.HostNotified()
                | facts.ExposureChanged()
                | facts.SmallModelAsked()
                | facts.StoreDegraded()
            ):
                self._note_crib(fact)
            case _:
                assert_never(fact)

    # ---- by what they are about ----

    def _note_connection(self, fact: _OfConnection) -> None:
        server = self._labels.server(fact.server)
        match fact:
            case facts.ConnectionChanged():
                self._count_state(fact, server)
            case facts.EraFound():
                self._eras.labels(server, self._labels.word("era", fact.era)).inc()
            case facts.NoiseSkipped():
                # a smaller number than before: the lines of a new connection
                before = self._noise.get(server, 0)
                new = fact.lines - before if fact.lines >= before else fact.lines
                self._noise[server] = fact.lines
                self._noise_lines.labels(server).inc(new)
            case facts.Finding():
                self._findings.labels(server, self._labels.word("finding", fact.code)).inc()
            case _:
                assert_never(fact)

    def _count_state(self, fact: facts.ConnectionChanged, server: str) -> None:
        key = (server, fact.connection)
        before = self._states.pop(key, None)
        if before is not None:
            self._connections.labels(server, before).dec()
        if fact.state not in _OVER:
            state = self._states[key] = self._labels.word("state", fact.state)
            self._connections.labels(server, state).inc()

    def _note_catalog(self, fact: _OfCatalog) -> None:
        where = self._where(fact.server, fact.kind)
        match fact:
            case facts.Refreshed():
                self._refreshes.labels(*where).inc()
            case facts.Invalidated():
                reason = self._labels.word("reason", fact.reason)
                self._invalidations.labels(*where, reason).inc()
            case facts.Withdrawn():
                self._withdrawals.labels(*where).inc()
            case facts.ServedStale():
                self._stale.labels(*where).inc()
            case _:
                assert_never(fact)

    def _note_walk(self, fact: _OfWalk) -> None:
        where = self._where(fact.server, fact.kind)
        match fact:
            case facts.WalkEnded():
                self._walks.labels(*where, self._labels.word("outcome", fact.outcome)).inc()
                self._requests.labels(*where).inc(fact.requests)
                self._walk_seconds.labels(*where).observe(fact.seconds)
            case facts.RefreshFailed():
                failure = self._labels.word("failure", fact.failure)
                self._failures.labels(*where, failure).inc()
            case facts.ItemQuarantined():
                reason = self._labels.word("quarantine", fact.reason)
                self._quarantined.labels(*where, reason).inc()
            case _:
                assert_never(fact)

    def _note_call(self, fact: _OfCall) -> None:
        server = self._labels.server(fact.server)
        match fact:
            case facts.CallForwarded():
                method = self._labels.word("method", fact.method)
                outcome = self._labels.word("call outcome", fact.outcome)
                self._calls.labels(server, method, outcome).inc()
                self._call_seconds.labels(server, method).observe(fact.seconds)
            case facts.CallRefused():
                self._refused.labels(server, self._labels.word("code", fact.code)).inc()
            case facts.CallFailed():
                self._failed.labels(server, self._labels.word("code", fact.code)).inc()
            case _:
                assert_never(fact)

    def _note_crib(self, fact: _OfCrib) -> None:
        match fact:
            case facts.Listed():
                kind = self._labels.word("kind", fact.kind)
                self._listings.labels(kind, "yes" if fact.fresh else "no").inc()
                self._listing_seconds.labels(kind).observe(fact.seconds)
            case facts.HostNotified():
                self._notified.labels(self._labels.word("kind", fact.kind)).inc()
            case facts.SmallModelAsked():
                self._choices.labels(self._labels.word("choice", fact.outcome)).inc()
                if fact.outcome not in _NOT_ASKED:
                    self._choice_seconds.observe(fact.seconds)
                self._invented.inc(fact.invented)
            case facts.ExposureChanged():
                self._exposures.labels(self._labels.word("to", fact.exposure)).inc()
            case facts.StoreDegraded():
                self._degraded.inc()
            case _:
                assert_never(fact)

    def _note_program(self, fact: _OfProgram) -> None:
        match fact:
            case facts.RuntimeStarted():
                language = self._labels.word("language", fact.language)
                self._runtimes.labels(language, "yes" if fact.jail else "no").inc()
            case facts.ProgramStarted():
                self._programs.labels(self._labels.word("language", fact.language)).inc()
            case facts.ProgramCalling():
                self._program_calls_begun.labels(self._labels.server(fact.server)).inc()
            case facts.ProgramCalled():
                server = self._labels.server(fact.server)
                outcome = self._labels.word("program_outcome", fact.outcome)
                self._program_calls.labels(server, outcome).inc()
            case facts.ProgramEnded():
                self._program_ends.labels(self._labels.word("why", fact.why)).inc()
                self._program_seconds.observe(fact.seconds)
            case _:
                assert_never(fact)

    def _where(self, server: str, kind: str) -> tuple[str, str]:
        return self._labels.server(server), self._labels.word("kind", kind)

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(f"toolcrib_{name}", says, labels, registry=self.registry)

    def _histogram(self, name: str, says: str, *labels: str) -> Histogram:
        full = f"toolcrib_{name}"
        return Histogram(full, says, labels, registry=self.registry, buckets=_SECONDS)


class _Labels:
    """Lets every label take only so many values."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}

    def server(self, server: str) -> str:
        return self._bounded("server", server, MOST_SERVERS)

    def word(self, label: str, word: str) -> str:
        return self._bounded(label, word, MOST_WORDS)

    def _bounded(self, label: str, value: str, most: int) -> str:
        seen = self._seen.setdefault(label, set())
        if value in seen:
            return value
        if len(seen) >= most:
            return "other"
        seen.add(value)
        return value
