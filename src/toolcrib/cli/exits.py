"""How a command ends: 0 all is well, 1 a finding or a tool's error, 2 usage or configuration."""

from enum import IntEnum

from toolcrib.errors import ConfigError, ToolcribError


class Exit(IntEnum):
    """The exit codes of every command."""

    FINE = 0
    FOUND = 1
    USAGE = 2


class UsageError(ToolcribError):
    """The command line cannot be understood; names the part and what to write instead."""

    code = "usage"


def exit_of(error: ToolcribError) -> Exit:
    """The exit code that an error ends a command with."""
    return Exit.USAGE if isinstance(error, UsageError | ConfigError) else Exit.FOUND
