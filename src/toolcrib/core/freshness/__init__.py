"""The heart: what a store decides about one catalog, and what one replica does with it.

Two halves, both pure. `record` is the shared truth: epoch, fence, dirty count and generation live
in it, and each of its operations is one decision that a store carries out in one step. `replica`
is one process's part: `step(entry, event)` returns the next entry and the effects to carry out; it
asks, only the store decides. `walk` folds pages into a candidate; `need` says how long a reader
waits and what it gets meanwhile. `replica` opens with the theory and the order in which to read.
"""
