"""Deno, a full JavaScript and TypeScript, in a jail: the runtime of programs in TypeScript.

`runner/` is what runs inside. Nothing of Deno's own permissions is relied on: they are all denied,
and the jail holds nothing that would be worth having.
"""
