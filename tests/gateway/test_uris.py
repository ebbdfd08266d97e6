"""URIs that several servers claim."""

import pytest

from toolcrib.core.snapshot import Kind
from toolcrib.gateway.uris import expose_uris, qualified, unqualified
from toolcrib.testing.fake_access import snapshot_of


def exposed(**servers: list[str]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """What each exposed URI leads to, and whom the findings are about."""
    catalogs = {
        server: snapshot_of(Kind.RESOURCES, [{"uri": uri, "name": uri} for uri in uris]).items
        for server, uris in servers.items()
    }
    entries, findings = expose_uris(catalogs)
    assert {finding.code for finding in findings} <= {"contested_uri"}
    table = {uri: (original.server, original.item.key) for uri, original in entries.items()}
    return table, [finding.server for finding in findings]


def test_uris_pass_unchanged_in_the_order_of_server_and_uri() -> None:
    table, findings = exposed(beta=["z://1"], alpha=["b://1", "a://1"])
    assert list(table) == ["a://1", "b://1", "z://1"]
    assert findings == []


def test_the_first_server_by_id_keeps_a_contested_uri_and_the_others_are_named() -> None:
    table, findings = exposed(c=["file:///a"], b=["file:///a", "file:///b"], a=["file:///a"])
    assert table == {
        "file:///a": ("a", "file:///a"),
        "toolcrib://server/b/file:///a": ("b", "file:///a"),
        "file:///b": ("b", "file:///b"),
        "toolcrib://server/c/file:///a": ("c", "file:///a"),
    }
    assert findings == ["b", "c"]


def test_a_server_cannot_take_anothers_place_with_a_uri_of_our_form() -> None:
    forged = "toolcrib://server/b/file:///a"
    table, _ = exposed(a=["file:///a", forged], b=["file:///a"])
    assert table[forged] == ("b", "file:///a")
    assert table[qualified("a", forged)] == ("a", forged)


@pytest.mark.parametrize(
    "uri",
    [
        "toolcrib://result/0123456789abcdef0123456789abcdef",
        "toolcrib://result/{id}",
        "toolcrib://{+anything}",
        "TOOLCRIB://result/1",
        "toolcrib://",
    ],
)
def test_a_server_cannot_take_the_place_of_what_only_we_give_out(uri: str) -> None:
    table, findings = exposed(a=[uri, "file:///a"])
    assert table == {"file:///a": ("a", "file:///a"), qualified("a", uri): ("a", uri)}
    assert unqualified(qualified("a", uri)) == ("a", uri)
    assert findings == []


@pytest.mark.parametrize("server", ["a", "a/b", "ü b", "a%2Fb", "%", "server"])
@pytest.mark.parametrize("uri", ["file:///a/b?c#d", "x:", "toolcrib://server/z/x", "a/b", "ü"])
def test_the_qualified_form_is_reversible(server: str, uri: str) -> None:
    assert unqualified(qualified(server, uri)) == (server, uri)


@pytest.mark.parametrize(
    "uri", ["file:///a", "toolcrib://server/", "toolcrib://server/a", "toolcrib://server/a/", ""]
)
def test_any_other_uri_is_not_of_our_form(uri: str) -> None:
    assert unqualified(uri) is None


def test_a_contested_template_stays_a_template() -> None:
    assert qualified("b", "file:///{+path}") == "toolcrib://server/b/file:///{+path}"
