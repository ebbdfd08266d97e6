"""Every order of events over the heart: the runs of `toolcrib.testing.orders`, by name.

Without names all quick runs; with `--long` the long ones, minutes each, some of them gigabytes.
"""

import argparse
import sys

from toolcrib.testing.orders.examined import examine
from toolcrib.testing.orders.runs import LONG, QUICK


def main() -> int:
    """Explores run after run; stops at the first promise that is broken, and tells the story."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="runs whose names contain one of these")
    parser.add_argument("--long", action="store_true", help="the long runs instead")
    parser.add_argument("--most", type=int, help="stop a run after so many states")
    options = parser.parse_args()
    states = turns = 0
    for bounds in LONG if options.long else QUICK:
        if options.names and not any(name in bounds.name for name in options.names):
            continue
        examined = examine(bounds, most=options.most)
        print(examined, flush=True)
        states += examined.explored.states
        turns += examined.explored.edges
        if examined.broken:
            print("\n".join(f"  {what}" for what in examined.story))
            return 1
    print(f"{states:,} states, {turns:,} turns")
    return 0


if __name__ == "__main__":
    sys.exit(main())
