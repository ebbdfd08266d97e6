"""Decisions about catalogs, pure: no I/O, no clock, no randomness, standard library only."""
