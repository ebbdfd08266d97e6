import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.protocol.pages import MOST_URL, Page, parse_page


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://mcp.example.com/ui/set_api_key", "mcp.example.com"),
        ("https://EXAMPLE.com/?state=abc&token=nonce#top", "example.com"),
        ("http://localhost:8080/cb", "localhost"),
        ("http://127.0.0.1:1/", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://app.localhost/", "app.localhost"),
    ],
)
def test_a_page_keeps_its_address_and_names_its_host(url: str, host: str) -> None:
    page = parse_page(url)
    assert isinstance(page, Page)
    assert (page.url, page.host) == (url, host)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (None, "is null, not a string"),
        (7, "is a number, not a string"),
        ("", "only https"),
        ("example.com/login", "only https"),
        ("//example.com/login", "only https"),
        ("http://example.com/", "is not https"),
        ("http://127.0.0.1.evil.example/", "is not https"),
        ("http://localhost.evil.example/", "is not https"),
        ("javascript:alert(1)", "`javascript`"),
        ("file:///etc/passwd", "`file`"),
        ("data:text/html,x", "`data`"),
        ("https:///path", "names no host"),
        ("https:example.com", "names no host"),
        ("https://user@example.com/", "user name or password"),
        ("https://example.com@evil.example/", "user name or password"),
        ("https://user:pw@example.com/", "user name or password"),
        ("https://example.com/?access_token=x", "`access_token`"),
        ("https://example.com/#id_token=x", "`id_token`"),
        ("https://example.com/?a=1&Api-Key=x", "`Api-Key`"),
        ("https://example.com/?password", "`password`"),
        ("https://example.com\\@evil.example/", "backslashes"),
        ("https://exa mple.com/", "spaces"),
        ("https://example.com/\u202egnp.exe", "invisible"),
        ("https://exam\u200bple.com/", "invisible"),
        ("https://example.com/\ud800", "invisible"),
        ("https://example.com:99999/", "is no URL"),
        ("https://[::1/", "is no URL"),
        ("https://example.com/" + "a" * MOST_URL, "more than 8192"),
    ],
)
def test_an_address_that_nobody_is_sent_to_is_told_why(url: object, reason: str) -> None:
    page = parse_page(url)
    assert isinstance(page, str)
    assert reason in page


@pytest.mark.parametrize(
    ("url", "warning"),
    [
        ("https://xn--80ak6aa92e.com/", "Punycode"),
        ("https://bücher.example/", "beyond ASCII"),
        ("https://p\u0430ypal.example/", "several scripts"),
        ("https://xn--pypal-4ve.example/", "several scripts"),
        ("https://xn--\u00fc.example/", "Punycode"),
        ("https://203.0.113.7/", "a number"),
        ("https://0x7f.1/", "a number"),
        ("https://3232235777/", "a number"),
        ("https://example.com:8443/", "port is 8443"),
    ],
)
def test_what_looks_odd_about_an_address_is_said(url: str, warning: str) -> None:
    page = parse_page(url)
    assert isinstance(page, Page)
    assert any(warning in text for text in page.warnings)


@pytest.mark.parametrize(
    "url", ["https://example.com/", "https://example.com:443/", "https://a-b.example.co.uk/x?y=z"]
)
def test_an_ordinary_address_has_nothing_odd(url: str) -> None:
    page = parse_page(url)
    assert isinstance(page, Page)
    assert page.warnings == ()


def test_japanese_hosts_do_not_count_as_mixed() -> None:
    page = parse_page("https://日本のサイト.example/")
    assert isinstance(page, Page)
    assert not any("scripts" in text for text in page.warnings)


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_text_is_judged(text: str) -> None:
    for url in (text, f"https://{text}", f"https://example.com/{text}"):
        page = parse_page(url)
        assert isinstance(page, str) or page.url == url
