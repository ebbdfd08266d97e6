"""One function with a fault in it, wherever it is called from: whether a test notices.

`planting` makes whole modules anew, which only those see who import them afterwards. Here the code
of a function that everybody holds already is replaced.
"""

import inspect
import textwrap
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class CodeFault:
    """A rule that is taken out of a function."""

    name: str
    """What goes wrong then, in words."""
    function: Any
    """A function, or a method as its class has it; a property gives its getter."""
    old: str
    """A text that stands once in its source."""
    new: str

    def __str__(self) -> str:
        return self.name

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Have the fault there until the patch is undone.

        Raises:
            ValueError: The text does not stand in the function once, or it cannot be made anew.
        """
        function = _alone(self.function)
        if not isinstance(function, FunctionType) or function.__code__.co_freevars:
            raise ValueError(f"{self.name}: {self.function!r} is no function that stands alone")
        source = textwrap.dedent(inspect.getsource(function))
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.old!r} stands {source.count(self.old)} times")
        made: dict[str, Any] = {}
        planted = compile(source.replace(self.old, self.new), inspect.getfile(function), "exec")
        exec(planted, function.__globals__, made)  # noqa: S102 - it is our source
        patch.setattr(function, "__code__", _alone(made[function.__name__]).__code__)


def _alone(function: Any) -> Any:
    """The function without what was put around it."""
    return inspect.unwrap(getattr(function, "fget", function))
