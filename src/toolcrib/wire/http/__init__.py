"""The HTTP side: Streamable HTTP of 2026-07-28 and of the handshake revisions at one address."""
