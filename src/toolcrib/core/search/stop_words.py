"""Words that say nothing about which tool is meant."""

from typing import Final

_EVERYWHERE: Final = """
a about all also an and any are as at be been but by can could did do does for from had has have he
help her his how i if in into is it its just let like me more most my need no not of on or our
please she should so some than that the their them then there they this to us very want was we were
what when where which who will with would you your
"""
_IN_QUERIES: Final = """
dont give hello hey hi im ive know lets looking show tell thank thanks wondering
"""

STOP_WORDS: Final = frozenset(_EVERYWHERE.split())
"""In tools and in queries."""

CHATTER: Final = STOP_WORDS | frozenset(_IN_QUERIES.split())
"""In queries also what people say before they say what they want."""
