"""Hits, single tools and costs in tokens, as people and programs see them."""

import io
from typing import Any

import pytest

from toolcrib.cli.hit_table import Detail, brief_view, hits_view
from toolcrib.cli.output import Output, View
from toolcrib.cli.token_table import tokens_view
from toolcrib.core.exposure import Pinned, Threshold
from toolcrib.core.snapshot import Item
from toolcrib.discovery.exposing.report import ExposureReport
from toolcrib.discovery.hits import Found, Hit


def lines(view: View) -> list[str]:
    """What people see, without rules, empty lines, and blanks between columns."""
    out = io.StringIO()
    Output(as_json=False, stdout=out, stderr=io.StringIO(), env={}).show(view)
    said = (" ".join(line.split()) for line in out.getvalue().splitlines())
    return [line for line in said if line.strip("─ ")]


def item(key: str, description: object = "", **more: Any) -> Item:
    schema = {
        "type": "object",
        "properties": {"to": {"type": "string"}, "cc": {"type": "array"}},
        "required": ["to"],
    }
    definition = {"name": key, "description": description, "inputSchema": schema, **more}
    return Item(key, definition, "f", f"contract-of-{key}")


MAIL = Hit("mail", item("send", "Sends an email.\nAt once."), "mail__send", 4.5)
CHAT = Hit("chat", item("post", None, title="Post a message"), "chat__post", 2.0)
FOUND = Found((MAIL, CHAT), "hybrid", notes=("the small model was too slow",))


def test_hits_are_shown_with_parameters_and_what_they_are_for() -> None:
    assert lines(hits_view("send", FOUND, "brief")) == [
        "server name parameters description",
        "mail mail__send (to: string, cc?: array) Sends an email. At once.",
        "chat chat__post (to: string, cc?: array) Post a message",
        "note: the small model was too slow",
    ]


def test_names_alone_are_names_alone() -> None:
    assert lines(hits_view("send", Found((MAIL, CHAT), "lexical"), "name")) == [
        "mail__send",
        "chat__post",
    ]


def test_whole_definitions_are_shown_one_after_the_other() -> None:
    said = lines(hits_view("send", FOUND, "full"))
    assert said[0] == "mail__send"
    assert "Sends an email." in said
    assert said.index("chat__post Post a message") > said.index("Arguments")
    assert not any("generation" in line or "none" in line for line in said), "nobody looked"


@pytest.mark.parametrize(
    ("detail", "members"),
    [
        ("name", {"server", "name", "key", "score"}),
        ("brief", {"server", "name", "key", "score", "parameters", "description"}),
        ("full", {"server", "name", "key", "score", "definition", "contract"}),
    ],
)
def test_programs_get_the_same_detail(detail: Detail, members: set[str]) -> None:
    document = hits_view("send", FOUND, detail).document
    assert [set(hit) for hit in document["hits"]] == [members, members]
    assert document["hits"][0]["score"] == 4.5
    assert (document["query"], document["method"]) == ("send", "hybrid")
    assert document["notes"] == ["the small model was too slow"]


def test_without_hits_names_that_look_like_the_query_are_told() -> None:
    view = hits_view("sned", Found((), "lexical", near=("mail__send",)), "brief")
    assert lines(view) == ["Nothing was found for sned. Similar names: mail__send."]
    assert (view.document["hits"], view.document["near"]) == ([], ["mail__send"])


def test_words_of_servers_cannot_act_on_a_terminal() -> None:
    odd = Hit("s", item("a", "red \x1b[31m"), "s__a\u202e", 1.0)
    for detail in ("name", "brief", "full"):
        assert not {"\x1b", "\u202e"} & set("".join(lines(hits_view("x", _of(odd), detail))))


def _of(hit: Hit) -> Found:
    return Found((hit,), "lexical", notes=("\x1b[2J",))


def test_one_tool_in_brief_is_what_a_hit_is_without_a_score() -> None:
    view = brief_view("mail", "mail__send", MAIL.item)
    assert lines(view) == [
        "mail__send(to: string, cc?: array)",
        "Sends an email. At once.",
        "of mail",
    ]
    assert view.document == {
        "server": "mail",
        "name": "mail__send",
        "key": "send",
        "parameters": "(to: string, cc?: array)",
        "description": "Sends an email.\nAt once.",
    }


# ---- tokens ----

REPORT = ExposureReport(
    wanted="auto",
    exposure="search",
    why="all definitions reach 6,000 tokens (0.03 of 200,000 tokens)",
    threshold=Threshold(200_000, 0.03),
    full={"mail": 900, "git": 12_000, "chat": 900},
    exposed={"mail": 120, "git": 0, "chat": 0},
    meta=700,
    pinned=Pinned(("mail__send",), 120, ("git__log",)),
    counter="o200k",
    exact=True,
)


def test_costs_are_listed_by_server_the_dearest_first() -> None:
    assert lines(tokens_view(REPORT)) == [
        "server all shown",
        "git 12,000 0",
        "chat 900 0",
        "mail 900 120",
        "meta-tools - 700",
        "together 13,800 820",
        "exposure search: all definitions reach 6,000 tokens (0.03 of 200,000 tokens)",
        "tokens by o200k, exactly",
        "pinned: mail__send",
        "pinned, and beyond the budget of pinned_tokens: git__log",
    ]


def test_an_estimate_says_that_it_is_one() -> None:
    report = ExposureReport(
        "full", "full", "configured as full", REPORT.threshold, {"a": 5}, {"a": 5}, 0, Pinned(),
        "characters", exact=False,
    )  # fmt: skip
    said = lines(tokens_view(report))
    assert said[-1] == "tokens by characters, estimated"
    assert said[-2] == "exposure full: configured as full"


def test_programs_get_every_number() -> None:
    assert tokens_view(REPORT).document == {
        "wanted": "auto",
        "exposure": "search",
        "why": REPORT.why,
        "threshold": {"up": 6_000, "down": 4_000},
        "counter": "o200k",
        "exact": True,
        "full": 13_800,
        "exposed": 820,
        "meta": 700,
        "servers": {
            "mail": {"full": 900, "exposed": 120},
            "git": {"full": 12_000, "exposed": 0},
            "chat": {"full": 900, "exposed": 0},
        },
        "pinned": ["mail__send"],
        "beyond": ["git__log"],
    }
