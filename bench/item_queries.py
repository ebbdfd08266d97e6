"""What is asked for known tools of a catalog: their names, said in another way.

Any tool of the whole catalog whose name says the same serves: the plural of one is often the name
of another. Which tools are asked for depends on the known ones alone, so that a larger catalog is
asked the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from item_names import NOUNS, VERBS, camel_case, gerund, key_of, plural, words_of
from planted_items import Planted
from toolcrib.discovery.evaluation.tasks import DataSet, KnownTool, Task

AS_THEY_ARE = ("plural", "gerund", "snake_case", "synonym", "digits", "services", "chinese")
WITHOUT_DESCRIPTIONS = ("camelCase", "english")
KINDS = (*AS_THEY_ARE, *WITHOUT_DESCRIPTIONS)

Said = Callable[[Sequence[str]], str]


def said_in_plural(words: Sequence[str]) -> str:
    """ "get files" of `get_file`."""
    *first, last = words
    return " ".join((*first, many)) if (many := plural(last)) else ""


def said_as_gerund(words: Sequence[str]) -> str:
    """ "getting file" of `get_file`."""
    verb, *others = words
    return " ".join((gerund(verb), *others)) if verb in VERBS else ""


def said_in_other_words(words: Sequence[str]) -> str:
    """ "fetch document" of `get_file`: its verb and at least one of its nouns said otherwise."""
    verb, *others = words
    if verb not in VERBS or not NOUNS.keys() & set(others):
        return ""
    return " ".join((VERBS[verb], *(NOUNS.get(word, word) for word in others)))


def asked_as_they_are(known: DataSet, catalog: DataSet, each: int) -> Iterator[Task]:
    """At most so many of each kind, from the names of the known tools."""
    snaked = [tool for tool in known.tools if "_" in tool.name]
    whole = _alike(catalog.tools)
    yield from _asked("plural", known.tools, said_in_plural, whole, each)
    yield from _asked("gerund", known.tools, said_as_gerund, whole, each)
    yield from _asked("snake_case", snaked, " ".join, whole, each)
    yield from _asked("synonym", known.tools, said_in_other_words, whole, each)


def asked_in_words(known: DataSet, catalog: DataSet, each: int) -> Iterator[Task]:
    """Names without descriptions, said in words."""
    yield from _asked("camelCase", known.tools, " ".join, _alike(catalog.tools), each)


def asked_for_planted(planted: Iterable[Planted], catalog: DataSet) -> Iterator[Task]:
    """Every planted tool; of some kinds a tool of the catalog serves as well, if its name says it.

    Of acronyms with digits that is a name which has it, of the two languages one which has all
    words of what is asked in English.
    """
    whole = _alike(catalog.tools)
    for n, it in enumerate(planted):
        needed = {it.tool.id}
        if it.kind == "digits":
            needed |= {one.id for one in catalog.tools if it.query in one.name.lower()}
        if it.english:
            words = set(key_of(it.english))
            needed.update(*(ids for said, ids in whole.items() if words <= set(said)))
        yield Task(f"{it.kind} {n}", it.query, (frozenset(needed),))


def undescribed(known: DataSet) -> DataSet:
    """The same tools with names in camelCase and without any description."""
    taken = {(tool.server, tool.name) for tool in known.tools}
    tools: list[KnownTool] = []
    for tool in known.tools:
        words = words_of(tool.name)
        name = camel_case(words) if words else tool.name
        if (tool.server, name) in taken:
            name = tool.name
        taken.add((tool.server, name))
        bare = {"name": name, "inputSchema": _bare(tool.definition["inputSchema"])}
        tools.append(replace(tool, name=name, definition=bare, server_description=""))
    return replace(known, tools=tuple(tools))


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The names of the parameters."""
    return {"type": "object", "properties": {name: {} for name in schema.get("properties", {})}}


def _alike(tools: Iterable[KnownTool]) -> Mapping[tuple[str, ...], set[str]]:
    """The ids of tools by what their names say."""
    found: dict[tuple[str, ...], set[str]] = {}
    for tool in tools:
        found.setdefault(key_of(tool.name), set()).add(tool.id)
    return found


def _asked(
    kind: str,
    tools: Iterable[KnownTool],
    said: Said,
    whole: Mapping[tuple[str, ...], set[str]],
    each: int,
) -> Iterator[Task]:
    """A query for each name of two words or more, each name once, spread evenly over the tools."""
    queries: dict[tuple[str, ...], str] = {}
    for tool in tools:
        words = words_of(tool.name)
        if len(words) > 1 and tool.name.isascii() and (query := said(words)):
            queries.setdefault(key_of(tool.name), query)
    step = max(1, len(queries) // each)
    for n, (key, query) in enumerate([*queries.items()][::step][:each]):
        yield Task(f"{kind} {n}", query, (frozenset(whole[key]),))
