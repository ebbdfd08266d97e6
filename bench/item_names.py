"""Names of tools as words, and words as somebody might say them instead."""

import re
from collections.abc import Sequence

_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ODD_GERUNDS = {
    "get": "getting",
    "run": "running",
    "set": "setting",
    "stop": "stopping",
    "submit": "submitting",
}
_NEVER_PLURAL = frozenset(
    {"content", "csv", "data", "getter", "history", "html", "info"}
) | frozenset({"json", "markdown", "metadata", "news", "pdf", "png", "text"})

VERBS = {
    "add": "insert",
    "analyze": "examine",
    "apply": "use",
    "approve": "accept",
    "build": "make",
    "calculate": "compute",
    "check": "verify",
    "clear": "wipe",
    "close": "shut",
    "convert": "transform",
    "copy": "duplicate",
    "create": "make",
    "delete": "remove",
    "describe": "explain",
    "download": "save",
    "edit": "modify",
    "evaluate": "assess",
    "execute": "run",
    "export": "download",
    "extract": "pull out",
    "fetch": "retrieve",
    "find": "look for",
    "format": "lay out",
    "generate": "produce",
    "get": "fetch",
    "insert": "put in",
    "kill": "terminate",
    "list": "show",
    "load": "read",
    "manage": "administer",
    "move": "relocate",
    "navigate": "browse",
    "open": "launch",
    "read": "load",
    "recommend": "suggest",
    "remove": "delete",
    "run": "execute",
    "save": "store",
    "search": "look up",
    "send": "deliver",
    "set": "change",
    "start": "begin",
    "stop": "end",
    "submit": "hand in",
    "summarize": "sum up",
    "switch": "change",
    "update": "modify",
    "upload": "send",
    "validate": "check",
    "write": "save",
}
"""First words of names that say what is done, and another way to say so."""

NOUNS = {
    "article": "essay",
    "board": "panel",
    "branch": "line of development",
    "chart": "graph",
    "city": "town",
    "comment": "remark",
    "completion": "finish",
    "component": "widget",
    "container": "docker box",
    "date": "day",
    "directory": "folder",
    "document": "doc",
    "file": "document",
    "history": "past",
    "image": "picture",
    "info": "details",
    "lyrics": "words of a song",
    "map": "plan",
    "note": "memo",
    "paper": "publication",
    "picture": "photo",
    "price": "cost",
    "problem": "exercise",
    "process": "program",
    "project": "workspace",
    "recipe": "cooking instruction",
    "relation": "relationship",
    "screenshot": "screen capture",
    "slide": "page of a presentation",
    "station": "stop",
    "table": "grid",
    "task": "todo",
    "template": "pattern",
    "ticket": "booking",
    "url": "link",
    "user": "member",
    "version": "release",
    "video": "clip",
    "weather": "forecast",
    "website": "site",
}


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: by its underscores, its capitals and its digits."""
    return tuple(word.lower() for word in _WORD.findall(name))


def key_of(name: str) -> tuple[str, ...]:
    """What two names share that say the same but for plurals and the way they are written."""
    return tuple(map(singular, words_of(name)))


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def plural(word: str) -> str:
    """Several of it; "" where the word has no plural, or is one."""
    if len(word) < 3 or not word.isalpha() or word in _NEVER_PLURAL or word in VERBS:
        return ""
    if word.endswith("s"):
        return ""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "ch", "sh")) else "s")


def gerund(verb: str) -> str:
    """Doing it."""
    if verb in _ODD_GERUNDS:
        return _ODD_GERUNDS[verb]
    return verb.removesuffix("e") + "ing"


def camel_case(words: Sequence[str]) -> str:
    first, *others = words
    return first + "".join(map(str.capitalize, others))
