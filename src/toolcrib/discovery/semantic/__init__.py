"""Search by meaning: which text of a tool is embedded, vectors kept up to date, hybrid ranking."""
