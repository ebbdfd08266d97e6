"""`${…}` in configured values: replaced wholly or refused; a literal `${…}` never goes anywhere.

- `${NAME}`, `${env:NAME}`: the environment variable; it must be set and not be empty.
- `${NAME:-text}`, `${env:NAME:-text}`: the variable, or `text` where it is unset or empty; what is
  in `text` is replaced too.
- `${input:id}`: the environment variable `TOOLCRIB_INPUT_ID` (upper case, with `_` for every other
  character). An input is a question that an editor asks a person; nobody can be asked here.
- `${workspaceFolder}`: the folder of the file; of a file in `.vscode` or `.cursor`, the one above.
  `${workspaceFolderBasename}`: its name.
- `${userHome}`, `${pathSeparator}`, `${/}`: the home directory, and the separator of paths.
- `{env:NAME}`: as `${env:NAME}`, in files of the `mcp` form only.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_REFERENCE: Final = re.compile(r"(?:([A-Za-z]+):(?!-))?([^:]*)(?::-(.*))?", re.DOTALL)
_VARIABLE: Final = re.compile(r"[A-Za-z_][\w.()]*", re.ASCII)
_OPENING: Final = re.compile(r"\$\{")
_BARE_OPENING: Final = re.compile(r"\$\{|\{(?=env:|file:)")
_DEEPEST: Final = 10
"""How many references one default may hold."""
_FORMS: Final = "write ${NAME}, ${NAME:-default}, ${env:NAME}, ${workspaceFolder} or ${userHome}"


class Unresolved(Exception):
    """A reference that cannot be replaced; names variables, never values."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Scope:
    """What the references of one file may refer to."""

    env: Mapping[str, str] = field(repr=False)
    workspace: str
    """The folder that `${workspaceFolder}` stands for."""
    home: str
    bare: bool = False
    """Whether `{env:NAME}` without a dollar is a reference too."""


def input_variable(input_id: str) -> str:
    """The environment variable that answers `${input:id}`."""
    return "TOOLCRIB_INPUT_" + re.sub(r"[^A-Z0-9]", "_", input_id.upper())


def expand(text: str, scope: Scope, *, may_vanish: bool) -> str:
    """The text with every reference replaced.

    Args:
        text: what the file says.
        scope: what references may refer to.
        may_vanish: whether a reference may become nothing, by an empty default. Not where a
            credential is sent.

    Raises:
        Unresolved: one cannot be replaced, or may not become nothing.
    """
    opening = _BARE_OPENING if scope.bare else _OPENING
    parts: list[str] = []
    at = 0
    while found := opening.search(text, at):
        end = _closing(text, found.end())
        parts.append(text[at : found.start()])
        parts.append(_resolved(text[found.end() : end], scope, may_vanish=may_vanish))
        at = end + 1
    parts.append(text[at:])
    return "".join(parts)


def _closing(text: str, at: int) -> int:
    """Where the brace closes that was opened just before `at`, inner references stepped over."""
    depth = 1
    while at < len(text):
        if text.startswith("${", at):
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    raise Unresolved("has a ${ that is never closed", "close it with }")


def _resolved(inner: str, scope: Scope, *, may_vanish: bool) -> str:
    reference = _REFERENCE.fullmatch(inner)
    if reference is None or inner.count("${") > _DEEPEST:
        raise Unresolved("has a ${…} that is not understood", _FORMS)
    prefix, name, default = reference.groups()
    known = _places(scope).get(name) if prefix is None else None
    if known is not None:
        return known
    variable, what = _variable(prefix, name)
    value = scope.env.get(variable, "")
    if value:
        return value
    if default is None:
        state = "is empty" if variable in scope.env else "is not set"
        raise Unresolved(
            f"needs {what}, which {state}",
            f"set {variable} where toolcrib is started"
            + ("" if prefix == "input" else f", or write ${{{variable}:-default}}"),
        )
    value = expand(default, scope, may_vanish=may_vanish)
    if not value and not may_vanish:
        raise Unresolved(
            f"needs {what}, which is not set and has an empty default",
            f"set {variable}: an empty credential is never sent",
        )
    return value


def _places(scope: Scope) -> dict[str, str]:
    folder = scope.workspace
    return {
        "workspaceFolder": folder,
        "workspaceFolderBasename": os.path.basename(folder),  # noqa: PTH119 - text in, text out
        "userHome": scope.home,
        "pathSeparator": os.sep,
        "/": os.sep,
    }


def _variable(prefix: str | None, name: str) -> tuple[str, str]:
    """The environment variable behind a reference, and how messages call it."""
    if prefix == "input" and name:
        variable = input_variable(name)
        return variable, f"the answer to ${{input:{name}}} in the environment variable {variable}"
    if prefix in {None, "env"} and _VARIABLE.fullmatch(name):
        return name, f"the environment variable {name}"
    if prefix not in {None, "env", "input"}:
        raise Unresolved(f"uses ${{{prefix}:…}}, which toolcrib cannot resolve", _FORMS)
    raise Unresolved("has a ${…} that is not understood", _FORMS)
