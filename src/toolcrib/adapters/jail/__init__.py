"""Jails for programs of ours that run what others wrote: bubblewrap, where it works."""
