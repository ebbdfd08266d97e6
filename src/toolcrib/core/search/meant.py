"""What of a tool and of a query is embedded: the texts whose meaning stands for them."""

import re
from dataclasses import dataclass
from typing import Final

from toolcrib.core.search.fields import tool_texts
from toolcrib.core.snapshot import Item

_MOST_DESCRIPTION: Final = 1_000
_MOST_PARAMETERS: Final = 200
"""Characters: what a tool is for stands at the beginning, and time grows with the length."""
_WITHIN: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
    r"|[_\-./\s]+"
)

_FILE: Final = re.compile(
    r"(?<![\w:/.~])(?:~|\.{1,2})?(?:/[\w.\-]+){2,}/?"
    r"|(?<![\w/.])[\w\-]+\.(?:txt|md|csv|xlsx?|docx?|pdf|json|bib|pptx?|png|jpe?g|html|py|xml|ya?ml|log)\b",
    re.ASCII,
)
"""A path, or the name of a file, in a query."""


@dataclass(frozen=True, slots=True)
class Meant:
    """The two texts of one tool."""

    whole: str
    """Server, name, description and parameter names, as words."""
    name: str
    """The name as words."""


def meant_by(server: str, item: Item) -> Meant:
    """The texts of a tool; equal for equal definitions, whatever else its catalog holds.

    Args:
        server: What its server is called: a title, or an id.
        item: The tool.
    """
    texts = tool_texts(item)
    name = spoken(texts.name)
    title = spoken(texts.title)
    if title and title.casefold() != name.casefold():
        name = f"{name} {title}"
    parameters = spoken(texts.parameters)[:_MOST_PARAMETERS]
    called = spoken(server)
    # A server of one tool is often called as the tool is: once is enough.
    first = name if called.casefold() == name.casefold() else f"{called}: {name}"
    whole = f"{first}. {texts.description[:_MOST_DESCRIPTION]} {parameters}"
    return Meant(whole.strip(), name)


def spoken(identifier: str) -> str:
    """An identifier as separate words: `getPullRequest_v2` becomes `get Pull Request v 2`."""
    return " ".join(_WITHIN.sub(" ", identifier).split())


def asked(query: str) -> str:
    """What of a query is embedded: all of it, but for each path or name of a file "file".

    What a file is called says little of what is to be done with it, and leads a model astray: the
    query is taken to be about whatever the file is named after.
    """
    return _FILE.sub(" file ", query)
