"""The module `toolcrib` of programs: raw names, and what many calls at a time need.

`call` is answered from outside; the rest runs in the sandbox, in the language of the program.
"""

from typing import Final

PYTHON_DECLARATIONS: Final = """\
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypedDict

class Settled(TypedDict):
    ok: bool
    value: Any
    error: str

async def call(server: str, tool: str, args: Mapping[str, Any] = ...) -> Any: ...
async def try_call(awaitable: Awaitable[Any]) -> Settled: ...
async def gather_settled(*awaitables: Awaitable[Any]) -> list[Settled]: ...
async def map_limit(
    function: Callable[[Any], Awaitable[Any]], items: Iterable[Any], limit: int = ...
) -> list[Any]: ...
"""
"""What a type checker reads of it."""

PYTHON_SOURCE: Final = """\
import asyncio

async def try_call(awaitable):
    try:
        return {"ok": True, "value": await awaitable, "error": ""}
    except Exception as error:
        return {"ok": False, "value": None, "error": str(error)}

async def gather_settled(*awaitables):
    return list(await asyncio.gather(*[try_call(each) for each in awaitables]))

async def map_limit(function, items, limit=8):
    waiting = list(items)
    values = [None] * len(waiting)
    places = list(range(len(waiting)))
    places.reverse()

    async def work():
        while places:
            place = places.pop()
            values[place] = await function(waiting[place])

    workers = [work() for _ in range(max(1, min(limit, len(waiting))))]
    await asyncio.gather(*workers)
    return values
"""
"""Its functions that run inside."""

TYPESCRIPT_DECLARATIONS: Final = """\
export interface Settled<T> { ok: boolean; value: T | null; error: string }
export function call(server: string, tool: string, args?: Record<string, any>): Promise<any>;
export function tryCall<T>(promise: Promise<T>): Promise<Settled<T>>;
export function gatherSettled<T>(...promises: Promise<T>[]): Promise<Settled<T>[]>;
export function mapLimit<A, T>(
  fn: (item: A) => Promise<T>, items: Iterable<A>, limit?: number): Promise<T[]>;
"""
"""The same for TypeScript."""

TYPESCRIPT_SOURCE: Final = """\
export async function tryCall(promise) {
  try {
    return { ok: true, value: await promise, error: "" };
  } catch (error) {
    return { ok: false, value: null, error: String(error?.message ?? error) };
  }
}
export function gatherSettled(...promises) {
  return Promise.all(promises.map(tryCall));
}
export async function mapLimit(fn, items, limit = 8) {
  const waiting = [...items];
  const values = new Array(waiting.length).fill(null);
  let next = 0;
  const work = async () => {
    while (next < waiting.length) {
      const place = next++;
      values[place] = await fn(waiting[place]);
    }
  };
  const workers = Math.max(1, Math.min(limit, waiting.length));
  await Promise.all(Array.from({ length: workers }, work));
  return values;
}
"""
"""The same for TypeScript; plain JavaScript, as it runs."""
