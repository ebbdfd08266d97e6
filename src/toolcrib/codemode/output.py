"""What a model reads of a program: what it returned and printed, or why it failed and what it did.

    told = Telling(settings, kept.keep)
    await told.result(requester, done)     # {"content": [...]}
    told.failure(broken)                   # ScriptFailed, with the list of calls

Programs handle text of servers, so all of it is text of others: see `core.own_words`.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from anyio import to_thread

from toolcrib.calls.call import Requester
from toolcrib.calls.results.cutting import cut_json, written, written_within
from toolcrib.calls.results.encoding import encode
from toolcrib.codemode.journal import UNSENT, Row
from toolcrib.codemode.program_run import Broken, Done
from toolcrib.codemode.said import Said, said
from toolcrib.core.own_words import note, others, others_in_json
from toolcrib.core.program.awaiting import unawaited
from toolcrib.core.quoting import clipped, quoted
from toolcrib.discovery.meta.one_line import json_line
from toolcrib.errors import ScriptFailed
from toolcrib.ports import NOWHERE, Place, Unawaited
from toolcrib.settings import CodeSettings

Keep = Callable[[Requester, bytes, str], Awaitable[str | None]]
"""Keeps a content with its media type for a caller; its URI, or None where it cannot be kept."""

NOTHING_RAN: Final = "Nothing was executed."

_NOTE: Final = 300
"""Bytes of the note under a value that is cut."""
_TRIES: Final = 4
_UNAWAITED: Final = (
    "RuntimeError: it returned a call that it did not wait for: write `await` before the call"
)
_ROWS: Final = 40
"""Calls that are listed, the last ones of many."""
_INDENT: Final = "    "
_MESSAGE: Final = 4_000
_AT_ONCE: Final = 256 * 1024
"""What a value may weigh that is said on the event loop; others go into a thread."""


class Telling:
    """Words for how a program ended.

    Args:
        settings: How much may be shown.
        keep: Takes the whole of what is too large.
    """

    def __init__(self, settings: CodeSettings, keep: Keep) -> None:
        self._settings = settings
        self._keep = keep

    async def result(self, requester: Requester, done: Done, text: str = "") -> dict[str, Any]:
        """The `CallToolResult` of a program that came to its end.

        Args:
            requester: For whom a content that is too large is kept.
            done: How it ended.
            text: The program, where it is in Python.

        Raises:
            ScriptFailed: It returned calls that it did not wait for.
        """
        returned = await self.returned(done, text)
        parts = await self._value(requester, returned.value)
        parts += [note(others(remark)) for remark in returned.remarks]
        parts += await self._printed(requester, done.progress.printed, done.progress.printed_bytes)
        parts += _left_open(done.progress.rows)
        parts += _failed_unseen(done, text)
        text = "\n".join(parts) or note("it returned nothing and printed nothing")
        return {"content": [{"type": "text", "text": text}]}

    async def returned(self, done: Done, text: str = "") -> Said:
        """What a program returned, as JSON.

        Raises:
            ScriptFailed: There are calls in it that the program did not wait for.
        """
        returned = said(done.value, _AT_ONCE)
        if returned.cut:
            returned = await to_thread.run_sync(said, done.value)
        if not returned.unawaited:
            return returned
        rows = {row.call: row for row in done.progress.rows}
        lines = text.split("\n")
        places = {
            function: Place(line, 0, lines[line - 1])
            for function, line in unawaited(text).functions.items()
        }
        told = [_unawaited(where, what, rows, places) for where, what in returned.unawaited]
        message = "\n".join([_UNAWAITED, *(line for line, _ in told)])
        trace = tuple(place for _, place in told[:1] if place.line)
        failure = Broken("raised", message, trace, executed=True, progress=done.progress)
        raise self.failure(failure, besides=returned)

    def failure(self, broken: Broken, besides: Said | None = None) -> ScriptFailed:
        """The error for a program that ended otherwise, with the list of its calls.

        `besides`: what it returned all the same.
        """
        rows = broken.progress.rows
        message = clipped_lines(others(broken.message), _MESSAGE)
        if broken.executed:  # a server may have written it, in lines that read like those below
            message = message.replace("\n", f"\n{_INDENT}")
        lines = [message, *(others(_place(place)) for place in broken.trace[-5:])]
        lines += _calls(rows) if broken.executed else [NOTHING_RAN]
        if printed := broken.progress.printed:
            lines += [note("it had printed"), others(printed)]
        if besides is not None:
            lines += self._besides(besides)
        return ScriptFailed(
            "\n".join(lines),
            details={
                "why": broken.why,
                "executed": broken.executed,
                "line": broken.trace[-1].line if broken.trace else 0,
                "calls": [told_row(row) for row in rows[-_ROWS:]],
            },
        )

    async def _value(self, requester: Requester, value: Any) -> list[str]:
        """A value, and where it is cut, a note: a value may look like any other thing of ours."""
        # Measured first: to make a large value fit to be read takes long, and nobody would read it.
        if value is None:
            return []
        if (shown := self._whole(value)) is not None:
            return [shown]
        most = self._settings.result_bytes
        whole = encode(value)
        handle = await self._keep(requester, whole, "application/json")
        where = f"; all of it is {handle}" if handle else ""
        cut = f"cut: it returned {len(whole):,} bytes (code.result_bytes, {most:,}{where})"
        return [self._beginning(value), note(cut)]

    def _whole(self, value: Any) -> str | None:
        """All of a value; None: it is too large."""
        most = self._settings.result_bytes
        if written_within(value, most) is not None:
            text = others(value) if isinstance(value, str) else ""
            if text and written(text) <= most:
                return text
            line = others_in_json(json_line(value))
            if len(line.encode("utf-8", "replace")) <= most:
                return line
        return None

    def _beginning(self, value: Any) -> str:
        """Valid JSON of the same kind; where escapes make it too long, of less of it."""
        most = room = self._settings.result_bytes - _NOTE
        for _ in range(_TRIES):
            line = others_in_json(json_line(cut_json(value, room)))
            size = len(line.encode("utf-8", "replace"))
            if size <= most:
                return line
            room = room * most // size
        return "null"

    def _besides(self, returned: Said) -> list[str]:
        """What a program returned that failed all the same; empty: nothing."""
        if returned.value is None:
            return []
        whole = self._whole(returned.value)
        how = " (cut)" if whole is None else ""
        shown = self._beginning(returned.value) if whole is None else whole
        remarks = (note(others(remark)) for remark in returned.remarks)
        return [note(f"it had returned, but for that{how}"), shown, *remarks]

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


def _failed_unseen(done: Done, text: str) -> list[str]:
    """What is to be said of calls that failed, where nobody is seen to wait for them."""
    rows = done.progress.rows
    failed = [it for it in rows if it.outcome in {"raised", "stopped"} and it.detail != UNSENT]
    places = unawaited(text).places if failed else ()
    failed = [
        row
        for row in failed
        if row.call in done.untaken or (row.place.line, row.place.column) in places
    ]
    if not failed:
        return []
    count = len(failed)
    what = f"{count} call{'s' * (count != 1)} that it does not seem to wait for failed"
    shown = _alike(tuple(failed))[:_ROWS]
    return [note(what), *(others(first.told(last.number)) for first, last in shown)]


def _unawaited(
    where: str, what: Unawaited, rows: Mapping[int, Row], places: Mapping[str, Place]
) -> tuple[str, Place]:
    """What was not waited for, in a line, and where it was called."""
    row = rows.get(what.call) if what.call else None
    if row is not None:
        called, place = f"call {row.number}, {quoted(row.server)} {quoted(row.tool)}", row.place
    else:
        called = quoted(f"{what.function}(...)") if what.function else "a call"
        place = places.get(what.function, NOWHERE)
    at = f" (line {place.line})" if place.line else ""
    return f"{where} is {called}{at}", place


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
