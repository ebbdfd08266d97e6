"""An observer that keeps every fact, for tests to look at."""

from typing import TypeVar

from toolcrib.facts import Fact

F = TypeVar("F", bound=Fact)


class Recorder:
    """Keeps facts in the order in which they were noted."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def note(self, fact: Fact) -> None:
        """Keeps the fact."""
        self.facts.append(fact)

    def of(self, kind: type[F]) -> list[F]:
        """The facts of one type."""
        return [fact for fact in self.facts if isinstance(fact, kind)]
