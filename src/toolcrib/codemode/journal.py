"""What a program has done so far: a row for each call, written before it is made and after."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from toolcrib.core.canonical import canonical
from toolcrib.core.fingerprint import hashed
from toolcrib.core.quoting import clipped, quoted
from toolcrib.ports import NOWHERE, Answer, Place

Outcome = Literal[
    "queued", "held", "under way", "asking", "returned", "raised", "stopped", "cancelled"
]
"""`queued`: not sent yet. `held`: not before a person has answered another one. `under way`: sent.
`asking`: a person has to answer first. `returned`: it came back. `raised`: the tool said that it
failed. `stopped`: it never went out, or it may have acted all the same, as its detail says.
`cancelled`: the program ended meanwhile, so it may have acted."""

OPEN: Final = frozenset[Outcome]({"queued", "held", "under way", "asking"})

UNSENT: Final = "it was not sent"
"""The detail of a call whose program ended before its turn came."""

_DETAIL: Final = 200


def marked(server: str, tool: str, arguments: Mapping[str, Any]) -> str:
    """Equal for calls that are the same: server, tool and arguments."""
    return hashed(canonical([server, tool, dict(arguments)]))


@dataclass(slots=True, eq=False)
class Row:
    """One call of a program."""

    number: int
    """From 1, in the order in which the program called."""
    server: str
    tool: str
    """The tool's own name."""
    arguments: Mapping[str, Any]
    contract: str = ""
    """Of the tool as the program was told of it; empty: it was called by its raw name."""
    call: int = 0
    """Its number in the runtime."""
    place: Place = NOWHERE
    outcome: Outcome = "queued"
    detail: str = ""
    """Of what did not simply return: why, in one line."""
    answer: Answer | None = None
    """What the program was told; kept where it may have to be told again."""
    settled: int = 0
    """From 1, in the order in which answers came; 0: there is none yet."""
    heard: tuple[str, ...] = ()
    """The servers whose answers the program had when it made the call."""
    flow: str = ""
    """The server whose answers may be part of it, where a person has to agree to that first."""
    size: int = 0
    """Bytes of what it returned, as JSON."""

    @property
    def open(self) -> bool:
        """Whether the program has no answer yet."""
        return self.outcome in OPEN

    @property
    def mark(self) -> str:
        """Equal for calls that are the same: server, tool and arguments."""
        return marked(self.server, self.tool, self.arguments)

    def end(self, outcome: Outcome, detail: str = "") -> None:
        """Write down how it came out."""
        self.outcome = outcome
        self.detail = clipped(" ".join(detail.split()), _DETAIL)

    def cancel(self) -> None:
        """The program has ended without an answer: what was under way may have acted."""
        match self.outcome:
            case "under way":
                self.end("cancelled", "it may have acted")
            case "asking":
                self.end("stopped", "its question was not answered")
            case "queued" | "held":
                self.end("stopped", UNSENT)
            case _:
                pass

    def told(self, last: int = 0) -> str:
        """The row as a line for a model; `last`: it stands for all rows up to that number."""
        numbers = f"{self.number} to {last}" if last > self.number else f"{self.number}"
        where = f" (line {self.place.line})" if self.place.line else ""
        why = f": {self.detail}" if self.detail else ""
        return f"{numbers}. {quoted(self.server)} {quoted(self.tool)}{where} {self.outcome}{why}"

    def reads_like(self, other: "Row") -> bool:
        """Whether a model is told the same of both, but for their numbers."""
        return (self.server, self.tool, self.place.line, self.outcome, self.detail) == (
            other.server,
            other.tool,
            other.place.line,
            other.outcome,
            other.detail,
        )


@dataclass(slots=True, eq=False)
class Journal:
    """The rows of one program, also of what it did before it waited for a person."""

    rows: list[Row] = field(default_factory=list[Row])

    def add(self, **row: Any) -> Row:
        """A new row at the end."""
        made = Row(number=len(self.rows) + 1, **row)
        self.rows.append(made)
        return made

    def cancel_open(self) -> None:
        """The program has ended."""
        for row in self.rows:
            row.cancel()
