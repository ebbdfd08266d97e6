"""The command line."""


def main() -> None:
    """Runs `toolcrib`; what a command does not need is not imported."""
    from toolcrib.cli.app import app

    app(prog_name="toolcrib")
