"""Prints the hash of what conversations are shown, in a process of its own."""

import importlib.util
import random
import sys
from pathlib import Path
from typing import Any

import anyio


def _tests() -> Any:
    path = Path(__file__).with_name("test_prompt_bytes.py")
    spec = importlib.util.spec_from_file_location("prompt_bytes", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def _main(seed: int) -> None:
    tests = _tests()
    print(tests.digest(await tests.started(tests.settled(random.Random(seed)))))  # noqa: S311, T201


anyio.run(_main, int(sys.argv[1]))
