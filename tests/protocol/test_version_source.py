"""Where a server publishes a version: the forms of `version_from`, and what is taken for one."""

from typing import Any

import pytest

from toolcrib.protocol.version_source import VersionSource, parse_version_source

VERSION = "dev.toolcrib/version"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("meta:example.com/version", VersionSource("meta", "example.com/version")),
        ("meta:a:b", VersionSource("meta", "a:b")),
        ("header:ETag", VersionSource("header", "etag")),
        ("header:x-api-version", VersionSource("header", "x-api-version")),
        ("tool:info#/version", VersionSource("tool", "info", ("version",))),
        ("tool:info#", VersionSource("tool", "info")),
        ("tool:info#/a~1b/~01/0", VersionSource("tool", "info", ("a/b", "~1", "0"))),
        ("tool:info#/", VersionSource("tool", "info", ("",))),
    ],
)
def test_a_form_says_where_to_look(text: str, source: VersionSource) -> None:
    assert parse_version_source(text) == source


@pytest.mark.parametrize(
    "text",
    ["", "version", "meta:", "meta:a b", "header:", "header:a b", "header:ä", "tool:info",
     "tool:#/a", "tool:info#a", "tool:info#/a~2", "tool:info#/~", "META:a", " meta:a", "meta:a\n"],
)  # fmt: skip
def test_any_other_form_says_nothing(text: str) -> None:
    assert parse_version_source(text) is None


def found(text: str, result: dict[str, Any], method: str = "tools/call", name: str = "info") -> Any:
    source = parse_version_source(text)
    assert source is not None
    return source.version(method, {"name": name}, result)


@pytest.mark.parametrize("method", ["tools/call", "tools/list", "resources/read"])
def test_a_member_of_meta_counts_in_every_result(method: str) -> None:
    assert found("meta:v", {"_meta": {"v": "1"}}, method) == "s1"
    assert found("header:etag", {"_meta": {VERSION: "1"}}, method) == "s1"


@pytest.mark.parametrize("result", [{}, {"_meta": None}, {"_meta": []}, {"_meta": {"w": 1}}])
def test_where_there_is_none_nothing_is_found(result: dict[str, Any]) -> None:
    assert found("meta:v", result) is None
    assert found("header:v", result) is None
    assert found("tool:info#/v", result) is None


def test_text_and_numbers_are_versions_and_not_each_others() -> None:
    values = ["1", 1, 1.5, "", "1.5", 2**70]
    versions = [found("meta:v", {"_meta": {"v": value}}) for value in values]
    assert None not in versions
    assert len(set(versions)) == len(values)


@pytest.mark.parametrize("value", [None, True, False, [], {}, ["1"], {"v": 1}, "x" * 1_025])
def test_anything_else_is_none(value: object) -> None:
    assert found("meta:v", {"_meta": {"v": value}}) is None


@pytest.mark.parametrize(
    ("pointer", "structured", "version"),
    [
        ("/v", {"v": "a"}, "sa"),
        ("", "a", "sa"),
        ("/a/1/v", {"a": [0, {"v": 7}]}, "n7"),
        ("/a~1b", {"a/b": "x"}, "sx"),
        ("/~0", {"~": "x"}, "sx"),
        ("/", {"": "x"}, "sx"),
        ("/a/2", {"a": [0, 1]}, None),
        ("/a/01", {"a": [0, "x"]}, None),
        ("/a/-", {"a": [0, "x"]}, None),
        ("/a/-1", {"a": [0, "x"]}, None),
        ("/a/99999999999999999999", {"a": ["x"]}, None),
        ("/a/b", {"a": "text"}, None),
        ("/v", None, None),
    ],
)
def test_a_pointer_leads_into_the_structured_result(
    pointer: str, structured: object, version: str | None
) -> None:
    assert found(f"tool:info#{pointer}", {"structuredContent": structured}) == version


def test_only_calls_of_that_tool_are_looked_at() -> None:
    result = {"structuredContent": {"v": "1"}}
    assert found("tool:info#/v", result) == "s1"
    assert found("tool:info#/v", result, name="other") is None
    assert found("tool:info#/v", result, method="prompts/get") is None
