"""Whatever a definition is, its stubs are sound."""

import ast
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.core.jsontypes import is_object
from toolcrib.core.snapshot import Item
from toolcrib.core.stubs.reserved import TYPE_WORDS
from toolcrib.core.stubs.server_stubs import ServerStubs, server_stubs
from toolcrib.testing import hostile_json, odd_schemas

DEFINITIONS: st.SearchStrategy[Any] = hostile_json.often(
    (1, odd_schemas.DEFINITIONS), (1, hostile_json.DEFINITIONS)
)


def name_of(definition: dict[str, Any]) -> str:
    return str(definition.get("name"))


def item(definition: dict[str, Any]) -> Item:
    return Item(name_of(definition), definition, "", "")


def stubs(*items: Item) -> ServerStubs:
    return server_stubs("s", "s", items)


def defined(text: str) -> list[str]:
    """Names of a Python module, as often as they are defined."""
    names: list[str] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [it.id for it in node.targets if isinstance(it, ast.Name)]
        else:
            assert isinstance(node, ast.Expr | ast.ImportFrom)
    return names


@given(DEFINITIONS)
def test_any_definition_makes_a_module_that_compiles(definition: dict[str, Any]) -> None:
    it = stubs(item(definition))
    text = it.text("python")
    compile(text, "stub", "exec")
    assert text.isascii()
    assert it.text("typescript").isascii()
    names = defined(text)
    assert len(set(names)) == len(names)
    used = {
        node.id
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert used <= {*names, *TYPE_WORDS}


@given(DEFINITIONS)
def test_any_parameter_leads_back_to_its_own_key(definition: dict[str, Any]) -> None:
    [stub] = stubs(item(definition)).stubs.values()
    schema = definition["inputSchema"]
    properties = schema.get("properties") if is_object(schema) else None
    keys = set(properties if is_object(properties) else ())
    assert keys.isdisjoint(stub.renamed)
    assert len(set(stub.renamed.values())) == len(stub.renamed)


@given(st.lists(DEFINITIONS, max_size=4), DEFINITIONS)
def test_no_order_matters_and_another_tool_renames_none_that_had_its_name(
    definitions: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    items = list({name_of(definition): item(definition) for definition in definitions}.values())
    it = stubs(*items)
    assert stubs(*reversed(items)) == it
    assert len(it.stubs) == len(items)
    assert {stub.key for stub in it.stubs.values()} == {one.key for one in items}
    grown = stubs(item(more), *items)
    for name, stub in it.stubs.items():
        if name == stub.key:
            assert grown.stubs[name].key == name
    names = defined(grown.text("python"))
    assert len(set(names)) == len(names)
