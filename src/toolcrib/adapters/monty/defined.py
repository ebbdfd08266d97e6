"""What a program may use though the type checker does not know it: Monty has it.

The types of Python that the checker reads do not say all that Monty has. So what it takes for
unknown is looked up in Monty itself, once all findings are there.
"""

import re
from collections.abc import Callable, Collection
from typing import Final

from toolcrib.adapters.monty.members import Sessions, raised_by

Has = Callable[[Collection[str]], Collection[str]]
"""Which of some texts can be run; each is a name, or imports one."""
_NAME: Final = re.compile(r"Name `(\w+)` used when not defined")
_MEMBER: Final = re.compile(r"Module `(\w+)` has no member `(\w+)`")
_MOST: Final = 200
"""Texts that are tried for one program."""


def unknown(code: str, message: str) -> str | None:
    """What to try, where a finding says that something is not there; else None."""
    if code == "unresolved-reference" and (name := _NAME.fullmatch(message)):
        return name[1]
    if code in {"unresolved-import", "unresolved-attribute"} and (
        member := _MEMBER.fullmatch(message)
    ):
        return f"from {member[1]} import {member[2]}"
    return None


class Defined:
    """Remembers what there is of what programs asked for.

    Args:
        sessions: Lends sessions without modules.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._there: frozenset[str] = frozenset()

    def among(self, texts: Collection[str]) -> Collection[str]:
        """Those that can be run."""
        untried = sorted(set(texts) - self._there)[:_MOST]
        # Apart: what one of them imports would be there for a name of another.
        for name in (True, False):
            tries = {text: text for text in untried if text.isidentifier() is name}
            if tries:
                raised = raised_by(self._sessions, "", tries)
                self._there |= tries.keys() - raised.keys()
        return self._there.intersection(texts)
