"""What is wrong with a program that was not run."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["size", "depth", "unsupported"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps a program from running."""

    kind: Kind
    message: str
    """What, and what to write instead."""
    line: int = 0
    """From 1; 0: the whole program."""
    text: str = ""
    """The line."""
    file: str = "script.py"
    """What the program is called."""

    def told(self) -> str:
        """A line or two for a model."""
        if not self.line:
            return self.message
        return f"{self.file}:{self.line}: {self.message}\n    {self.text.strip()[:160]}"
