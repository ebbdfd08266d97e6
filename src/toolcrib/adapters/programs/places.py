"""How many programs of a runtime run at a time; nobody waits here."""

from collections.abc import Generator
from contextlib import contextmanager

from toolcrib.errors import TooBusy
from toolcrib.settings import CodeSettings


class Places:
    """A place for each program that may run (`code.programs`).

    Who waits for whom was decided before, by caller: a line of its own that knows no callers would
    undo that. So this one refuses at once what should not have come.

    Args:
        settings: How many there are.
    """

    def __init__(self, settings: CodeSettings) -> None:
        self._most = settings.programs
        self._taken = 0

    @contextmanager
    def one(self) -> Generator[None]:
        """Hold a place; raises `TooBusy` where there is none."""
        if self._taken >= self._most:
            raise TooBusy(
                f"{self._most} programs run already, as many as code.programs allows",
                remedy="run fewer programs at a time, or raise code.programs",
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
