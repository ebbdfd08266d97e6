"""What each caller last saw of each tool: the ledger (DESIGN sections 3 and 6).

    await ledger.listed(requester, sights)                       # a listing was shown
    await ledger.saw(requester, server, items)                   # details, or a refusal
    await ledger.contract(requester, server, key, now=contract)  # what it saw last, or None

`Ledger` is the pipeline's `seams.Sights`.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from toolcrib.calls.call import Requester
from toolcrib.calls.ledger.account import Account, Patience
from toolcrib.calls.ledger.owners import Owners
from toolcrib.calls.ledger.sights import Sight, Sights
from toolcrib.calls.ledger.store import LedgerStore, Owner
from toolcrib.core.partition import ANONYMOUS, Principal
from toolcrib.core.snapshot import Item
from toolcrib.ports import Clock, EntryStore, Keys
from toolcrib.settings import Limits

_PRINCIPALS: Final = 1_000
"""Principals whose accounts are in memory at a time."""


class Ledger:
    """What all callers saw, in memory and, of callers that other processes may meet, in the store.

    No method raises for a store that cannot be used: what is remembered then lives in this process,
    and is kept when something is shown later. Of anonymous callers without a handle nothing is
    remembered: what one of them saw says nothing about the next.

    Args:
        store: Where accounts are kept; shared with other processes.
        keys: From which the names of owners are made.
        clock: Its wall time orders what was shown by several processes.
        limits: Bounds of tools per caller, and of callers per principal.
    """

    def __init__(self, store: EntryStore, *, keys: Keys, clock: Clock, limits: Limits) -> None:
        self._owners = Owners(keys, "ledger")
        self._tools = limits.ledger_entries
        self._handles = max(1, limits.handles)
        self._store = LedgerStore(store, self._owners, tools=self._tools, callers=self._handles)
        self._clock = clock
        self._patience = Patience(clock)
        self._accounts: OrderedDict[Principal, OrderedDict[str, Account]] = OrderedDict()

    async def listed(self, requester: Requester, sights: Sights) -> None:
        """A listing was shown: it replaces what was seen of the same tools before."""
        account = self._account(requester)
        if account is not None:
            await account.listed(sights)

    async def saw(self, requester: Requester, server: str, items: Iterable[Item]) -> None:
        """Single definitions were shown: details, or a refusal that holds the new schema."""
        account = self._account(requester)
        if account is not None:
            await account.saw(server, items)

    async def contract(
        self, requester: Requester, server: str, key: str, *, now: str = ""
    ) -> str | None:
        """The contract of a tool as this caller saw it last; None: not known to have seen it.

        Answered from memory after the first time. Give `now`, the contract that holds now: where
        memory contradicts it, the store is asked before the answer, because another replica may
        have shown the newer tool.
        """
        account = self._account(requester)
        return None if account is None else await account.contract((server, key), now)

    async def sight(self, requester: Requester, name: str) -> Sight | None:
        """What a listing showed this caller under an exposed name, the newest listing first.

        For names that no listing holds any more; None: none showed it.
        """
        account = self._account(requester)
        return None if account is None else await account.sight(name)

    def forget(self, requester: Requester) -> None:
        """The connection ended behind a handle that is not durable."""
        callers = self._accounts.get(requester.principal)
        if callers is None or requester.durable:
            return
        callers.pop(requester.handle, None)
        if not callers:
            del self._accounts[requester.principal]

    def _account(self, requester: Requester) -> Account | None:
        principal, handle = requester.principal, requester.handle
        if principal == ANONYMOUS and not handle:
            return None
        callers = self._accounts.setdefault(principal, OrderedDict())
        self._accounts.move_to_end(principal)
        account = callers.get(handle)
        if account is None:
            account = callers[handle] = self._opened(requester)
        callers.move_to_end(handle)
        while len(callers) > self._handles:
            callers.popitem(last=False)
        while len(self._accounts) > _PRINCIPALS:
            self._accounts.popitem(last=False)
        return account

    def _opened(self, requester: Requester) -> Account:
        return Account(
            self._store if requester.durable else None,
            Owner(self._owners.principal(requester), self._owners.caller(requester)),
            clock=self._clock,
            patience=self._patience,
            most=self._tools,
        )
