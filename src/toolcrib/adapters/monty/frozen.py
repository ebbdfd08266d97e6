"""A program that waits, as bytes: what Monty wrote, and what Monty does not know of it.

They are no secret to Monty and no proof of anything: whoever stores them has to seal them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from toolcrib.errors import SnapshotRefused

_MAGIC: Final = b"toolcrib-monty-1\n"


@dataclass(frozen=True, slots=True)
class Frozen:
    """A program that waits."""

    version: str
    """Of Monty."""
    fed: str
    """The name of the program's text in its session."""
    slept: float
    """Seconds that it has slept."""
    helpers: Mapping[str, Mapping[str, UUID]]
    """Functions of modules that run inside, by module and name."""
    dump: bytes
    """What Monty wrote."""

    def packed(self) -> bytes:
        """One run of bytes."""
        head = {
            "version": self.version,
            "fed": self.fed,
            "slept": self.slept,
            "helpers": {
                module: {name: str(each) for name, each in names.items()}
                for module, names in self.helpers.items()
            },
        }
        return _MAGIC + json.dumps(head).encode() + b"\n" + self.dump


def unpacked(raw: bytes, version: str) -> Frozen:
    """The program that waits.

    Raises:
        SnapshotRefused: The bytes are none of ours, or of another version of Monty.
    """
    if not raw.startswith(_MAGIC):
        raise SnapshotRefused("these bytes are no program that waits, or one of another release")
    head, _, dump = raw.removeprefix(_MAGIC).partition(b"\n")
    try:
        frozen = _read(json.loads(head), dump)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SnapshotRefused("the program that waited cannot be read: it is damaged") from error
    if frozen.version != version:
        raise SnapshotRefused(
            f"the program waited in Monty {frozen.version}, and this is Monty {version}",
            remedy="run the program again",
        )
    return frozen


def _read(head: Any, dump: bytes) -> Frozen:
    return Frozen(
        version=str(head["version"]),
        fed=str(head["fed"]),
        slept=float(head["slept"]),
        helpers={
            module: {name: UUID(each) for name, each in names.items()}
            for module, names in head["helpers"].items()
        },
        dump=dump,
    )
