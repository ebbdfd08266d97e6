"""Calls of tools whose definition a person has to see first (`on_change = "ask"`)."""

from toolcrib.core.quoting import quoted
from toolcrib.core.snapshot import Snapshot
from toolcrib.core.vetting import NOT_APPROVED
from toolcrib.errors import ConfirmationNeeded


def awaits_approval(server: str, key: str, snapshot: Snapshot) -> ConfirmationNeeded | None:
    """Why a tool that is not served cannot be called, where its definition waits to be seen.

    The model is told who can let it in and how; not what the new definition says, which nobody has
    read yet.
    """
    if snapshot.get(key) is not None:
        return None
    if not any(it.key == key and it.reason == NOT_APPROVED for it in snapshot.quarantined):
        return None
    command = f"toolcrib approve --changes {server}"
    return ConfirmationNeeded(
        f"the definition of {quoted(key)} is new or changed, and a person has to see it"
        f" first: `{command}` in a terminal shows and approves it",
        server=server,
        remedy=f"run `{command}`",
        details={"command": command},
    )
