"""Admission of a call: the arguments checked against a typical schema, and the verdict.

First check and verdict alone, then the whole of it: the catalog read as a call needs it, what the
caller saw looked up in the ledger, the size of the arguments measured, the check, the verdict.
Beside that stands what the check consists of where it fails, a check of the same value nested in a
batch, and the first check of a schema, which compiles it.
"""

import argparse
from itertools import count
from typing import Any

import anyio

from figures import median, microseconds_each, microseconds_each_of, seconds, tell
from made import HOUR_MS, SERVER, made_tool
from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.calls.admission import Admission
from toolcrib.calls.call import Requester, ToolCall
from toolcrib.calls.refused import Refusals
from toolcrib.core.admit import Asked, Go, Verdict, admit
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.crib import Deaf
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import scripted_crib

AIM = 100.0
ARGUMENTS = {
    "owner": "octo",
    "repository": "crib",
    "state": "open",
    "labels": ["bug", "triage"],
    "page": 2,
    "per_page": 50,
}
WRONG = {**ARGUMENTS, "state": "opened", "page": 0, "lables": []}


def tool(number: int, revision: int = 0) -> Item:
    """A usable tool of about a kilobyte; the second revision has one value less."""
    raw = made_tool(number, revision)
    if revision:
        raw["inputSchema"]["properties"]["state"]["enum"].pop()
    found = judge(Kind.TOOLS, raw).verdict
    assert isinstance(found, Item)
    return found


def measure(batches: int) -> None:
    """Every figure over one tool, whose schema was compiled before."""
    checker = JsonSchemaChecker(Limits())
    now, before = tool(1, 1), tool(1)
    schema = now.definition["inputSchema"]

    def admitted(arguments: dict[str, Any], seen: str) -> Verdict:
        found = checker.check(schema, arguments, mark=now.contract)
        assert not isinstance(found, Unchecked)
        asked = Asked(name="hub__tool", item=now, seen=seen, earlier=before, faults=found)
        return admit(asked)

    assert isinstance(admitted(ARGUMENTS, now.contract), Go)
    assert not isinstance(admitted(WRONG, now.contract), Go)
    batch_schema = {"type": "array", "items": schema}
    batch = [ARGUMENTS] * 100
    check = microseconds_each(lambda: checker.check(schema, ARGUMENTS, mark="tool"), batches)
    verdict = microseconds_each(
        lambda: admit(Asked(name="t", item=now, seen=now.contract)), batches
    )
    whole = microseconds_each(lambda: admitted(ARGUMENTS, now.contract), batches)
    few = max(5, batches // 30)
    wrong = microseconds_each(lambda: admitted(WRONG, now.contract), few)
    changed = microseconds_each(lambda: admitted(ARGUMENTS, before.contract), few)
    many = microseconds_each(lambda: checker.check(batch_schema, batch, mark="batch"), few)
    marks = count()
    first = [
        seconds(lambda: checker.check(schema, ARGUMENTS, mark=f"first {next(marks)}")) * 1e6
        for _ in range(batches)
    ]
    tell("admission_p50", whole, "us", aim=AIM, check_us=check, verdict_us=verdict)
    tell("admission_of_wrong_arguments_p50", wrong, "us")
    tell("admission_after_a_change_p50", changed, "us")
    tell("check_of_100_rows_p50", many, "us", rows=len(batch))
    tell("first_check_of_a_schema_p50", median(first), "us")


async def measure_whole(batches: int) -> None:
    """The admission of the pipeline, over real catalogs and the ledger of a caller who listed."""
    script = ScriptedUpstream([made_tool(number) for number in range(100)], ttl_ms=HOUR_MS)
    caller = Requester(handle="bench")
    async with scripted_crib({SERVER: script}) as (crib, _):
        catalogs, calls = crib.catalogs(), crib.calls()
        reading = await catalogs.read_one(SERVER, Kind.TOOLS)
        assert reading.snapshot is not None
        await calls.ledger.saw(caller, SERVER, reading.snapshot.items)
        admission = Admission(
            catalogs,
            checker=JsonSchemaChecker(Limits()),
            sights=calls.ledger,
            refusals=Refusals(calls.ledger, calls.past, lambda server, key: f"{server}__{key}"),
            limits=Limits(),
            observer=Deaf(),
        )
        key = reading.snapshot.items[1].key
        call = ToolCall(f"{SERVER}__{key}", SERVER, key, ARGUMENTS, caller)
        assert (await admission.admit(call)).item.key == key
        whole = await microseconds_each_of(lambda: admission.admit(call), batches)
        read = await microseconds_each_of(
            lambda: catalogs.read_one(SERVER, Kind.TOOLS), max(5, batches // 3)
        )
        now = reading.snapshot.items[1].contract
        seen = await microseconds_each_of(
            lambda: calls.ledger.contract(caller, SERVER, key, now=now), max(5, batches // 3)
        )
    tell("whole_admission_p50", whole, "us", aim=AIM, read_us=read, ledger_us=seen)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=300)
    batches: int = parser.parse_args().batches
    measure(batches)
    anyio.run(measure_whole, batches)


if __name__ == "__main__":
    main()
