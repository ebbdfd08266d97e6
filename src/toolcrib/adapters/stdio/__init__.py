"""Servers that are processes of ours: pipes, noise, standard error, and the end of the group."""
