"""A small model chooses among the first hits of a search."""
