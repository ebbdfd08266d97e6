"""Tool objects of model providers: one file for each API, and the rules it is held to."""
