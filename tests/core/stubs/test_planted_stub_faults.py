"""Each rule of the stubs is held by a test: with it removed, the named test fails."""

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing.planting import plant

HERE = Path(__file__).resolve().parent
MODULES = (
    "reserved",
    "identifiers",
    "shapes",
    "listing",
    "gathering",
    "reading",
    "wording",
    "signature",
    "python_text",
    "typescript_text",
    "server_stubs",
)
"""In the order in which they import each other."""

FAULTS: list[dict[str, str]] = tomllib.loads(
    (HERE / "stub_faults.toml").read_text(encoding="utf-8")
)["fault"]


def planted_test(monkeypatch: pytest.MonkeyPatch, fault: dict[str, str], *, sound: bool) -> Any:
    """The named test over fresh modules, one of them with the fault unless they are sound."""
    plant(monkeypatch, "toolcrib.core.stubs", MODULES, None if sound else fault)
    return runpy.run_path(str(HERE / f"{fault['file']}.py"))[fault["caught_by"]]


def test_the_faults_have_names_of_their_own() -> None:
    assert len({fault["name"] for fault in FAULTS}) == len(FAULTS) >= 16


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault["name"])
def test_a_planted_fault_is_caught_by_the_test_that_is_named_for_it(
    fault: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted_test(monkeypatch, fault, sound=True)()
    caught = planted_test(monkeypatch, fault, sound=False)
    with pytest.raises((AssertionError, SyntaxError)):
        caught()
