"""The schemas of a tool: what makes them unusable, and what little is repaired.

MCP 2026-07-28, tools: an input schema is an object schema with `"type": "object"` at its root.
Arguments are always an object, so a root that merely forgot to say so is completed; nothing else
is guessed.
"""

from toolcrib.core.canonical import canonical
from toolcrib.core.draft import Draft, Reason, Refusal
from toolcrib.core.jsontypes import JsonObject, described, is_array, is_object
from toolcrib.core.metaschema import is_known_dialect, schema_fault
from toolcrib.core.mirrored import ANNOTATION, mirror_fault
from toolcrib.core.quoting import literal
from toolcrib.core.refs import reference_notes

_NO_PARAMETERS = 'a tool without parameters has {"type": "object"}'
_HEADER_MARK = f'"{ANNOTATION}"'.encode()
_REFERENCE_MARKS = (b'Ref":', b'"$ref":')


def refuse_tool(draft: Draft, *, header_rules: bool) -> Refusal | None:
    """Check and repair both schemas of a tool; why it cannot be used, or None.

    Args:
        draft: The tool; repairs and notes go into it.
        header_rules: Whether the revision has `x-mcp-header`, so that a wrong one refuses the tool.
    """
    refusal = _refuse_input_root(draft) or _refuse_schema(
        draft, "inputSchema", "invalid_input_schema"
    )
    if refusal is not None:
        return refusal
    if "outputSchema" in draft.definition:
        if draft.definition["outputSchema"] is None:
            draft.drop("outputSchema", "which stands for no schema")
        else:
            refusal = _refuse_output(draft)
    if refusal is None and header_rules and _HEADER_MARK in draft.text:
        fault = mirror_fault(draft.definition["inputSchema"])
        if fault is not None:
            return Refusal("invalid_header_annotation", f"in inputSchema, {fault}")
    return refusal


def _refuse_input_root(draft: Draft) -> Refusal | None:
    schema = draft.definition.get("inputSchema")
    if schema is None:
        how = "null" if "inputSchema" in draft.definition else "missing"
        return Refusal("no_input_schema", f"inputSchema is {how}; {_NO_PARAMETERS}")
    if not is_object(schema):
        found = described(schema)
        return Refusal("input_schema_not_an_object", f"inputSchema is {found}; {_NO_PARAMETERS}")
    return _complete_root_type(draft, schema)


def _complete_root_type(draft: Draft, schema: JsonObject) -> Refusal | None:
    kind = schema.get("type")
    if kind == "object":
        return None
    completed = {"type": "object", **{k: v for k, v in schema.items() if k != "type"}}
    if not schema:
        draft.put("inputSchema", completed, 'empty inputSchema repaired to {"type": "object"}')
    elif "type" not in schema:
        draft.put("inputSchema", completed, 'inputSchema completed with "type": "object"')
    elif is_array(kind) and "object" in kind:
        note = f'inputSchema type {literal(kind)} narrowed to "object": arguments are one'
        draft.put("inputSchema", completed, note)
    else:
        wrong = f"the root of inputSchema has type {literal(kind)}, but arguments are an object"
        return Refusal("wrong_root_type", wrong)
    return None


def _refuse_output(draft: Draft) -> Refusal | None:
    schema = draft.definition["outputSchema"]
    if not is_object(schema):
        found = described(schema)
        return Refusal("invalid_output_schema", f"outputSchema is {found}, but must be an object")
    return _refuse_schema(draft, "outputSchema", "invalid_output_schema")


def _refuse_schema(draft: Draft, member: str, reason: Reason) -> Refusal | None:
    """Check the structure and size of one schema, and note what is odd about its references."""
    schema = draft.definition[member]
    limit = draft.bounds.schema_bytes
    if len(draft.text) > limit and (size := len(canonical(schema))) > limit:
        detail = f"{member} is {size:,} bytes long, more than {limit:,} (limit schema_bytes)"
        return Refusal("too_large", detail)
    fault = schema_fault(schema)
    if fault is not None:
        return Refusal(reason, f"{member} is no JSON Schema: {fault}")
    if not is_known_dialect(schema):
        draft.notes.append(f"{member} declares the unknown dialect {literal(schema['$schema'])}")
    if any(mark in draft.text for mark in _REFERENCE_MARKS):
        draft.notes += [f"{member} has {note}" for note in reference_notes(schema)]
    return None
