"""Copies of tool schemas, as model providers take them; what a tool declared is never changed."""
