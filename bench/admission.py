"""Admission of a call: the arguments checked against a typical schema, and the verdict.

Beside the whole stands what the check consists of where it fails, a check of the same value nested
in a batch, and the first check of a schema, which compiles it.
"""

import argparse
from itertools import count
from typing import Any

from figures import median, microseconds_each, seconds, tell
from made import made_tool
from toolcrib.adapters.schema import JsonSchemaChecker
from toolcrib.core.admit import Asked, Go, Verdict, admit
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.ports import Unchecked
from toolcrib.settings import Limits

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


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=300)
    measure(parser.parse_args().batches)


if __name__ == "__main__":
    main()
