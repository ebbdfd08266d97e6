"""How a part of the store puts a question to its file."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

_T = TypeVar("_T")
_Spare_co = TypeVar("_Spare_co", covariant=True)


class Asking(Protocol[_Spare_co]):
    """Puts a question to the file in its turn, or to memory once the file is given up.

    Raises:
        StoreUnreachable: The file cannot be used now.
    """

    async def __call__(
        self, of_file: Callable[[float], _T], of_memory: Callable[[_Spare_co], Awaitable[_T]]
    ) -> _T:
        """The answer; `of_file` is given the time of the store and runs beside the event loop."""
        ...
