"""Words of `search`, `list --tokens` and `bench search` that cannot be carried out."""

from pathlib import Path

import pytest

from toolcrib.cli.app import app
from toolcrib.cli.commands.evaluation import trials_of
from toolcrib.cli.exits import UsageError
from toolcrib.discovery.evaluation.metrics import DEFINITIONS


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


def ended(words: tuple[str, ...]) -> object:
    with pytest.raises(SystemExit) as code:
        app(list(words), prog_name="toolcrib")
    return code.value.code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search",), "Missing argument 'QUERY'"),
        (("search", "x", "--detail", "long"), "Invalid value for '--detail'"),
        (("search", "x", "--method", "guess"), "Invalid value for '--method'"),
        (("search", "x", "--limit", "51"), "Invalid value for '--limit'"),
        (("search", "x"), "no server is configured"),
        (("show", "x", "--detail", "name"), "Invalid value for '--detail'"),
        (("list", "--tokens", "--servers"), "--tokens goes with neither --servers nor --kind"),
        (("list", "--tokens", "--kind", "prompts"), "--tokens goes with neither"),
        (("list", "--tokens", "--url", "http://127.0.0.1:1/mcp"), "--tokens goes with neither"),
        (("bench",), "Usage: toolcrib bench"),
        (("bench", "calls"), "No such command 'calls'"),
        (("bench", "search"), "Missing argument 'DIR'"),
        (("bench", "search", "."), "there is no data set in ."),
        (("bench", "search", ".", "--method", "guess"), "there is no method 'guess'"),
        (("bench", "search", ".", "--method", "subagent"), "there is no method 'subagent'"),
        (("bench", "search", ".", "--size", "3k"), "--size '3k' is no number of tools"),
        (("bench", "search", ".", "--size", "0"), "--size '0' is no number of tools"),
        (("bench", "search", ".", "--baseline", "no.json"), "no.json cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_an_error_of_usage(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(words) == 2
    captured = capsys.readouterr()
    assert said in captured.err + captured.out


def test_the_help_of_the_measurement_defines_every_metric(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended(("bench", "search", "--help")) == 0
    said = " ".join(capsys.readouterr().out.split())
    for label, text in DEFINITIONS.items():
        assert f"{label}: {text}" in said


def test_lists_of_words_are_taken_apart_at_commas() -> None:
    trials = trials_of(
        Path("d"), "b, a,b,", "lexical,hybrid", None, "c", "3000,527", progress=False
    )
    assert (trials.sets, trials.methods) == (("b", "a"), ("lexical", "hybrid"))
    assert (trials.distractors, trials.sizes) == (("c",), (3000, 527))


def test_without_words_everything_there_is_is_measured() -> None:
    trials = trials_of(Path("d"), None, "auto", None, None, None, progress=False)
    assert (trials.sets, trials.methods, trials.sizes) == ((), ("auto",), ())


@pytest.mark.parametrize("method", ["", ","])
def test_no_method_at_all_is_refused(method: str) -> None:
    with pytest.raises(UsageError, match="--method names none"):
        trials_of(Path("d"), None, method, None, None, None, progress=False)
