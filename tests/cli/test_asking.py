"""Questions at the terminal: forms field by field, pages only after a yes, nobody without one."""

import io
import webbrowser
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from toolcrib.cli.asking import CAPABILITIES, TerminalAsk, asking_on
from toolcrib.cli.consent import allowed_beforehand, with_own_remedy
from toolcrib.cli.output import Output
from toolcrib.cli.person import Person
from toolcrib.core.approval import Allowed, AskFirst, Denied, decide
from toolcrib.errors import ConfirmationNeeded, UpstreamRefused
from toolcrib.settings import ApprovalRule, ApprovalSettings
from toolcrib.testing.approval_desk import tool


class Talk:
    """A person who writes these lines, and what they are shown."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.screen = io.StringIO()
        self.output = Output(as_json=False, stdout=io.StringIO(), stderr=self.screen, env={})
        self.ask = TerminalAsk(Person(self.output, self.read_line), self.output)

    async def read_line(self) -> str:
        await anyio.lowlevel.checkpoint()
        return f"{self.lines.pop(0)}\n" if self.lines else ""

    async def asks(self, params: Mapping[str, Any]) -> dict[str, Any]:
        with anyio.fail_after(5):
            answer = await self.ask("elicitation/create", params)
        assert self.lines == [], "not everything was read"
        return answer

    async def form(self, required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
        schema = {"type": "object", "properties": fields, "required": list(required)}
        return await self.asks({"message": "[server files] Fill in", "requestedSchema": schema})

    @property
    def shown(self) -> str:
        return self.screen.getvalue()


def accepted(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


TEXT = {"type": "string", "title": "Your name", "description": "As on the badge"}
COLOURS = {"type": "string", "enum": ["red", "green", "blue"]}
TITLED = {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}
NAMED = {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}
SEVERAL = {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}}
SEVERAL_TITLED = {
    "type": "array",
    "items": {"anyOf": [{"const": "x", "title": "Ex"}, {"const": "y", "title": "Why"}]},
}


@pytest.mark.parametrize(
    ("schema", "lines", "value"),
    [
        (TEXT, ["Ada"], "Ada"),
        (TEXT, ["!!d"], "!d"),
        (TEXT, ['""'], ""),
        ({"type": "string", "default": "x"}, [""], "x"),
        ({"type": "string", "default": 5}, ["", "y"], "y"),
        ({"type": "string", "minLength": 3}, ["ab", "abc"], "abc"),
        ({"type": "string", "format": "email"}, ["nobody", "a@b"], "a@b"),
        ({"type": "integer"}, ["three", "1.5", "3"], 3),
        ({"type": "integer", "minimum": 2, "maximum": 4}, ["1", "5", "4"], 4),
        ({"type": "number"}, ["NaN", "1e999", "true", "2.5"], 2.5),
        ({"type": "number", "default": 0}, [""], 0),
        ({"type": "boolean"}, ["perhaps", "YES"], True),
        ({"type": "boolean"}, ["n"], False),
        ({"type": "boolean", "default": False}, [""], False),
        (COLOURS, ["2"], "green"),
        (COLOURS, ["blue"], "blue"),
        (COLOURS, ["0", "4", "Red", "1"], "red"),
        ({**COLOURS, "default": "blue"}, [""], "blue"),
        ({"type": "string", "enum": ["2", "1"]}, ["1"], "1"),
        (TITLED, ["1"], "r"),
        (TITLED, ["g"], "g"),
        (NAMED, ["2"], "b"),
        (SEVERAL, ["1, 3,1"], ["a", "c"]),
        (SEVERAL, ["-"], []),
        ({**SEVERAL, "default": ["b"]}, [""], ["b"]),
        ({**SEVERAL, "minItems": 2}, ["1", "d,1", "1,2"], ["a", "b"]),
        (SEVERAL_TITLED, ["2"], ["y"]),
    ],
)
async def test_a_field_takes_what_fits_and_asks_again_for_what_does_not(
    schema: dict[str, Any], lines: list[str], value: object
) -> None:
    chosen_at_once = schema["type"] == "boolean" or "enum" in schema or "oneOf" in schema
    talk = Talk(*lines) if chosen_at_once else Talk(*lines, "y")
    assert await talk.form(("field",), field=schema) == accepted(field=value)


async def test_a_form_shows_titles_descriptions_choices_and_defaults() -> None:
    talk = Talk("Ada", "", "1", "y")
    fields = {"name": TEXT, "colour": {**COLOURS, "default": "green"}, "kinds": SEVERAL_TITLED}
    answer = await talk.form(("name",), **fields)
    assert answer == accepted(name="Ada", colour="green", kinds=["x"])
    for text in (
        "[server files] Fill in",
        "Your name (required)",
        "As on the badge",
        "2. green",
        "a number [green]",
        "1. Ex  (x)",
        'name = "Ada"',
    ):
        assert text in talk.shown


async def test_what_may_be_left_out_is_left_out_and_what_must_not_is_asked_again() -> None:
    talk = Talk("", "", "x", "y")
    assert await talk.form(("b",), a=TEXT, b={"type": "string"}) == accepted(b="x")
    assert "it must be answered" in talk.shown


@pytest.mark.duty(33)
async def test_a_form_may_be_filled_in_anew_before_it_is_sent() -> None:
    talk = Talk("Aba", "maybe", "n", "Ada", "y")
    assert await talk.form(name=TEXT) == accepted(name="Ada")


@pytest.mark.duty(33)
@pytest.mark.parametrize(
    ("lines", "action"),
    [
        (["!d"], "decline"),
        (["!c"], "cancel"),
        ([], "cancel"),
        (["Ada", "!d"], "decline"),
        (["Ada"], "cancel"),
    ],
)
async def test_a_person_may_say_no_or_put_the_question_aside(lines: list[str], action: str) -> None:
    assert await Talk(*lines).form(("name",), name=TEXT) == {"action": action}


@pytest.mark.parametrize(
    ("line", "answer"),
    [("y", accepted()), ("n", {"action": "decline"}), ("!c", {"action": "cancel"})],
)
async def test_a_form_without_fields_is_a_yes_or_a_no(line: str, answer: dict[str, Any]) -> None:
    assert await Talk(line).form() == answer


async def test_nothing_of_a_form_acts_on_the_terminal() -> None:
    evil = "\x1b[2Jgone\u202e\r"
    talk = Talk("1", "y")
    field = {
        "type": "array",
        "title": f"t{evil}",
        "description": f"d{evil}",
        "items": {"anyOf": [{"const": "a", "title": f"c{evil}"}]},
        "default": ["a"],
    }
    await talk.asks(
        {
            "message": f"m{evil}",
            "requestedSchema": {"type": "object", "properties": {"f": field}},
        }
    )
    assert not {"\x1b", "\u202e", "\r"} & set(talk.shown)
    assert r"\x1b[2Jgone\u202e" in talk.shown


@pytest.mark.parametrize(
    "params",
    [
        {
            "message": "m",
            "requestedSchema": {"type": "object", "properties": {"o": {"type": "object"}}},
        },
        {"message": "m", "requestedSchema": []},
        {"message": "m", "mode": "hologram"},
        {"message": 5},
        {"mode": "url", "message": "m", "url": "javascript:alert(1)"},
        {"mode": "url", "message": "m", "url": "file:///etc/passwd"},
    ],
)
async def test_what_cannot_be_shown_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(UpstreamRefused) as caught:
        await Talk().asks(params)
    assert caught.value.rpc_code == -32602


async def test_what_is_no_question_for_a_person_is_refused() -> None:
    with pytest.raises(UpstreamRefused) as caught:
        await Talk().ask("sampling/createMessage", {})
    assert caught.value.rpc_code == -32601


async def test_secrets_are_not_asked_for() -> None:
    talk = Talk()
    assert await talk.form(password={"type": "string"}) == {"action": "decline"}
    assert "secrets" in talk.shown


# ---------------------------------------------------------------- pages


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was started with."""
    found: list[str] = []

    def start(url: str) -> bool:
        found.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", start)
    return found


URL = "https://login.example.com/a?b=c#d"


@pytest.mark.duty(33)
async def test_a_page_opens_after_a_yes_with_its_whole_address_and_host_shown(
    opened: list[str],
) -> None:
    talk = Talk("y")
    assert await talk.asks({"mode": "url", "message": "Log in", "url": URL}) == {"action": "accept"}
    assert opened == [URL]
    assert f"Address: {URL}" in talk.shown
    assert "Host: login.example.com" in talk.shown


@pytest.mark.parametrize(
    ("lines", "action"),
    [(["n"], "decline"), (["!d"], "decline"), (["!c"], "cancel"), ([], "cancel")],
)
async def test_without_a_yes_no_page_opens(
    opened: list[str], lines: list[str], action: str
) -> None:
    talk = Talk(*lines)
    assert await talk.asks({"mode": "url", "message": "m", "url": URL}) == {"action": action}
    assert opened == []


async def test_a_host_that_looks_like_another_one_is_flagged(opened: list[str]) -> None:
    talk = Talk("n")
    await talk.asks({"mode": "url", "message": "m", "url": "https://xn--pple-43d.com/"})
    assert "Careful: " in talk.shown
    assert opened == []


async def test_where_no_browser_starts_the_person_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(url: str) -> bool:
        return not url

    monkeypatch.setattr(webbrowser, "open", start)
    talk = Talk("y")
    assert await talk.asks({"mode": "url", "message": "m", "url": URL}) == {"action": "accept"}
    assert "open the address yourself" in talk.shown


# ---------------------------------------------------------------- who is there


async def test_questions_wait_for_each_other() -> None:
    talk = Talk("1", "2")
    answers: list[object] = []

    async def one() -> None:
        schema = {"type": "object", "properties": {"c": COLOURS}, "required": ["c"]}
        answer = await talk.ask("elicitation/create", {"message": "m", "requestedSchema": schema})
        answers.append(answer["content"]["c"])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
    assert answers == ["red", "green"]


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("stdin", "stderr", "as_json", "there"),
    [
        (True, True, False, True),
        (False, True, False, False),
        (True, False, False, False),
        (True, True, True, False),
    ],
)
def test_nobody_is_asked_without_a_terminal_or_where_json_is_wanted(
    *, stdin: bool, stderr: bool, as_json: bool, there: bool
) -> None:
    screen = Stream(terminal=stderr)
    output = Output(as_json=as_json, stdout=io.StringIO(), stderr=screen, env={})
    asking = asking_on(output, Stream(terminal=stdin), screen)
    assert (asking.ask is not None) is there
    assert dict(asking.capabilities) == (dict(CAPABILITIES) if there else {})


@pytest.mark.parametrize("remedy", [None, "run `toolcrib approve 1`"])
def test_a_call_that_nobody_was_asked_about_names_the_switch(remedy: str | None) -> None:
    needed = ConfirmationNeeded("a person has to approve", remedy=remedy, details={"id": "1"})
    error = with_own_remedy(needed, as_json=False)
    assert error.remedy is not None
    assert "--yes" in error.remedy
    assert remedy is None or error.remedy.startswith(remedy)
    assert "terminal" in error.remedy
    to_a_program = with_own_remedy(needed, as_json=True).remedy
    assert to_a_program is not None
    assert "--yes" in to_a_program
    assert "terminal" not in to_a_program, "with --json nobody is asked there either"
    unseen = ConfirmationNeeded("its definition waits", remedy=remedy)
    assert with_own_remedy(unseen, as_json=False).remedy == remedy, "no switch shows a definition"


def test_a_yes_beforehand_allows_what_is_asked_and_nothing_that_is_denied() -> None:
    policy = ApprovalSettings(
        (
            ApprovalRule("ask", annotations={"destructiveHint": True}),
            ApprovalRule("ask", tools=("d*",)),
            ApprovalRule("deny", tools=("drop",)),
        ),
        "ask",
    )
    before = allowed_beforehand(policy)

    def said(name: str, under: ApprovalSettings) -> type:
        return type(decide(under.rules, under.otherwise, "s", tool(name), {}))

    for name in ("delete", "other"):
        assert (said(name, policy), said(name, before)) == (AskFirst, Allowed)
    assert (said("drop", policy), said("drop", before)) == (Denied, Denied)
    strict = allowed_beforehand(ApprovalSettings((), "deny"))
    assert said("x", strict) is Denied


def test_a_spinner_stands_still_while_a_person_answers() -> None:
    screen = Stream(terminal=True)
    output = Output(as_json=False, stdout=io.StringIO(), stderr=screen, env={"TERM": "xterm"})
    with output.progress("calling"):
        spinner = output._spinner  # pyright: ignore[reportPrivateUsage] - nobody else could tell
        assert spinner is not None
        live = spinner._live  # pyright: ignore[reportPrivateUsage]
        with output.person():
            assert not live.is_started
        assert live.is_started
    with output.person():
        pass
