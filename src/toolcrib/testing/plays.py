"""Scripts that Hypothesis writes, played on an event loop whose time jumps.

    plays = Plays(play, STEPS, examples=40)
    plays.hold()            # a property: play(steps) raises for no script
    plays.fail()            # with a fault planted: some script shows it

`play` is async and takes what the strategy draws. The same scripts are played each time; the
Hypothesis profile `seek` looks for new ones, four times as many. Needs `hypothesis` and `trio`.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from typing import Any, Final
from unittest.mock import patch

import anyio
import anyio.lowlevel
from anyio import to_thread
from hypothesis import HealthCheck, Phase, given, register_random, settings
from hypothesis import strategies as st
from trio.testing import MockClock

# trio takes ready tasks in a random order. Drawn like everything else it is the same each time, so
# that a script can be played again; pytest-trio does the same.
_scheduling: Any = import_module("trio._core._run")
_scheduling._ALLOW_DETERMINISTIC_SCHEDULING = True  # noqa: SLF001 - as said
register_random(_scheduling._r)  # noqa: SLF001 - as said

LONGEST: Final = 1e9
"""Virtual seconds after which a script that hangs is given up."""

SOUGHT: Final = 4
"""How many times as many scripts are played where new ones are looked for."""


async def _on_the_loop(work: Callable[..., object], *given_: Any, **_options: Any) -> object:
    await anyio.lowlevel.checkpoint()
    done = work(*given_)
    await anyio.lowlevel.checkpoint()
    return done


async def _bounded(play: Callable[..., Awaitable[object]], *drawn: Any) -> None:
    with anyio.fail_after(LONGEST):
        await play(*drawn)


def in_virtual_time(play: Callable[..., Awaitable[object]], *drawn: Any) -> None:
    """Plays on trio, under a clock that jumps to whatever is waited for next.

    Work for threads is done on the loop: the clock does not know of it, and would jump past it.
    What goes wrong alone is raised alone, and not as a group of one.
    """
    clock = MockClock(autojump_threshold=0)
    try:
        with patch.object(to_thread, "run_sync", _on_the_loop):
            anyio.run(
                partial(_bounded, play, *drawn), backend="trio", backend_options={"clock": clock}
            )
    except BaseExceptionGroup as group:
        raise _alone(group) from None


def _alone(raised: Any) -> BaseException:
    while len(getattr(raised, "exceptions", ())) == 1:
        raised = raised.exceptions[0]
    return raised


class Plays:
    """One property over scripts.

    Args:
        play: Raises AssertionError where a script shows that the property does not hold.
        scripts: Draws what `play` takes.
        examples: Scripts that are played.
    """

    def __init__(
        self,
        play: Callable[[Any], Awaitable[object]],
        scripts: st.SearchStrategy[Any],
        *,
        examples: int,
    ) -> None:
        self._play = play
        self._scripts = scripts
        self._examples = examples

    def hold(self) -> None:
        """Plays all scripts; one that fails is made as short as it can be, and raised."""
        house = settings().derandomize
        self._run(
            max_examples=self._examples * (1 if house else SOUGHT),
            derandomize=house,
            print_blob=not house,
        )

    def fail(self, examples: int | None = None) -> None:
        """Raises AssertionError where no script fails.

        Args:
            examples: Scripts that may be played until one fails; None: as many as hold.
        """
        try:
            self._run(
                max_examples=examples or self._examples,
                derandomize=True,
                phases=[Phase.generate],
                report_multiple_bugs=False,
            )
        except Exception:  # noqa: BLE001 - a fault may show in any way
            return
        raise AssertionError("no script shows the fault")

    def _run(self, **others: Any) -> None:
        @settings(
            database=None,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            **others,
        )
        @given(self._scripts)
        def played(script: Any) -> None:
            in_virtual_time(self._play, script)

        played()
