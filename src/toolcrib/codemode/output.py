"""What a model reads of a program: what it returned and printed, or why it failed and what it did.

    told = Telling(settings, kept.keep)
    await told.result(requester, done)     # {"content": [...]}
    told.failure(broken)                   # ScriptFailed, with the list of calls

Programs handle text of servers, so all of it is text of others: see `core.own_words`.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.calls.results.cutting import cut_json, written, written_within
from toolcrib.calls.results.encoding import encode
from toolcrib.codemode.journal import UNSENT, Row
from toolcrib.codemode.program_run import Broken, Done
from toolcrib.codemode.values import RETURNED, NotPlain, plain
from toolcrib.core.own_words import note, others
from toolcrib.core.quoting import clipped
from toolcrib.discovery.meta.one_line import json_line
from toolcrib.errors import ScriptFailed
from toolcrib.ports import Place
from toolcrib.settings import CodeSettings

Keep = Callable[[Requester, bytes, str], Awaitable[str | None]]
"""Keeps a content with its media type for a caller; its URI, or None where it cannot be kept."""

NOTHING_RAN: Final = "Nothing was executed."

_ENVELOPE: Final = 300
"""Bytes of a clipped value that are not its beginning."""
_ROWS: Final = 40
"""Calls that are listed, the last ones of many."""
_INDENT: Final = "    "
_MESSAGE: Final = 4_000


class Telling:
    """Words for how a program ended.

    Args:
        settings: How much may be shown.
        keep: Takes the whole of what is too large.
    """

    def __init__(self, settings: CodeSettings, keep: Keep) -> None:
        self._settings = settings
        self._keep = keep

    async def result(self, requester: Requester, done: Done) -> dict[str, Any]:
        """The `CallToolResult` of a program that came to its end.

        Raises:
            ScriptFailed: What it returned is no JSON.
        """
        parts = [await self._value(requester, self.returned(done))]
        parts += await self._printed(requester, done.progress.printed, done.progress.printed_bytes)
        parts += _left_open(done.progress.rows)
        text = "\n".join(filter(None, parts)) or note("it returned nothing and printed nothing")
        return {"content": [{"type": "text", "text": text}]}

    def returned(self, done: Done) -> Any:
        """What a program returned, as JSON.

        Raises:
            ScriptFailed: It is none.
        """
        try:
            return plain(done.value, RETURNED)
        except NotPlain as broken:
            message = f"TypeError: a program returns JSON values: {broken}"
            raise self.failure(
                Broken("raised", message, (), executed=True, progress=done.progress)
            ) from None

    def failure(self, broken: Broken) -> ScriptFailed:
        """The error for a program that ended otherwise, with the list of its calls."""
        rows = broken.progress.rows
        message = clipped_lines(others(broken.message), _MESSAGE)
        if broken.executed:  # a server may have written it, in lines that read like those below
            message = message.replace("\n", f"\n{_INDENT}")
        lines = [message, *(others(_place(place)) for place in broken.trace[-5:])]
        lines += _calls(rows) if broken.executed else [NOTHING_RAN]
        if printed := broken.progress.printed:
            lines += [note("it had printed"), others(printed)]
        return ScriptFailed(
            "\n".join(lines),
            details={
                "why": broken.why,
                "executed": broken.executed,
                "line": broken.trace[-1].line if broken.trace else 0,
                "calls": [told_row(row) for row in rows[-_ROWS:]],
            },
        )

    async def _value(self, requester: Requester, value: Any) -> str:
        most = self._settings.result_bytes
        # Measured first: to make a large value fit to be read takes long, and nobody would read it.
        if value is None:
            return ""
        if written_within(value, most) is not None:
            text = others(value) if isinstance(value, str) else ""
            if text and written(text) <= most:
                return text
            if len((line := json_line(value)).encode("utf-8", "replace")) <= most:
                return line
        whole = encode(value)
        handle = await self._keep(requester, whole, "application/json")
        cut: dict[str, Any] = {
            "truncated": True,
            "total_bytes": len(whole),
            "handle": handle,
            "preview": cut_json(value, most - _ENVELOPE),
        }
        return json_line(cut)

    async def _printed(self, requester: Requester, text: str, size: int) -> list[str]:
        if not size:
            return []
        shown = others(text).rstrip("\n")
        if size <= self._settings.print_bytes:
            return [note("printed"), shown]
        handle = await self._keep(requester, text.encode("utf-8", "replace"), "text/plain")
        where = f"; what was kept is {handle}" if handle else ""
        most = f"code.print_bytes, {self._settings.print_bytes:,}"
        return [note(f"printed, the beginning of {size:,} bytes ({most}{where})"), shown]


def clipped_lines(text: str, most: int) -> str:
    """The text, or its beginning and its end with a note between them."""
    if len(text) <= most:
        return text
    return f"{text[: most * 2 // 3]}\n{note('cut')}\n{text[-most // 4 :]}"


def _place(place: Place) -> str:
    inside = f", in {clipped(place.function, 60)}" if place.function else ""
    text = f": {clipped(place.text.strip(), 120)}" if place.text.strip() else ""
    return f"  line {place.line}{inside}{text}"


def _calls(rows: tuple[Row, ...]) -> list[str]:
    if not rows:
        return ["It had made no calls."]
    groups = _alike(rows)
    shown = groups[-_ROWS:]
    left = shown[0][0].number - 1
    more = [f"(calls 1 to {left} are not shown: {_counted(rows[:left])})"] if left else []
    return [
        f"It had made {len(rows)} call{'s' * (len(rows) != 1)}; they are not undone:",
        *more,
        *(others(first.told(last.number)) for first, last in shown),
    ]


def _left_open(rows: tuple[Row, ...]) -> list[str]:
    """What is to be said of calls that a program did not wait for, although it came to its end."""
    open_ = [row for row in rows if row.outcome == "cancelled" or row.detail == UNSENT]
    if not open_:
        return []
    what = f"{len(open_)} call{'s' * (len(open_) != 1)} had no answer when it ended"
    return [note(what), *(others(row.told()) for row in open_[:_ROWS])]


def _alike(rows: tuple[Row, ...]) -> list[tuple[Row, Row]]:
    """The first and the last of rows in a row that read alike."""
    groups: list[tuple[Row, Row]] = []
    for row in rows:
        if groups and groups[-1][0].reads_like(row):
            groups[-1] = (groups[-1][0], row)
        else:
            groups.append((row, row))
    return groups


def _counted(rows: tuple[Row, ...]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.outcome] = counts.get(row.outcome, 0) + 1
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def told_row(row: Row) -> dict[str, Any]:
    """A call of a program, for programs."""
    return {
        "number": row.number,
        "server": row.server,
        "tool": row.tool,
        "line": row.place.line,
        "outcome": row.outcome,
        "detail": row.detail,
    }
