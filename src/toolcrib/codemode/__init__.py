"""Code mode: programs of models, run in a sandbox, each of their calls checked like any other."""
