"""What a model asks for, read: which tool, and with which arguments.

Models write names that are nearly right and arguments that are JSON inside of JSON; what can be
told from that is taken, and the rest is an error that the model can act on.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from toolcrib.context.providers.tool_names import legal_name
from toolcrib.context.schemas.argument_names import led_back
from toolcrib.context.schemas.profiles import ANTHROPIC, INLINED
from toolcrib.context.schemas.schema_copy import copy_schema
from toolcrib.context.schemas.strict import without_nulls
from toolcrib.core.jsontypes import JsonObject, described, is_object
from toolcrib.core.naming import near
from toolcrib.core.quoting import enumerated, quoted
from toolcrib.errors import BadArguments, ToolGone

_AMONG: Final = 10_000
"""Names that are searched for similar ones at most."""

_NAME: Final = 128


class AskedNames:
    """Leads the names that a model may write back to exposed ones."""

    def __init__(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        """Know tools and meta-tools by exposed name."""
        self._definitions = definitions
        self._legal = {legal: name for name in definitions if (legal := legal_name(name)) != name}

    def find(self, name: str) -> tuple[str, Mapping[str, Any]]:
        """The exposed name and the definition of a tool.

        Raises:
            ToolGone: There is none of that name; it says which ones look like it. Or there are
                two: where original names are exposed, one can be what providers are told for
                another one.
        """
        exposed = name if name in self._definitions else self._legal.get(name, "")
        if self._legal.get(name, exposed) != exposed:
            raise ToolGone(
                f"The name {quoted(name, _NAME)} stands for two tools. Nothing was sent.",
                remedy="expose qualified names, or deny one of the tools",
            )
        if exposed:
            return exposed, self._definitions[exposed]
        similar = near(name, islice(self._definitions, _AMONG))
        hint = f"; similar names: {_names(similar)}" if similar else ""
        raise ToolGone(
            f"There is no tool {quoted(name, _NAME)}{hint}. Nothing was sent.",
            details={"near": list(similar)},
        )


def asked_arguments(
    name: str, definition: Mapping[str, Any], arguments: Mapping[str, Any] | str | None
) -> JsonObject:
    """The arguments as the tool takes them; none are the empty object, never null.

    Args:
        name: The tool, as exposed.
        definition: Its definition as it is now.
        arguments: As a model wrote them, or their JSON text.

    Raises:
        BadArguments: They are no object.
    """
    given = _parsed(name, arguments)
    schema = definition.get("inputSchema")
    if not given or not is_object(schema):
        return given
    members = schema.get("properties")
    known = members.keys() if is_object(members) else set[str]()
    if given.keys() - known:
        renamed = copy_schema(schema, ANTHROPIC).renamed
        given = led_back(given, renamed)
    if _holds_null(given):
        given = without_nulls(given, copy_schema(schema, INLINED).schema)
    return given


def _parsed(name: str, arguments: Mapping[str, Any] | str | None) -> JsonObject:
    found: object = arguments
    if isinstance(arguments, str):
        try:
            found = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError) as fault:
            raise BadArguments(
                f"The arguments of {quoted(name, _NAME)} are no JSON ({fault}), so the call was "
                "not sent. Send one JSON object."
            ) from None
    if arguments is None or found is None:
        return {}
    if not is_object(found):
        raise BadArguments(
            f"The arguments of {quoted(name, _NAME)} are {described(found)}, but must be an "
            "object, so the call was not sent."
        )
    return dict(found)


def _holds_null(value: object) -> bool:
    """Whether there is null anywhere in it, looked for without recursion."""
    stack: list[Any] = [value]
    while stack:
        one = stack.pop()
        if one is None:
            return True
        if isinstance(one, dict):
            stack += one.values()
        elif isinstance(one, list):
            stack += one
    return False


def _names(names: Iterable[str]) -> str:
    return enumerated(quoted(name, _NAME) for name in names)
