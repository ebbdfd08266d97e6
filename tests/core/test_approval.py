"""The rules of approval, case by case; without a rule, the cases named for it fail."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolcrib.core.approval
from toolcrib.core.approval import (
    HINTS,
    Allowed,
    AskFirst,
    Denied,
    category,
    decide,
    written,
)
from toolcrib.core.quarantine import judge
from toolcrib.core.snapshot import Item, Kind
from toolcrib.settings import ApprovalRule, ApprovalVerdict


def tool(name: str = "delete", **annotations: Any) -> Item:
    """A tool with these annotations; without any, it has no such member."""
    raw: dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
    if annotations:
        raw["annotations"] = annotations
    verdict = judge(Kind.TOOLS, raw).verdict
    assert isinstance(verdict, Item)
    return verdict


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(frozen=True)
class Case:
    """One call under some rules, and what becomes of it."""

    name: str
    rules: tuple[ApprovalRule, ...]
    says: str
    """`allow`, `deny` or `ask`; `deny 1` says which rule did, from 0 on."""
    otherwise: ApprovalVerdict = "allow"
    server: str = "files"
    tool: Item = field(default_factory=tool)
    arguments: Mapping[str, Any] = field(default_factory=_nothing)


def rule(verdict: ApprovalVerdict, *tools: str, **changes: Any) -> ApprovalRule:
    """A rule over tools of any server."""
    return ApprovalRule(verdict, tools=tools or ("*",), **changes)


def about(verdict: ApprovalVerdict, path: str, pattern: str) -> tuple[ApprovalRule, ...]:
    """One rule about one argument."""
    return (rule(verdict, arguments={path: pattern}),)


DESTROYS = rule("ask", annotations={"destructiveHint": True})
READS = rule("ask", annotations={"readOnlyHint": True})
LOOSE = ApprovalRule("allow", annotations={"readOnlyHint": True})
ETC = about("deny", "path", "/etc/*")

CASES = (
    Case("nothing said allows", (), "allow"),
    Case("the default may ask", (), "ask", otherwise="ask"),
    Case("the default may deny", (), "deny", otherwise="deny"),
    Case("a rule that does not match leaves the default", (rule("deny", "other"),), "allow"),
    Case("the first match decides", (rule("allow", "del*"), rule("ask")), "allow", otherwise="ask"),
    Case("the first match asks", (rule("ask", "del*"), rule("allow")), "ask 0"),
    Case("deny wins from behind", (rule("allow"), rule("ask"), rule("deny", "d*")), "deny 2"),
    Case("the first denial is named", (rule("deny", "d*"), rule("deny")), "deny 0"),
    Case("servers must match", (ApprovalRule("deny", servers=("git*", "db")),), "allow"),
    Case("one server pattern is enough", (ApprovalRule("deny", servers=("db", "f*")),), "deny 0"),
    Case("names are case-sensitive", (rule("deny", "DELETE"),), "allow"),
    Case("a pattern is over the whole name", (rule("deny", "del"),), "allow"),
    # hints
    Case("silence counts as destructive", (DESTROYS,), "ask 0"),
    Case("a hint that is denied", (DESTROYS,), "allow", tool=tool(destructiveHint=False)),
    Case("a reader is not presumed to destroy", (DESTROYS,), "allow", tool=tool(readOnlyHint=True)),
    Case(
        "a reader that says it destroys is believed",
        (DESTROYS,),
        "ask 0",
        tool=tool(readOnlyHint=True, destructiveHint=True),
    ),
    Case("silence counts as no reader", (READS,), "allow"),
    Case("a hint of the wrong type is silence", (READS,), "allow", tool=tool(readOnlyHint="true")),
    Case("one is not true", (READS,), "allow", tool=tool(readOnlyHint=1)),
    Case("a hint never allows", (LOOSE,), "ask", otherwise="ask", tool=tool(readOnlyHint=True)),
    Case(
        "a hint never takes a denial back",
        (READS,),
        "deny",
        otherwise="deny",
        tool=tool(readOnlyHint=True),
    ),
    Case("a hint may ask before a rule that allows", (DESTROYS, rule("allow")), "ask 0"),
    Case("a rule that allows may stand before a hint", (rule("allow"), DESTROYS), "allow"),
    Case("a hint may deny", (rule("deny", annotations={"openWorldHint": True}),), "deny 0"),
    Case(
        "all hints must be so",
        (rule("deny", annotations={"openWorldHint": True, "idempotentHint": True}),),
        "allow",
    ),
    Case("an unknown hint counts as a match", (rule("deny", annotations={"x": True}),), "deny 0"),
    # arguments
    Case("an argument matches", ETC, "deny 0", arguments={"path": "/etc/passwd"}),
    Case("an argument does not match", ETC, "allow", arguments={"path": "/srv/x"}),
    Case("an absent argument does not match", ETC, "allow"),
    Case("a line break hides nothing", ETC, "deny 0", arguments={"path": "/etc/\n/x"}),
    Case("one element is enough to deny", ETC, "deny 0", arguments={"path": ["/srv", "/etc/x"]}),
    Case("arrays in arrays too", ETC, "deny 0", arguments={"path": [[], [["/etc/x"]]]}),
    Case(
        "every element is needed to allow",
        about("allow", "path", "/srv/*"),
        "ask",
        otherwise="ask",
        arguments={"path": ["/srv/x", "/etc/x"]},
    ),
    Case(
        "all elements allow",
        about("allow", "path", "/srv/*"),
        "allow",
        otherwise="ask",
        arguments={"path": ["/srv/x", "/srv/y"]},
    ),
    Case(
        "no element allows nothing",
        about("allow", "path", "*"),
        "ask",
        otherwise="ask",
        arguments={"path": []},
    ),
    Case(
        "an element without the member is needed to allow",
        about("allow", "files.path", "/srv/*"),
        "ask",
        otherwise="ask",
        arguments={"files": [{"path": "/srv/x"}, {}]},
    ),
    Case(
        "a path leads through arrays",
        about("deny", "files.path", "/etc/*"),
        "deny 0",
        arguments={"files": [{}, {"path": "/srv"}, {"path": "/etc/x"}]},
    ),
    Case(
        "a path leads through objects",
        about("deny", "a.b.c", "x"),
        "deny 0",
        arguments={"a": {"b": {"c": "x"}}},
    ),
    Case(
        "a dot in a name is escaped",
        about("deny", r"a\.b", "x"),
        "deny 0",
        arguments={"a.b": "x", "a": {"b": "y"}},
    ),
    Case("a path ends in no scalar", about("deny", "a.b", "*"), "allow", arguments={"a": "b"}),
    Case("a number has one spelling", about("deny", "n", "1"), "deny 0", arguments={"n": 1.0}),
    Case("true is a word", about("deny", "force", "true"), "deny 0", arguments={"force": True}),
    Case("null is a word", about("deny", "x", "null"), "deny 0", arguments={"x": None}),
    Case(
        "an object is compact JSON with sorted members",
        about("deny", "o", '{"a":1,"b":*}'),
        "deny 0",
        arguments={"o": {"b": [2], "a": 1}},
    ),
    Case(
        "all arguments must match",
        (rule("deny", arguments={"a": "1", "b": "2"}),),
        "allow",
        arguments={"a": 1, "b": 3},
    ),
    Case(
        "what JSON cannot write", about("deny", "n", "NaN"), "allow", arguments={"n": float("nan")}
    ),
)

VERDICTS = st.sampled_from(["allow", "deny", "ask"])
STRICTNESS = {Allowed: 0, AskFirst: 1, Denied: 2}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_rules_say(case: Case) -> None:
    assert says(toolcrib.core.approval, case)


def test_a_category_is_void_when_what_its_rule_matches_changes() -> None:
    base = rule("ask", "x", arguments={"a": "1"})
    others = [
        rule("ask", "y", arguments={"a": "1"}),
        rule("ask", "x", arguments={"a": "2"}),
        rule("ask", "x"),
        rule("ask", "x", arguments={"a": "1"}, annotations={"readOnlyHint": True}),
        ApprovalRule("ask", servers=("s",), tools=("x",), arguments={"a": "1"}),
        None,
    ]
    assert len({category(it) for it in [base, *others]}) == len(others) + 1
    same = rule("ask", "x", arguments={"a": "1"}, remember="run", seconds=5.0, source="t.toml:9")
    assert category(base) == category(same)


def test_an_array_nested_without_end_is_answered() -> None:
    deep: Any = "/etc/x"
    for _ in range(50_000):
        deep = [deep]
    rules = (rule("deny", arguments={"path": "/etc/*"}),)
    assert isinstance(decide(rules, "allow", "s", tool(), {"path": deep}), Denied)
    assert written({"a": deep}) == ""


hinted = st.builds(
    ApprovalRule,
    VERDICTS,
    tools=st.sampled_from([("*",), ("delete",), ("other",)]),
    annotations=st.dictionaries(st.sampled_from([*HINTS, "x"]), st.booleans(), min_size=1),
)
plain = st.builds(
    ApprovalRule,
    VERDICTS,
    tools=st.sampled_from([("*",), ("delete",), ("other",)]),
    arguments=st.sampled_from([{}, {"a": "1"}, {"a": "2"}]),
)


@given(
    rules=st.lists(hinted | plain, max_size=6),
    otherwise=VERDICTS,
    hints=st.dictionaries(st.sampled_from([*HINTS, "x"]), st.booleans() | st.just("yes")),
)
def test_hints_may_tighten_and_never_loosen(
    rules: list[ApprovalRule], otherwise: Any, hints: dict[str, Any]
) -> None:
    unhinted = [it for it in rules if not it.annotations]
    arguments = {"a": 1}
    without = decide(unhinted, otherwise, "s", tool(), arguments)
    found = decide(rules, otherwise, "s", tool(**hints), arguments)
    assert STRICTNESS[type(found)] >= STRICTNESS[type(without)]


@given(
    rules=st.lists(hinted | plain, max_size=6),
    otherwise=VERDICTS,
    denial=st.integers(0, 6),
)
def test_a_denial_wins_wherever_it_stands(
    rules: list[ApprovalRule], otherwise: Any, denial: int
) -> None:
    rules.insert(denial, rule("deny", "del*"))
    assert isinstance(decide(rules, otherwise, "s", tool(), {}), Denied)


SOURCE = Path(toolcrib.core.approval.__file__).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Fault:
    """One rule removed: a text that occurs once, what stands there instead, and who notices."""

    name: str
    old: str
    new: str
    caught_by: tuple[str, ...]


FAULTS = (
    Fault(
        "a denial wins only as the first match",
        "    for rule in matching:\n",
        "    for rule in matching[:1]:\n",
        ("deny wins from behind",),
    ),
    Fault(
        "the last match decides",
        "_decision(matching[0], otherwise)",
        "_decision(matching[-1], otherwise)",
        ("the first match decides", "the first match asks"),
    ),
    Fault(
        "hints allow",
        "    if strict and rule.annotations:\n        return False\n",
        "",
        ("a hint never allows",),
    ),
    Fault(
        "a hint turns a denial into a question",
        "isinstance(unhinted, Denied) or not matching",
        "not matching",
        ("a hint never takes a denial back",),
    ),
    Fault(
        "silence is harmless",
        "    DESTRUCTIVE: True,\n",
        "    DESTRUCTIVE: False,\n",
        ("silence counts as destructive", "a hint may ask before a rule that allows"),
    ),
    Fault(
        "any value that is true counts as said",
        "    if isinstance(value, bool):\n        return value\n",
        "    if value is not None:\n        return bool(value)\n",
        ("a hint of the wrong type is silence", "one is not true"),
    ),
    Fault(
        "a reader is presumed to destroy",
        "if name == DESTRUCTIVE and said.get(READ_ONLY) is True:",
        "if name == '':",
        ("a reader is not presumed to destroy",),
    ),
    Fault(
        "one hint is enough",
        "        and all(hint(",
        "        and any(hint(",
        ("all hints must be so",),
    ),
    Fault(
        "one element is enough to allow",
        "(all(found) if strict else any(found))",
        "any(found)",
        (
            "every element is needed to allow",
            "an element without the member is needed to allow",
        ),
    ),
    Fault(
        "every element is needed to deny",
        "(all(found) if strict else any(found))",
        "all(found)",
        ("one element is enough to deny", "a path leads through arrays"),
    ),
    Fault(
        "an empty array matches",
        "bool(found) and (all",
        "(all",
        ("no element allows nothing",),
    ),
    Fault(
        "a place that is not there is passed over",
        "            yield ()\n",
        "            continue\n",
        ("an element without the member is needed to allow",),
    ),
    Fault(
        "arrays are not looked into",
        "if is_array(value):",
        "if is_array(value) and depth < 0:",
        ("one element is enough to deny", "arrays in arrays too"),
    ),
    Fault(
        "values are matched as Python prints them",
        "return canonical(value).decode()",
        "return str(value)",
        ("a number has one spelling", "true is a word", "null is a word"),
    ),
    Fault(
        "one argument is enough",
        "        and all(\n            _argument_matches",
        "        and any(\n            _argument_matches",
        ("all arguments must match",),
    ),
    Fault(
        "servers are not looked at",
        "_any_matches(rule.servers, server)",
        "bool(server)",
        ("servers must match",),
    ),
)


def planted(fault: Fault) -> ModuleType:
    if SOURCE.count(fault.old) != 1:
        pytest.fail(f"the text occurs {SOURCE.count(fault.old)} times, not once")
    module = ModuleType(f"planted_{abs(hash(fault.name))}")
    sys.modules[module.__name__] = module  # where dataclasses look for their own module
    try:
        exec(compile(SOURCE.replace(fault.old, fault.new), fault.name, "exec"), module.__dict__)  # noqa: S102
    finally:
        del sys.modules[module.__name__]
    return module


def says(module: ModuleType, case: Case) -> bool:
    """Whether the rules, as this module reads them, say of a case what it names."""
    verdict, _, place = case.says.partition(" ")
    found = module.decide(case.rules, case.otherwise, case.server, case.tool, case.arguments)
    kind = {"allow": "Allowed", "deny": "Denied", "ask": "AskFirst"}[verdict]
    if type(found).__name__ != kind:
        return False
    return not place or found.rule is case.rules[int(place)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_by_the_cases_named_for_it(fault: Fault) -> None:
    module = planted(fault)
    assert set(fault.caught_by) <= {case.name for case in CASES if not says(module, case)}
