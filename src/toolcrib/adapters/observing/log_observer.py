"""Facts as log records: one line each, at the level that fits, under the logger `toolcrib`."""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Final

from toolcrib import facts
from toolcrib.facts import Fact, event_name

_LEVELS: Final[Mapping[type[Fact], int]] = {
    facts.ConnectionChanged: logging.INFO,
    facts.EraFound: logging.INFO,
    facts.WalkEnded: logging.DEBUG,
    facts.Refreshed: logging.INFO,
    facts.Invalidated: logging.DEBUG,
    facts.Withdrawn: logging.WARNING,
    facts.ServedStale: logging.DEBUG,
    facts.RefreshFailed: logging.WARNING,
    facts.ItemQuarantined: logging.WARNING,
    facts.Finding: logging.WARNING,
    facts.NoiseSkipped: logging.INFO,
    facts.CallForwarded: logging.DEBUG,
    facts.CallRefused: logging.INFO,
    facts.CallFailed: logging.INFO,
    facts.Listed: logging.DEBUG,
    facts.HostNotified: logging.DEBUG,
    facts.ExposureChanged: logging.INFO,
    facts.SmallModelAsked: logging.DEBUG,
    facts.RuntimeStarted: logging.INFO,
    facts.ProgramStarted: logging.INFO,
    facts.ProgramCalling: logging.DEBUG,
    facts.ProgramCalled: logging.DEBUG,
    facts.ProgramEnded: logging.INFO,
    facts.StoreDegraded: logging.WARNING,
}
"""Warnings are what an operator should look into, infos what explains them, debug the traffic."""

_BAD_STATES: Final = frozenset({"lost", "slow_probe"})
_CHOICES_WELL: Final = frozenset({"chosen", "none_fits", "paused", "over_budget"})
_CALLS_WELL: Final = frozenset({"ok", "tool_error", "cancelled"})


class LogObserver:
    """Writes every fact to a logger; `log_lines` says how a line looks."""

    def __init__(self, logger: logging.Logger | None = None) -> None:
        self._logger = logger or logging.getLogger("toolcrib.facts")

    def note(self, fact: Fact) -> None:
        """Writes one record: the event's name is the message, its fields are in `record.fields`."""
        level = level_of(fact)
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event_name(fact), extra={"fields": dataclasses.asdict(fact)})


def level_of(fact: Fact) -> int:
    """How much a fact matters to an operator."""
    match fact:
        case facts.ConnectionChanged(state=state) if state in _BAD_STATES:
            return logging.WARNING
        case facts.CallForwarded(outcome=outcome) if outcome not in _CALLS_WELL:
            return logging.INFO
        case facts.SmallModelAsked(outcome=outcome) if outcome not in _CHOICES_WELL:
            return logging.WARNING
        case facts.RuntimeStarted(jail=""):
            return logging.WARNING
        case _:
            return _LEVELS[type(fact)]
