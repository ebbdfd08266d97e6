"""`toolcrib run`: one program that calls tools."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from toolcrib.calls.call import Requester
from toolcrib.cli.absent import is_away, tell_absent
from toolcrib.cli.asking import AskingTerminal, asking_on
from toolcrib.cli.exits import Exit, UsageError
from toolcrib.cli.opening import Source, StoreAlarm, opened, reach, servers_of
from toolcrib.cli.output import Output, warning_view
from toolcrib.cli.program_view import CallLines, ran_view, summary
from toolcrib.core.snapshot import Kind
from toolcrib.errors import ConfirmationNeeded, ScriptFailed
from toolcrib.settings import Language

STDIN: Final = "-"
_MOST: Final = 16 * 1024 * 1024
"""Characters of a file that are read: some never end."""
_TYPESCRIPT: Final = frozenset({".ts", ".mts"})


_FILE: Final = re.compile(r"^script\.(?:py|ts):(?=\d)", re.MULTILINE)
"""What a program is called in what is found before it runs."""


@dataclass(frozen=True, slots=True)
class Script:
    """A program of a command."""

    path: str
    """`-`: it comes from standard input."""
    language: Language

    @classmethod
    def of(cls, path: str, language: Language | None) -> "Script":
        """A script whose language is named, or told by the end of its name."""
        ending: Language = "typescript" if Path(path).suffix in _TYPESCRIPT else "python"
        return cls(path, language or ending)

    def read(self, stdin: TextIO) -> str:
        """Its text.

        Raises:
            UsageError: It cannot be read.
        """
        try:
            if self.path == STDIN:
                text = stdin.read(_MOST + 1)
            else:
                with Path(self.path).open(encoding="utf-8-sig") as file:
                    text = file.read(_MOST + 1)
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{self.path} is no text in UTF-8: byte {error.start}") from error
        if len(text) > _MOST:
            raise UsageError(f"{self.path} is no program: it has more than {_MOST:,} characters")
        return text


async def run(source: Source, output: Output, script: Script) -> Exit:
    """Runs the program over the configured servers, and shows what it brought.

    Whoever sits at the terminal is asked what policy or a server wants to know.
    """
    text = script.read(sys.stdin)
    lines = CallLines(output, StoreAlarm(output).note)
    requester = _requester(asking_on(output, sys.stdin, sys.stderr), lines)
    async with opened(source, output, lines) as open_:
        with output.progress(f"waiting for {servers_of(open_)}"):
            await reach(open_, source)
        catalogs = open_.crib.catalogs()
        tools = [catalogs.peek(server, Kind.TOOLS) for server in catalogs.server_ids()]
        tell_absent(open_, output, [it for it in tools if is_away(open_, source, it.server)])
        try:
            with output.progress(f"running {script.path}"):
                ran = await open_.crib.run(text, language=script.language, requester=requester)
        except ScriptFailed as failed:
            own = _in_own_file(failed, script)
            raise _with_own_remedy(own, asked=not output.as_json) from None
        if not output.as_json:
            output.complain(summary(ran))
        if (most := len(ran.printed.encode())) < ran.printed_bytes:
            shown = f"it printed {ran.printed_bytes:,} bytes; the first {most:,} are kept"
            output.complain(warning_view(f"{shown} (code.print_bytes)"))
        for remark in ran.remarks:
            output.complain(warning_view(remark))
        output.show(ran_view(ran))
        return Exit.FINE


def _requester(asking: AskingTerminal, lines: CallLines) -> Requester:
    ask = asking.ask
    if ask is None:
        return Requester()

    async def asked(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        with lines.person():
            return await ask(method, params)

    return Requester(ask=asked, capabilities=asking.capabilities)


def _in_own_file(failed: ScriptFailed, script: Script) -> ScriptFailed:
    """The error of a program that was not run, with the name of its file: models know none."""
    if script.path == STDIN or failed.details.get("executed", True):
        return failed
    message = _FILE.sub(lambda _: f"{script.path}:", failed.message)
    return ScriptFailed(message, remedy=failed.remedy, details=failed.details)


def _with_own_remedy(failed: ScriptFailed, *, asked: bool) -> ScriptFailed:
    """The error, with what whoever gave the command can do about a question besides."""
    if f"{ConfirmationNeeded.code}: " not in failed.message:
        return failed
    how = "or run it with --yes"
    if asked:
        how += ", or from a file at a terminal, where you are asked"
    return ScriptFailed(failed.message, remedy=how, details=failed.details)
