"""Tokens for servers that want OAuth (MCP 2026-07-28, authorization), with the SDK's flows."""
