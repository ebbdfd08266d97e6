"""Hands every fact to several observers; one that fails is dropped and costs nobody else."""

import logging
from collections.abc import Iterable

from toolcrib.facts import Fact
from toolcrib.ports import Observer

_log = logging.getLogger(__name__)


class FanOut:
    """One observer in front of several."""

    def __init__(self, observers: Iterable[Observer]) -> None:
        self._observers = tuple(observers)

    def note(self, fact: Fact) -> None:
        """Passes the fact on, in the order in which the observers were given."""
        for observer in self._observers:
            try:
                observer.note(fact)
            except Exception as error:  # noqa: BLE001 - foreign code may raise anything
                # observing must not drive behaviour: better blind than broken
                self._observers = tuple(it for it in self._observers if it is not observer)
                name = type(observer).__name__
                # no traceback: it may show what the fact holds
                _log.error("observer %s raised %s and is dropped", name, type(error).__name__)
