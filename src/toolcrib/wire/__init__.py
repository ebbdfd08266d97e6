"""Our side as an MCP server, in both eras; used by the gateway."""
