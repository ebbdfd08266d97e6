"""Every order of events over the real heart: what the explorer of `testing.explorer` walks through.

Two replicas (`replica`: one `Entry` and what is on its way to it), one record behind the pure
operations (`shared`), a server whose state is a number, and time that moves only as an action.
`world` puts them together and says what may happen next, within `bounds`; `promises` are the
sentences that must hold in each state; `calm` is what happens once faults have ceased.
"""
