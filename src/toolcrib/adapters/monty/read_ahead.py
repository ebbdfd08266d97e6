"""Texts that a session checks before there is a program: what most programs are made of.

The commonest comes first, since whoever wants the session waits for no more than one of them. None
says anything of a server or a caller.
"""

from typing import Final

from toolcrib.core.stubs.python_text import HEADER
from toolcrib.core.stubs.reserved import LIST

READ_AHEAD: Final = (
    "1 + 1",
    HEADER + f"""
class Row(TypedDict):
    number: int
    labels: NotRequired[list[str]]
class Asked(TypedDict):
    key: str
async def rows(
    *,
    page: int = 1,
    state: Literal["open", "closed"] = "open",
    keys: {LIST}[str] = [],
    by: Asked | Mapping[str, Any] = {{}},
) -> list[Row]:
    return []
"""
    """\
lines: list[str] = []
for row in await rows(page=1 + 1, state="open", keys=["a"], by={"key": "a"}):
    if row["number"] > 1 and row["number"] % 2 == 0:
        lines.append(f"{row['number']}")
    print(len(lines), str(row["number"]), row.get("labels"))
""",
    """\
counts: dict[str, int] = {}
for key in sorted(["b", "a"])[:1]:
    counts[key] = counts.get(key, 0) + max(1, 2)
joined = ", ".join(f"{key}={value}" for key, value in counts.items())
print(joined.split(","), joined.startswith("b"), joined.strip() in counts, range(3))
sorted(counts, key=lambda key: counts[key])
try:
    sum(counts.values())
except Exception as error:
    print(str(error))
""",
    """\
import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
async def one(number: int) -> list[int]:
    return [number]
async def each(do: Callable[[int], Awaitable[Any]], numbers: Iterable[int]) -> list[list[int]]:
    return await asyncio.gather(*[one(number) for number in numbers])
await each(one, range(3))
""",
    """\
import json
import re
from collections import Counter, defaultdict
json.loads(json.dumps({"a": [1]}))
Counter(re.findall("a", "b")).most_common(1)
defaultdict(list)["a"].append(1)
""",
    """\
from datetime import datetime, timedelta
(datetime.fromisoformat("2026-07-28") - timedelta(days=1)).isoformat()
""",
)
"""In the order in which they are read; each is good by itself, its types fit, and none is run."""
