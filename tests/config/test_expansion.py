"""`${…}`: replaced or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.expansion import Scope, Unresolved, expand, input_variable

ENV = {
    "TOKEN": "tok",
    "EMPTY": "",
    "ODD": "${TOKEN}",
    "ProgramFiles(x86)": "C:\\P",
    "TOOLCRIB_INPUT_API_KEY": "answer",
}
SCOPE = Scope(ENV, workspace="/home/me/project", home="/home/me")


@pytest.mark.parametrize(
    ("written", "becomes"),
    [
        ("plain $TOKEN {TOKEN} $ {", "plain $TOKEN {TOKEN} $ {"),
        ("${TOKEN}", "tok"),
        ("${env:TOKEN}", "tok"),
        ("Bearer ${TOKEN}!", "Bearer tok!"),
        ("${TOKEN}${TOKEN}", "toktok"),
        ("$${TOKEN}", "$tok"),
        ("${MISSING:-x}", "x"),
        ("${env:MISSING:-x}", "x"),
        ("${EMPTY:-x}", "x"),
        ("${TOKEN:-x}", "tok"),
        ("${MISSING:-http://h:1/a}", "http://h:1/a"),
        ("${MISSING:-${TOKEN}}", "tok"),
        ("${MISSING:-${OTHER:-deep}}/z", "deep/z"),
        ("${MISSING:-}", ""),
        ("${ODD}", "${TOKEN}"),
        ("${ProgramFiles(x86)}", "C:\\P"),
        ("${input:api-key}", "answer"),
        ("${workspaceFolder}/x", "/home/me/project/x"),
        ("${workspaceFolderBasename}", "project"),
        ("${userHome}", "/home/me"),
        ("a${/}b${pathSeparator}c", "a/b/c"),
    ],
)
def test_references_are_replaced(written: str, becomes: str) -> None:
    assert expand(written, SCOPE, may_vanish=True) == becomes


@pytest.mark.parametrize(
    ("written", "message", "remedy"),
    [
        ("${MISSING}", "environment variable MISSING, which is not set", "set MISSING"),
        ("a ${env:MISSING} b", "MISSING, which is not set", "${MISSING:-default}"),
        ("${EMPTY}", "EMPTY, which is empty", "set EMPTY"),
        ("${input:gh token}", "TOOLCRIB_INPUT_GH_TOKEN", "set TOOLCRIB_INPUT_GH_TOKEN"),
        ("${command:pick}", "${command:…}, which toolcrib cannot resolve", "${env:NAME}"),
        ("${config:a.b}", "${config:…}", "${env:NAME}"),
        ("${workspaceFolder:other}", "${workspaceFolder:…}", "${workspaceFolder}"),
        ("${}", "not understood", "${NAME}"),
        ("${a b}", "not understood", "${NAME}"),
        ("${TOKEN:?x}", "${TOKEN:…}, which toolcrib cannot", "${NAME:-default}"),
        ("${TOKEN-x}", "not understood", "${NAME:-default}"),
        ("${env:}", "not understood", "${NAME}"),
        ("${input:}", "not understood", "${NAME}"),
        ("${TOKEN", "never closed", "}"),
        ("${A:-${TOKEN}", "never closed", "}"),
        ("${A:-" * 20 + "}" * 20, "not understood", "${NAME}"),
    ],
)
def test_what_cannot_be_replaced_is_refused_with_a_remedy(
    written: str, message: str, remedy: str
) -> None:
    with pytest.raises(Unresolved) as caught:
        expand(written, SCOPE, may_vanish=True)
    assert message in caught.value.message
    assert remedy in caught.value.remedy


def test_an_input_takes_no_default_from_the_remedy() -> None:
    with pytest.raises(Unresolved) as caught:
        expand("${input:k}", SCOPE, may_vanish=True)
    assert "default" not in caught.value.remedy


def test_where_a_credential_is_sent_a_reference_may_not_become_nothing() -> None:
    with pytest.raises(Unresolved, match="empty default") as caught:
        expand("Bearer ${MISSING:-}", SCOPE, may_vanish=False)
    assert "never sent" in caught.value.remedy
    with pytest.raises(Unresolved):
        expand("Bearer ${MISSING:-${EMPTY:-}}", SCOPE, may_vanish=False)


def test_bare_references_count_only_where_they_are_meant() -> None:
    bare = Scope(ENV, workspace="/", home="/", bare=True)
    assert expand("Bearer {env:TOKEN} ${TOKEN} {x}", bare, may_vanish=True) == "Bearer tok tok {x}"
    assert expand("{env:TOKEN}", SCOPE, may_vanish=True) == "{env:TOKEN}"
    with pytest.raises(Unresolved, match="file"):
        expand("{file:~/key}", bare, may_vanish=True)


def test_the_variable_of_an_input_is_in_upper_case() -> None:
    assert input_variable("my-Key 1") == "TOOLCRIB_INPUT_MY_KEY_1"


def refusal(text: str, scope: Scope, *, may_vanish: bool) -> Unresolved | str:
    try:
        return expand(text, scope, may_vanish=may_vanish)
    except Unresolved as problem:
        return problem


@given(st.text(alphabet="${}:-aAenv/", max_size=30))
def test_no_reference_is_ever_left_in_the_text(text: str) -> None:
    scope = Scope({"a": "1", "A": "2", "env": "3"}, workspace="w", home="h")
    found = refusal(text, scope, may_vanish=True)
    assert isinstance(found, Unresolved) or "${" not in found


@given(st.text(alphabet="${}:-aAenv", max_size=30))
def test_values_never_appear_in_a_refusal_or_a_repr(text: str) -> None:
    scope = Scope({"a": "canary", "env": "canary"}, workspace="w", home="h")
    assert "canary" not in repr(scope)
    problem = refusal(text + "${MISSING}", scope, may_vanish=False)
    if isinstance(problem, Unresolved):
        assert "canary" not in f"{problem!r} {problem.message} {problem.remedy}"
