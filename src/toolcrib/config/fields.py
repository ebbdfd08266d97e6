"""The texts of one server entry, their `${…}` replaced; what is unusable is reported by path."""

from collections.abc import Mapping

from toolcrib.config.document import Node
from toolcrib.config.expansion import Scope, Unresolved, expand
from toolcrib.config.problem import Report
from toolcrib.config.typed import kind_of


class Fields:
    """Reads the members of one entry. Never puts a value into a report, only where it stands."""

    def __init__(self, node: Node, scope: Scope, report: Report) -> None:
        self.node = node
        self.given = {key: it for key, it in node.table.items() if it.value is not None}
        """The members that say something: null is the same as leaving out."""
        self.report = report
        self.scope = scope
        """What references in them may refer to."""

    def named(self, *keys: str) -> list[str]:
        """Those of the keys that are given."""
        return [key for key in keys if key in self.given]

    def text(self, node: Node, *, may_vanish: bool = True) -> str | None:
        """A text, or a number or truth value as JSON writes it; else it is reported, and None."""
        value = node.value
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int | float):
            return str(value)
        if not isinstance(value, str):
            self.report.error(node, f"is {kind_of(node)}, not a text", "write it in double quotes")
            return None
        try:
            found = expand(value, self.scope, may_vanish=may_vanish)
        except Unresolved as problem:
            self.report.error(node, problem.message, problem.remedy)
            return None
        return found if self._is_sendable(node, found) else None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; nothing where the key is not given."""
        node = self.given.get(key)
        if node is None:
            return ()
        if not isinstance(node.value, list):
            remedy = 'write each word as its own text: ["-y", "package"]'
            self.report.error(node, f"is {kind_of(node)}, not a list", remedy)
            return ()
        found = [self.text(member) for member in node.value]
        return tuple(member for member in found if member is not None)

    def mapping(self, key: str, *, may_vanish: bool = True) -> Mapping[str, tuple[Node, str]]:
        """An object of texts, each with where it stands; nothing where the key is not given."""
        node = self.given.get(key)
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            remedy = 'write names and texts: {"NAME": "text"}'
            self.report.error(node, f"is {kind_of(node)}, not an object", remedy)
            return {}
        found: dict[str, tuple[Node, str]] = {}
        for name, member in node.value.items():
            text = self.text(member, may_vanish=may_vanish)
            if text is not None:
                found[name] = (member, text)
        return found

    def _is_sendable(self, node: Node, text: str) -> bool:
        if "\0" in text:
            self.report.error(node, "holds a NUL character", r"remove the \u0000")
            return False
        if any("\ud800" <= character <= "\udfff" for character in text):
            self.report.error(node, "holds something that is not Unicode text", "write it as UTF-8")
            return False
        return True
