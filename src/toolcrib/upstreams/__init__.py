"""Supervision of connections: when to connect, when to try again, which connection serves whom."""
