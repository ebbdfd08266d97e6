"""What happens in a crib, one line per event."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final, assert_never

from rich.text import Text

from toolcrib import facts
from toolcrib.catalog.access import PublishedChange
from toolcrib.cli.diff_lines import CatalogChange, diff_document, diff_summary
from toolcrib.cli.output import View
from toolcrib.cli.tables import BAD, DIM, GOOD, UNSURE
from toolcrib.cli.terminal_text import ago, clipped, one_line
from toolcrib.core.diff import diff
from toolcrib.facts import Fact, event_name

_STATES: Final = {"ready": GOOD, "lost": BAD, "slow_probe": BAD, "backoff": UNSURE}
_NAMES: Final = 8
"""So many names of each sort on a line."""


def change_line(change: PublishedChange, at: float, *, first: bool = False) -> View:
    """A catalog that became another one; `at` is seconds since the epoch.

    With `first` it is the one that watching begins with: what was there before is not known.
    """
    difference = diff(change.before, change.after)
    whole = CatalogChange(change.server, change.kind, difference)
    stamp = {"at": _stamp(at), "event": "published", "generation": change.generation}
    document = {**stamp, "first": first, **diff_document(whole)}
    if first and change.after is not None:
        said = f"{change.kind.label}: {len(change.after)} to begin with"
        return View(_line(at, change.server, said, DIM), document)
    if change.after is None:
        said, style = "withdrawn", BAD
    else:
        said, style = f"{len(change.after)} now, {diff_summary(difference)}", GOOD
    line = _line(at, change.server, f"{change.kind.label}: {said}", style)
    for sign, items in (("+", difference.added), ("-", difference.removed)):
        for item in items[:_NAMES]:
            line.append(f" {sign}{clipped(item.key, 60)}")
    for changed in difference.changed[:_NAMES]:
        line.append(f" ~{clipped(changed.after.key, 60)}")
    return View(line, document)


def fact_line(fact: Fact, at: float) -> View:
    """Anything else that happened."""
    said, style = _said(fact)
    server = getattr(fact, "server", "")
    line = _line(at, server, said, style)
    return View(line, {"at": _stamp(at), "event": event_name(fact), **asdict(fact)})


def _line(at: float, server: str, said: str, style: str) -> Text:
    clock = datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")
    line = Text.assemble((f"{clock} ", DIM))
    if server:
        line.append(f"{clipped(server, 40)} ", "bold")
    return line.append(one_line(said), style)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _said(fact: Fact) -> tuple[str, str]:
    """A fact in words, and how bad it is."""
    match fact:
        case facts.ConnectionChanged():
            detail = f": {fact.detail}" if fact.detail else ""
            return f"connection {fact.state}{detail}", _STATES.get(fact.state, DIM)
        case facts.EraFound():
            return f"speaks the {fact.era} protocol ({fact.evidence})", DIM
        case facts.NoiseSkipped():
            return f"{fact.lines} lines on stdout that are no messages: {fact.first}", UNSURE
        case facts.Finding():
            return f"{fact.code}: {fact.detail}", UNSURE
        case facts.CallForwarded() | facts.CallRefused() | facts.CallFailed():
            return _said_of_call(fact)
        case (
            facts.RuntimeStarted()
            | facts.ProgramStarted()
            | facts.ProgramCalling()
            | facts.ProgramCalled()
            | facts.ProgramEnded()
        ):
            return _said_of_program(fact)
        case (
            facts.Listed()
            | facts.HostNotified()
            | facts.ExposureChanged()
            | facts.SmallModelAsked()
            | facts.StoreDegraded()
        ):
            return _said_of_crib(fact)
        case _:
            return _said_of_catalog(fact)


def _said_of_call(
    fact: facts.CallForwarded | facts.CallRefused | facts.CallFailed,
) -> tuple[str, str]:
    match fact:
        case facts.CallForwarded():
            style = DIM if fact.outcome == "ok" else UNSURE
            return f"{fact.method} {fact.name}: {fact.outcome} in {fact.seconds:.3f} s", style
        case facts.CallRefused():
            return f"call of {fact.name} refused: {fact.code}", UNSURE
        case facts.CallFailed():
            return f"call of {fact.name} failed: {fact.code}", UNSURE
        case _:
            assert_never(fact)


def unjailed(fact: facts.RuntimeStarted) -> str:
    """That programs run without a jail, and why."""
    return f"programs in {fact.language} run without a jail ({fact.version}): {fact.reason}"


def _said_of_program(
    fact: facts.RuntimeStarted
    | facts.ProgramStarted
    | facts.ProgramCalling
    | facts.ProgramCalled
    | facts.ProgramEnded,
) -> tuple[str, str]:
    match fact:
        case facts.RuntimeStarted(jail=""):
            return unjailed(fact), UNSURE
        case facts.RuntimeStarted():
            said = f"programs in {fact.language} run in {fact.version}, jailed by {fact.jail}"
            return said, DIM
        case facts.ProgramStarted():
            return f"a {fact.language} program starts", DIM
        case facts.ProgramCalling():
            where = f" (line {fact.line})" if fact.line else ""
            return f"its call {fact.number}{where}: {fact.tool}", DIM
        case facts.ProgramCalled():
            style = DIM if fact.outcome == "returned" else UNSURE
            said = f"its call {fact.number}, {fact.tool}: {fact.outcome} in {fact.seconds:.3f} s"
            return said, style
        case facts.ProgramEnded():
            style = DIM if fact.why in {"finished", "suspended"} else UNSURE
            said = f"the program ended after {fact.calls} calls: {fact.why} in {fact.seconds:.3f} s"
            return said, style
        case _:
            assert_never(fact)


def _said_of_crib(
    fact: facts.Listed
    | facts.HostNotified
    | facts.ExposureChanged
    | facts.SmallModelAsked
    | facts.StoreDegraded,
) -> tuple[str, str]:
    match fact:
        case facts.Listed():
            state = "fresh" if fact.fresh else "stale"
            return f"a host was given {fact.items} {fact.kind}, {state}", DIM
        case facts.HostNotified():
            return f"a host was told that {fact.kind} changed", DIM
        case facts.ExposureChanged():
            return f"models are shown {fact.exposure} now: {fact.reason}", UNSURE
        case facts.SmallModelAsked():
            detail = f": {fact.detail}" if fact.detail else ""
            said = f"a small model was to choose: {fact.outcome} in {fact.seconds:.3f} s{detail}"
            return said, UNSURE if detail else DIM
        case facts.StoreDegraded():
            return f"the store cannot be used: {fact.detail}", BAD
        case _:
            assert_never(fact)


def _said_of_catalog(
    fact: facts.WalkEnded
    | facts.Refreshed
    | facts.Invalidated
    | facts.Withdrawn
    | facts.ServedStale
    | facts.RefreshFailed
    | facts.ItemQuarantined,
) -> tuple[str, str]:
    match fact:
        case facts.WalkEnded():
            said = f"walk {fact.outcome}, {fact.items} items, {fact.requests} requests"
            return f"{fact.kind}: {said}", DIM
        case facts.Refreshed():
            changes = f"+{fact.added} -{fact.removed} ~{fact.changed}"
            return f"{fact.kind}: {fact.items} now ({changes})", GOOD
        case facts.Invalidated():
            return f"{fact.kind}: stale ({fact.reason})", DIM
        case facts.Withdrawn():
            return f"{fact.kind}: withdrawn", BAD
        case facts.ServedStale():
            return f"{fact.kind}: served although {ago(fact.age)} old", UNSURE
        case facts.RefreshFailed():
            again = f"again in {ago(fact.retry_in)}"
            return f"{fact.kind}: refresh failed ({fact.failure}: {fact.detail}), {again}", UNSURE
        case facts.ItemQuarantined():
            return f"{fact.kind}: {fact.key} kept out ({fact.reason})", UNSURE
        case _:
            assert_never(fact)
