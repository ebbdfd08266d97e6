"""Facts as log lines: one each, in two forms, at a fitting level, without secrets."""

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import pytest

from toolcrib import facts
from toolcrib.adapters.observing.log_lines import LineFormatter, LogFormat, start_logging
from toolcrib.adapters.observing.log_observer import LogObserver, level_of
from toolcrib.adapters.redaction import Redaction
from toolcrib.facts import Fact, event_name
from toolcrib.settings import Secret

KINDS: tuple[type[Any], ...] = get_args(Fact)


def sample(kind: type[Any]) -> Fact:
    """A fact of that type, with something in every field."""
    types = {"str": "x", "int": 1, "float": 1.5, "bool": True}
    return kind(**{f.name: types[getattr(f.type, "__name__", str(f.type))] for f in fields(kind)})


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("toolcrib")
    before = (root.level, ours.level, list(root.handlers))
    yield
    root.setLevel(before[0])
    ours.setLevel(before[1])
    root.handlers[:] = before[2]


def logged(fact: Fact, style: LogFormat, level: int = logging.DEBUG) -> str:
    """What one fact writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter(style))
    logger = logging.getLogger("test.facts")
    logger.propagate = False
    logger.setLevel(level)
    logger.handlers[:] = [handler]
    LogObserver(logger).note(fact)
    return stream.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_is_one_json_line_with_all_its_fields(kind: type[Any]) -> None:
    fact = sample(kind)
    (line,) = logged(fact, "json").splitlines()
    found = json.loads(line)
    assert found.pop("at").endswith("+00:00")
    assert found.pop("level") == logging.getLevelName(level_of(fact)).lower()
    assert found.pop("logger") == "test.facts"
    assert found.pop("event") == event_name(fact)
    assert found == {f.name: getattr(fact, f.name) for f in fields(kind)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_fact_is_one_text_line(kind: type[Any]) -> None:
    fact = sample(kind)
    (line,) = logged(fact, "text").splitlines()
    _, level, event, *rest = line.split()
    assert level == logging.getLevelName(level_of(fact))
    assert event == event_name(fact)
    assert [word.split("=")[0] for word in rest] == [f.name for f in fields(kind)]


def test_names_of_events_are_words() -> None:
    assert event_name(facts.WalkEnded("s", "tools", "failed", 1, 0, 0, 0, 0.1)) == "walk_ended"
    assert event_name(facts.Listed("tools", 1, 1, fresh=True, seconds=0.1)) == "listed"


@pytest.mark.parametrize(
    ("fact", "level"),
    [
        (facts.ConnectionChanged("s", "ready"), logging.INFO),
        (facts.ConnectionChanged("s", "lost"), logging.WARNING),
        (facts.ConnectionChanged("s", "slow_probe"), logging.WARNING),
        (facts.CallForwarded("s", "tools/call", "t", "ok", 0.1), logging.DEBUG),
        (facts.CallForwarded("s", "tools/call", "t", "tool_error", 0.1), logging.DEBUG),
        (facts.CallForwarded("s", "tools/call", "t", "timeout", 0.1), logging.INFO),
        (facts.RefreshFailed("s", "tools", "timeout", "d", 1.0), logging.WARNING),
        (facts.ExposureChanged("full", "search", 6_000, "why"), logging.INFO),
        (facts.StoreDegraded("d"), logging.WARNING),
        (facts.RuntimeStarted("python", "monty 1", "bubblewrap 1"), logging.INFO),
        (facts.RuntimeStarted("python", "monty 1", "", "why"), logging.WARNING),
        (facts.Invalidated("s", "tools", "signal"), logging.DEBUG),
    ],
)
def test_a_fact_has_the_level_that_an_operator_expects(fact: Fact, level: int) -> None:
    assert level_of(fact) == level


def test_facts_below_the_level_are_not_written() -> None:
    assert logged(facts.HostNotified("tools"), "text", logging.INFO) == ""
    assert logged(facts.Withdrawn("s", "tools"), "text", logging.INFO) != ""


def test_what_says_nothing_is_left_out() -> None:
    line = logged(facts.ConnectionChanged("s", "ready"), "json")
    assert "era" not in line
    assert "detail" not in line


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize(
    "evil",
    ["a\nlevel=ERROR", "a\r\nb", "\x1b[2J\x1b]0;t\x07", "\u202eabc", "a\u2028b", "\ud800", 'q"=\\'],
)
def test_foreign_words_stay_on_their_line_and_control_nothing(style: LogFormat, evil: str) -> None:
    line = logged(facts.Finding("s", "code", evil), style)
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert len(line[:-1].splitlines()) == 1
    line.encode()


def test_values_with_spaces_or_quotes_are_quoted_in_text() -> None:
    line = logged(facts.Finding("my server", "c", 'say "x=1"'), "text")
    assert 'server="my server" code=c detail="say \\"x=1\\""' in line


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("style", ["text", "json"])
def test_secrets_are_blotted_out_of_every_line(style: LogFormat) -> None:
    stream = io.StringIO()
    redact = Redaction([Secret("canary-token"), Secret("https://h/?key=canary-token")])
    start_logging(style, level=logging.DEBUG, stream=stream, redact=redact)
    LogObserver().note(facts.NoiseSkipped("s", 1, "starting with canary-token"))
    logging.getLogger("library").warning("cannot reach %s", "https://h/?key=canary-token")
    try:
        int("canary-token")
    except ValueError:
        logging.getLogger("toolcrib").exception("it failed with canary-token")
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert "canary" not in stream.getvalue()
    assert "ValueError" in lines[2]
    assert all("***" in line for line in lines)


@pytest.mark.usefixtures("restored_logging")
def test_our_own_lines_come_from_the_chosen_level_on_and_those_of_libraries_from_warning_on() -> (
    None
):
    stream = io.StringIO()
    start_logging("json", level=logging.DEBUG, stream=stream)
    logging.getLogger("library").info("chatter")
    logging.getLogger("library").warning("trouble")
    logging.getLogger("toolcrib.x").debug("ours")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == [
        "trouble",
        "ours",
    ]


@pytest.mark.usefixtures("restored_logging")
def test_logs_go_to_standard_error_unless_told_otherwise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    start_logging("text")
    logging.getLogger("toolcrib").info("hello")
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.endswith("INFO    hello\n")


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        ("chosen", logging.DEBUG),
        ("none_fits", logging.DEBUG),
        ("paused", logging.DEBUG),
        ("over_budget", logging.DEBUG),
        ("unreadable", logging.WARNING),
        ("auth_required", logging.WARNING),
    ],
)
def test_a_small_model_that_fails_is_worth_a_warning(outcome: str, level: int) -> None:
    assert level_of(facts.SmallModelAsked(outcome, 1.0)) == level
