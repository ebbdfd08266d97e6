"""Servers that are connected when somebody enables them, and the tools that enable them."""
