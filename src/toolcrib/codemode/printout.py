"""What a program printed, as far as anybody will be shown it."""


class Printout:
    """Keeps the beginning of what is printed, and counts the rest.

    Args:
        most: Bytes that are kept.
        text: What was printed before.
        size: How many bytes that were in all.
    """

    def __init__(self, most: int, text: str = "", size: int = 0) -> None:
        self._most = most
        self._parts = [text]
        self._kept = len(text.encode("utf-8", "replace"))
        self.size = size
        """Bytes of everything that was printed."""

    def add(self, text: str) -> None:
        """Take a piece; pieces are kept whole until there is no room."""
        raw = text.encode("utf-8", "replace")
        self.size += len(raw)
        room = self._most - self._kept
        if room > 0:
            part = raw[:room]
            self._kept += len(part)
            self._parts.append(part.decode("utf-8", "ignore"))

    def miss(self, dropped: int) -> None:
        """So many characters were printed that never came here."""
        self.size += dropped

    @property
    def text(self) -> str:
        """What is kept."""
        return "".join(self._parts)
