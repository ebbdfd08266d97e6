"""Servers behind a URL: Streamable HTTP and the old HTTP+SSE, with what HTTP itself says kept."""
