"""What people answered, and what they are still asked: one per process, over the shared store."""

from toolcrib.calls.approval.grants import Grants
from toolcrib.calls.approval.inbox import Inbox
from toolcrib.calls.ledger.owners import Owners
from toolcrib.ports import EntryStore, Keys
from toolcrib.settings import Limits


class Answers:
    """Grants and inbox, filed under keyed digests from which nothing can be told.

    Args:
        store: The same for every process on a configuration.
        keys: Make the digests.
        limits: `state_seconds` is how long a question waits.
        run: Marks this run of the process, unlike every other one on the store.
    """

    def __init__(self, store: EntryStore, *, keys: Keys, limits: Limits, run: str) -> None:
        self.owners = Owners(keys, "approval")
        self.grants = Grants(store, run=run)
        self.inbox = Inbox(
            store,
            whose=self.owners.caller,
            grants=self.grants,
            life=limits.state_seconds,
        )
