"""How a log line looks: `text` for people, `json` for programs; always one line, never a secret."""

import json
import logging
import re
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

from toolcrib.adapters.redaction import Redaction

LogFormat = Literal["text", "json"]

_PLAIN: Final = re.compile(r"[^\s\"=]+")
_NO_SECRETS: Final = Redaction(())


class LineFormatter(logging.Formatter):
    """Formats every record, ours and those of libraries, and blots what must not be seen."""

    def __init__(self, style: LogFormat, redact: Callable[[str], str] = _NO_SECRETS) -> None:
        super().__init__()
        self._form = style
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        level = record.levelname.lower()
        event = self._redact(record.getMessage())
        rest = self._rest(record)
        if self._form == "json":
            head = {"at": moment, "level": level, "logger": record.name, "event": event}
            return json.dumps(head | rest, separators=(",", ":"))
        words = [f"{key}={_as_text(value)}" for key, value in rest.items()]
        return " ".join([moment, f"{level.upper():<7}", _as_message(event), *words])

    def _rest(self, record: logging.LogRecord) -> dict[str, object]:
        """The fields of the record without those that say nothing, and its exception."""
        fields: Mapping[str, object] = getattr(record, "fields", {})
        rest = {
            key: self._redact(value) if isinstance(value, str) else value
            for key, value in fields.items()
            if value != ""
        }
        if record.exc_info:
            rest["exception"] = self._redact(self.formatException(record.exc_info))
        return rest


def start_logging(
    style: LogFormat,
    *,
    level: int = logging.INFO,
    stream: TextIO | None = None,
    redact: Callable[[str], str] = _NO_SECRETS,
) -> logging.Handler:
    """Sends all logs to one stream, in one form. Returns the handler, for whoever ends it.

    Args:
        style: how lines look.
        level: from which level on our own records are written; those of libraries from warning on.
        stream: where to; standard error, because standard output belongs to the protocol.
        redact: blots secrets out of every text.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(style, redact))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("toolcrib").setLevel(level)
    return handler


def _as_message(text: str) -> str:
    line = " ".join(text.split())
    return line if line.isprintable() else json.dumps(line)


def _as_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, str):
        return str(value)
    if value.isprintable() and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())
