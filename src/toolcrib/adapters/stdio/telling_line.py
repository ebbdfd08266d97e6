"""Which line of what a program printed at its end says why it ended.

Runtimes and installers print the cause first, and then frames of the stack, their version and where
a log is: the last line is seldom the one to read.
"""

import re
from collections.abc import Sequence
from typing import Final

_LOOKED_AT: Final = 60
"""Lines from the end in which the cause is sought: older ones are of another matter."""

_BESIDE: Final = re.compile(
    r"""
      at\ .*                               # a frame of a stack: JavaScript, Java
    | File\ ".*",\ line\ \d+.*             # of Python
    | node:\S+:\d+                         # where Node.js was
    | Node\.js\ v\d\S*
    | npm\ (?:notice|warn)\b.*
    | npm\ (?:error|ERR!)(?:\ \S+)?        # a code by itself, or nothing
    | npm\ (?:error|ERR!)\ +(?:code|errno|syscall|path)\ .*
    | npm\ (?:error|ERR!)\ +A\ complete\ log\ .*
    | [\W\d_]*                             # brackets, arrows, rules
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Lines that stand beside the cause."""

_OWN_WORDS: Final = re.compile(r"npm (?:error|ERR!)", re.IGNORECASE)
"""What opens every line of a report, whatever the line says."""

_CAUSE: Final = re.compile(
    r"error|exception|fatal|panic|fail|cannot|can't|could\ ?n[o']t|unable|not found|no such|denied"
    r"|refused|missing|invalid|unknown|unrecogni[sz]ed|\bis not\b|\bdoes not\b|\bno module\b",
    re.IGNORECASE,
)


def telling_line(lines: Sequence[str]) -> str:
    """The last line that names a cause; else the last that says something; empty for none.

    Args:
        lines: In the order printed; blank ones do not count.
    """
    said = [stripped for line in lines if (stripped := line.strip())][-_LOOKED_AT:]
    telling = [line for line in said if not _BESIDE.fullmatch(line)]
    causes = [line for line in telling if _CAUSE.search(_OWN_WORDS.sub("", line, count=1))]
    for found in (causes, telling, said):
        if found:
            return found[-1]
    return ""
