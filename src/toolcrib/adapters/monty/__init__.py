"""Monty, a small Python in a process of its own: the runtime of programs written in Python.

`pydantic_monty` is imported where a program first needs it, and in this package alone.
"""
