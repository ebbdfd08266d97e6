"""`python -m toolcrib`."""

from toolcrib.cli import main

main()
