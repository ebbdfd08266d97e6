"""What the names of a program mean, as far as its text alone says so.

Scopes are not told apart: a name that is bound twice anywhere, or otherwise than by an import, may
be anything, and nothing is said of it.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from typing import Final

BUILTINS: Final = "builtins"
_OURS: Final = frozenset(dir(builtins))
_FUNCTIONS: Final = ast.FunctionDef | ast.AsyncFunctionDef


class Names:
    """The names of one program.

    Args:
        nodes: All of it.
    """

    def __init__(self, nodes: list[ast.AST]) -> None:
        self._bound: Counter[str] = Counter()
        self._imported: dict[str, str] = {}
        self._values: dict[str, ast.expr] = {}
        self._functions: set[str] = set()
        self._members: set[str] = set()
        self._texts: set[str] = set()
        """Words of texts, which may be names of members where the program names some in texts."""
        self._names_members = False
        self._any_member = False
        self.catches_exit = False
        """Whether it catches more than errors, and so `SystemExit`."""
        for node in nodes:
            self._bound.update(_binds(node))
            self._take(node)

    def path(self, node: ast.AST) -> str:
        """`json.dumps`, `builtins.str.upper`; empty: it may be any value, or its member.

        Of what may be a module or what was imported from one, a question mark stands before.
        """
        members: list[str] = []
        while isinstance(node, ast.Attribute):
            members.append(node.attr)
            node = node.value
        root = self._root(node.id) if isinstance(node, ast.Name) else ""
        return ".".join([root, *reversed(members)]) if root else ""

    def value(self, node: ast.AST) -> ast.AST:
        """What is assigned to a name that is bound once; of everything else, itself."""
        if isinstance(node, ast.Name) and self._bound[node.id] == 1:
            return self._values.get(node.id, node)
        return node

    def function(self, node: ast.AST) -> bool:
        """Whether something can only be a function that the program defines."""
        node = self.value(node)
        if isinstance(node, ast.Name):
            return node.id in self._functions and self._bound[node.id] == 1
        return isinstance(node, ast.Lambda)

    def gives(self, member: str) -> bool:
        """Whether an object that the program makes may have a member of that name."""
        named = self._names_members and member in self._texts
        return self._any_member or named or member in self._members

    def _root(self, name: str) -> str:
        if not self._bound[name]:
            return f"{BUILTINS}.{name}" if name in _OURS else ""
        path = self._imported.get(name, "")
        return path if self._bound[name] == 1 or not path else "?"

    def _take(self, node: ast.AST) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self._take_import(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._values[name] = value
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._functions.add(node.name)
            case ast.ClassDef(body=body):
                self._members.update(name for each in body for name in _defined(each))
            case ast.ExceptHandler(type=caught):
                said = "BaseException" if caught is None else ast.unparse(caught)
                self.catches_exit |= "SystemExit" in said or "BaseException" in said
            case _:
                self._take_member(node)

    def _take_import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if isinstance(node, ast.Import):
                self._import(alias.asname or top, alias.name if alias.asname else top)
            elif node.module is not None and not node.level:
                self._import(alias.asname or alias.name, f"{node.module}.{alias.name}")

    def _take_member(self, node: ast.AST) -> None:
        """What gives objects of the program members, beside its classes."""
        match node:
            case ast.Attribute(ctx=ast.Store() | ast.Del(), attr=attr):
                self._members.add(attr)
            case ast.Constant(value=str(text)):
                self._texts.update(text.replace(",", " ").split())
            case ast.Name(id="namedtuple") | ast.Attribute(attr="namedtuple"):
                self._names_members = True
            case ast.Name(id="setattr"):
                self._any_member = True
            case _:
                pass

    def _import(self, name: str, path: str) -> None:
        if self._imported.get(name) == path:
            self._bound[name] -= 1  # the same once more
        self._imported[name] = path


def unannotated(tree: ast.AST) -> list[ast.AST]:
    """All of a program but its annotations, which this Python does not look at."""
    found: list[ast.AST] = []
    level: list[ast.AST] = [tree]
    while level:
        found += level
        level = [child for node in level for child in _children(node)]
    return found


def _children(node: ast.AST) -> Iterator[ast.AST]:
    left: list[ast.AST | None] = []
    match node:
        case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation):
            left.append(annotation)
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            left.append(returns)
        case _:
            pass
    return (child for child in ast.iter_child_nodes(node) if child not in left)


def _binds(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return list(names)
        case _:
            return []


def _defined(node: ast.AST) -> list[str]:
    """Members that a statement in the body of a class defines."""
    if isinstance(node, _FUNCTIONS | ast.ClassDef):
        return [getattr(node, "name", "")]
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
