"""The runs: which faults meet which, with two replicas where not said otherwise.

Together the quick ones hold every fault of `bounds`; the long ones let more of them meet.
"""

from dataclasses import replace

from toolcrib.testing.orders.bounds import BY_TTL, HURRIED, UNHURRIED, Bounds, Fault

_CHANGE = {Fault.CHANGE: 1}
_SERVING = replace(UNHURRIED, after_loss="serve")

QUICK: tuple[Bounds, ...] = (
    Bounds("a change", _CHANGE, late_pages=True),
    Bounds("two changes", {Fault.CHANGE: 2}, live=False),
    Bounds("a doubled signal", _CHANGE | {Fault.SPURIOUS: 1}, live=False),
    Bounds("an expired lease", _CHANGE | {Fault.EXPIRY: 1}),
    Bounds("the ttl over", _CHANGE | {Fault.TTL: 1}, BY_TTL, live=False),
    Bounds("a failing page", _CHANGE | {Fault.FAILING_PAGE: 1}, late_pages=True),
    Bounds("a refused cursor", _CHANGE | {Fault.REFUSED_CURSOR: 1}, late_pages=True),
    Bounds("a lost answer", _CHANGE | {Fault.LOST_ANSWER: 1}),
    Bounds("a late run", _CHANGE | {Fault.LATE_RUN: 1}),
    Bounds("a lost stream", {Fault.LOST_STREAM: 1}, late_pages=True),
    Bounds("a reconnect", {Fault.DISCONNECT: 1}, late_pages=True),
    Bounds("an empty store", _CHANGE | {Fault.LOSS: 1}),
    Bounds("an empty store, served", {Fault.LOSS: 1, Fault.TICK: 1}, _SERVING),
    Bounds("a fail-over", {Fault.TTL: 1, Fault.FAILOVER: 1}, BY_TTL),
    Bounds("a clock behind", _CHANGE | {Fault.FAILOVER: 1}, clock=False),
    Bounds("a split store", {Fault.SPLIT: 1, Fault.TTL: 1}, BY_TTL),
    Bounds("a revocation", _CHANGE | {Fault.REVOCATION: 1}, live=False),
    Bounds("a revocation of ours", _CHANGE | {Fault.REVOCATION: 1}, refuses=False, live=False),
    Bounds("a revocation and a fail-over", {Fault.REVOCATION: 1, Fault.FAILOVER: 1}),
    Bounds("a new right", {Fault.REVOCATION: 1, Fault.REGRANT: 1}),
    Bounds("a crash and a lost answer", {Fault.CRASH: 1, Fault.LOST_ANSWER: 1}),
    Bounds("a forced walk", _CHANGE | {Fault.FORCE: 1}, walks=3),
    Bounds("a cold start", cold=True),
    Bounds("a remote store", _CHANGE, remote=True),
    Bounds("with waits", _CHANGE | {Fault.TICK: 1}, HURRIED, walks=3),
    Bounds("alone, a storm", _CHANGE | {Fault.SPURIOUS: 3, Fault.TICK: 1}, alone=True),
    Bounds("alone, back to the first listing", {Fault.CHANGE: 2}, alone=True, contents=(0, 1, 0)),
    Bounds("alone, cold, two changes", {Fault.CHANGE: 2}, alone=True, cold=True, late_pages=True),
    Bounds(
        "alone, waits and signals",
        _CHANGE | {Fault.SPURIOUS: 1, Fault.TICK: 3},
        HURRIED,
        alone=True,
    ),
)
"""Each exhausted within seconds."""

LONG: tuple[Bounds, ...] = (
    Bounds("two changes, to the end", {Fault.CHANGE: 2}),
    Bounds("a doubled signal, to the end", _CHANGE | {Fault.SPURIOUS: 1}),
    Bounds("late pages and an expired lease", _CHANGE | {Fault.EXPIRY: 1}, late_pages=True),
    Bounds("back to the first listing", {Fault.CHANGE: 2}, contents=(0, 1, 0)),
    Bounds("the ttl over, to the end", _CHANGE | {Fault.TTL: 1}, BY_TTL),
    Bounds("a storm", {Fault.SPURIOUS: 3}, live=False),
    Bounds("a failing page, repeated", _CHANGE | {Fault.FAILING_PAGE: 1, Fault.TICK: 1}),
    Bounds("a change and a lost stream", _CHANGE | {Fault.LOST_STREAM: 1}),
    Bounds("a change and a reconnect", _CHANGE | {Fault.DISCONNECT: 1}, live=False),
    Bounds("a change and a crash", _CHANGE | {Fault.CRASH: 1}, live=False),
    Bounds("a cold start and a change", _CHANGE, cold=True, live=False),
    Bounds("an empty store, walked", _CHANGE | {Fault.LOSS: 1, Fault.TICK: 1}, live=False),
    Bounds("an empty store and a reconnect", {Fault.LOSS: 1, Fault.DISCONNECT: 1}, _SERVING),
    Bounds("a fail-over, walked", {Fault.TTL: 1, Fault.FAILOVER: 1, Fault.TICK: 1}, BY_TTL),
    Bounds("a fail-over to any standby", _CHANGE | {Fault.SYNC: 1, Fault.FAILOVER: 1}),
    Bounds(
        "a clock behind, walked",
        {Fault.TTL: 1, Fault.FAILOVER: 1, Fault.TICK: 1},
        BY_TTL,
        clock=False,
    ),
    Bounds("a split store and a change", _CHANGE | {Fault.SPLIT: 1}),
    Bounds("a split store, walked", {Fault.SPLIT: 1, Fault.TTL: 1, Fault.TICK: 1}, BY_TTL),
    Bounds("a revocation, to the end", _CHANGE | {Fault.REVOCATION: 1}),
    Bounds(
        "a revocation while walking", {Fault.REVOCATION: 1, Fault.TTL: 1, Fault.EXPIRY: 1}, BY_TTL
    ),
    Bounds("a revocation and an empty store", {Fault.REVOCATION: 1, Fault.LOSS: 1, Fault.TICK: 1}),
    Bounds(
        "a new right, and a lost answer",
        {Fault.REVOCATION: 1, Fault.REGRANT: 1, Fault.LOST_ANSWER: 1},
    ),
    Bounds("a remote store and its ttl", _CHANGE | {Fault.TTL: 1}, BY_TTL, remote=True, live=False),
)
"""Minutes each, and gigabytes some of them."""
