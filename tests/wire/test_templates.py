"""Which URIs come from which templates."""

import pytest

from toolcrib.wire.templates import expands_to, names_a_scheme, specificity


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("file:///{path}", "file:///a", True),
        ("file:///{path}", "file:///a/b", False),
        ("file:///{+path}", "file:///a/b", True),
        ("db://{table}/rows/{id}", "db://users/rows/7", True),
        ("db://{table}/rows/{id}", "db://users/row/7", False),
        ("note://one", "note://one", True),
        ("note://{?q,limit}", "note://?q=a&limit=2", True),
        ("toolcrib://server/b/file:///{path}", "toolcrib://server/b/file:///a", True),
    ],
)
def test_a_template_expands_to_its_own_uris(template: str, uri: str, expected: object) -> None:
    assert expands_to(template, uri) is expected


@pytest.mark.parametrize("template", ["db://{id:3}/x", "db://{?list*}", "db://{+a}{+b}"])
def test_a_template_that_cannot_be_matched_backwards_goes_by_its_beginning(template: str) -> None:
    assert expands_to(template, "db://abc/x")
    assert not expands_to(template, "file:///abc")


def test_a_template_that_begins_with_a_variable_matches_nothing_by_its_beginning() -> None:
    assert not expands_to("{+a}{+b}", "file:///abc")


@pytest.mark.parametrize(
    ("closer", "wider"),
    [
        ("b://secret/{x}", "b://{x}"),
        ("b://{x}", "b:{+x}"),
        ("b://{x}", "{+all}"),
        ("db://{table}/rows", "db://{table}/{what}"),
        ("db://{table}/{id}", "db://{table}/{id}{?q}"),
        ("note://one", "note://{x}"),
    ],
)
def test_the_template_that_says_more_of_its_uris_is_the_closer_one(closer: str, wider: str) -> None:
    assert specificity(closer) > specificity(wider)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("file:///{path}", True),
        ("urn:x:{y}", True),
        ("{+all}", False),
        ("{scheme}://{x}", False),
        ("/files/{x}", False),
        ("b{x}:y", False),
    ],
)
def test_a_template_names_a_scheme_or_could_be_anybodys(template: str, expected: object) -> None:
    assert names_a_scheme(template) is expected
