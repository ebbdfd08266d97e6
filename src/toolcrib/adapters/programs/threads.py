"""Threads that wait for workers, so that the event loop need not."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

T = TypeVar("T")

Soon = Callable[[Callable[[], object]], object]
"""Has something done in the event loop, from any thread, without waiting for it."""


def soon_here() -> Soon:
    """A way into the event loop that runs now; what comes after its end is lost."""
    token: Any = anyio.lowlevel.current_token().native_token
    enter: Soon = getattr(token, "run_sync_soon", None) or token.call_soon_threadsafe

    def soon(work: Callable[[], object]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            enter(work)

    return soon


class Threads:
    """A fixed number of threads, none of which ends before all of them do.

    That matters: a jailed worker dies with the *thread* that started it, and the threads of anyio
    end when they had nothing to do for a while.
    """

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="toolcrib-program")

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, when it does: a cancellation waits for that.

        Whoever cancels has to see to it that the work ends.
        """
        done = anyio.Event()
        soon = soon_here()

        def tell(_: Future[T]) -> None:
            soon(done.set)

        future = self.submit(work)
        future.add_done_callback(tell)
        with anyio.CancelScope(shield=True):
            await done.wait()
        return future.result()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Have work done, without waiting for it; from any thread."""
        return self._pool.submit(work)

    def end(self) -> None:
        """Let the threads end, without waiting for them."""
        self._pool.shutdown(wait=False)
