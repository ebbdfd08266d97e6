"""A program that waits for a person, as bytes: everything that another process needs to go on.

Written as zlib-compressed JSON, followed by the snapshot as it is. It holds what servers answered
and what the program computed, in clear, so it is sealed before anybody keeps it.
"""

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib.codemode.callees import Callee
from toolcrib.codemode.journal import Outcome, Row
from toolcrib.codemode.progress import Progress
from toolcrib.core.jsontypes import is_object
from toolcrib.ports import Answer, Place, Raised, Returned
from toolcrib.settings import Language

_HEAD: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class PutAside:
    """A program that waits, and what it is bound to."""

    run: str
    """Marks the program."""
    language: Language
    version: str
    """Of the runtime: no other one can go on from a snapshot."""
    callees: Mapping[str, Callee]
    """What its names stand for, as they did when it began."""
    started_at: float | None
    """What its clock says, if it stands still."""
    seed: str
    progress: Progress
    modules: tuple[str, ...] = ()
    """The names of what it could import."""
    away: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why modules were not there that it names."""

    @property
    def bulk(self) -> int:
        """About how many bytes have to be written; at least those that may be many."""
        if self.progress.snapshot is not None:
            return len(self.progress.snapshot)
        return sum(row.size for row in self.progress.rows)

    def to_bytes(self) -> bytes:
        """Everything; `from_bytes` reads it."""
        progress = self.progress
        told = progress.snapshot is None
        head = {
            "run": self.run,
            "language": self.language,
            "version": self.version,
            "callees": {
                name: [it.server, it.tool, it.contract, dict(it.originals)]
                for name, it in self.callees.items()
            },
            "started_at": self.started_at,
            "seed": self.seed,
            "modules": self.modules,
            "away": dict(self.away),
            "rows": [_row(row, told=told) for row in progress.rows],
            "printed": progress.printed,
            "printed_bytes": progress.printed_bytes,
            "seconds": progress.seconds,
            "received": sorted(progress.received),
            "said": dict(progress.said),
            "asked": {str(number): dict(it) for number, it in progress.asked.items()},
            "whole": progress.snapshot is not None,
        }
        # Escaped, so that half a surrogate pair comes back as what it was.
        raw = json.dumps(head, separators=(",", ":")).encode()
        return zlib.compress(_HEAD.pack(len(raw)) + raw + (progress.snapshot or b""), 1)

    @staticmethod
    def from_bytes(value: bytes) -> "PutAside":
        """What `to_bytes` wrote; only of bytes that were sealed by this installation."""
        raw = zlib.decompress(value)
        (size,) = _HEAD.unpack_from(raw)
        body = _HEAD.size + size
        head: dict[str, Any] = json.loads(raw[_HEAD.size : body])
        return PutAside(
            run=head["run"],
            language=head["language"],
            version=head["version"],
            callees={name: Callee(*parts) for name, parts in head["callees"].items()},
            started_at=head["started_at"],
            seed=head["seed"],
            progress=Progress(
                rows=tuple(map(_read_row, head["rows"])),
                printed=head["printed"],
                printed_bytes=head["printed_bytes"],
                seconds=head["seconds"],
                received=frozenset(head["received"]),
                said=head["said"],
                snapshot=raw[body:] if head["whole"] else None,
                asked={int(number): it for number, it in head["asked"].items()},
            ),
            modules=tuple(head["modules"]),
            away=head["away"],
        )


def _row(row: Row, *, told: bool) -> dict[str, Any]:
    written: dict[str, Any] = {
        "number": row.number,
        "server": row.server,
        "tool": row.tool,
        "arguments": dict(row.arguments) if told or row.open else {},
        "contract": row.contract,
        "call": row.call,
        "place": [row.place.line, row.place.column],
        "outcome": row.outcome,
        "detail": row.detail,
        "heard": row.heard,
        "flow": row.flow,
        "size": row.size,
        "settled": row.settled,
    }
    match row.answer:
        case Returned(value) if told:
            written["returned"] = value
        case Raised(message) if told:
            written["raised"] = message
        case _:
            pass
    return written


def _read_row(written: Mapping[str, Any]) -> Row:
    line, column = written["place"]
    outcome: Outcome = written["outcome"]
    return Row(
        number=written["number"],
        server=written["server"],
        tool=written["tool"],
        arguments=written["arguments"] if is_object(written["arguments"]) else {},
        contract=written["contract"],
        call=written["call"],
        place=Place(line, column),
        outcome=outcome,
        detail=written["detail"],
        heard=tuple(written["heard"]),
        flow=written["flow"],
        size=written["size"],
        answer=_answer(written),
        settled=written["settled"],
    )


def _answer(written: Mapping[str, Any]) -> Answer | None:
    if "returned" in written:
        return Returned(written["returned"])
    return Raised(written["raised"]) if "raised" in written else None
