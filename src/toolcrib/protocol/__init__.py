"""MCP's words, still pure: eras, envelopes, list results as data, error translation."""
