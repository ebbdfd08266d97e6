"""Who may speak to us over HTTP, on every bind address."""

from typing import Any

import pytest

from toolcrib.wire.http.guard import Authority, Guard, Headers, HttpLimits

LOCAL = {"server": ("127.0.0.1", 8770), "scheme": "http"}
WILDCARD = "0.0.0.0"  # noqa: S104 - an address that is not to be believed
OPEN = {"server": ("192.168.1.5", 8770), "scheme": "http"}
"""What a connection from the network looks like where all addresses are bound."""


def status(
    headers: dict[str, str] | Headers,
    scope: dict[str, Any] = LOCAL,
    hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
) -> int | None:
    lines = tuple(headers.items()) if isinstance(headers, dict) else headers
    turned = Guard.of(hosts, origins).turned(scope, lines)
    return None if turned is None else turned.status


@pytest.mark.parametrize("scope", [LOCAL, OPEN], ids=["loopback", "all addresses"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1:8770", "localhost:8770", "localhost", "LOCALHOST:1", "[::1]:8770", "[::1]"]
)
def test_loopback_names_are_served_on_every_bind_address(host: str, scope: dict[str, Any]) -> None:
    assert status({"host": host}, scope) is None


@pytest.mark.parametrize("scope", [LOCAL, OPEN], ids=["loopback", "all addresses"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8770",
        "127.0.0.1.evil.example:8770",
        "localhost.evil.example",
        "evil.example@127.0.0.1",
        "127.0.0.1:8770/evil",
        "127.0.0.1:99999",
        "",
        "::1",
        "[::1",
        "10.0.0.1:8770",
    ],
)
def test_a_foreign_or_broken_host_is_misdirected(host: str, scope: dict[str, Any]) -> None:
    assert status({"host": host}, scope) == 421


def test_a_missing_or_doubled_host_is_misdirected() -> None:
    assert status({}) == 421
    assert status((("host", "localhost"), ("host", "evil.example"))) == 421


def test_the_address_that_was_connected_to_is_served_without_configuration() -> None:
    assert status({"host": "192.168.1.5:8770"}, OPEN) is None
    assert status({"host": "192.168.1.6:8770"}, OPEN) == 421
    assert status({"host": "[fe80::5]:8770"}, {"server": ("fe80:0::5", 8770)}) is None
    assert status({"host": "192.168.1.5:8770"}, {"server": None}) == 421


def test_an_address_is_the_same_however_the_socket_shows_it() -> None:
    both_families = {"server": ("::ffff:192.168.1.5", 8770)}
    assert status({"host": "192.168.1.5:8770"}, both_families) is None
    assert status({"host": "[::ffff:192.168.1.5]:8770"}, OPEN) is None
    assert status({"host": "192.168.1.6:8770"}, both_families) == 421
    assert status({"host": "[FE80::5]:8770"}, {"server": ("fe80::5%eth0", 8770)}) is None


@pytest.mark.parametrize("server", [(WILDCARD, 8770), ("::", 8770), ("127.0.0.1", 8770)], ids=str)
@pytest.mark.parametrize("host", ["evil.example:8770", "EVIL.EXAMPLE", "0.0.0.1", "[::2]:8770"])
def test_a_wildcard_as_our_own_address_lets_nobody_else_in(
    host: str, server: tuple[str, int]
) -> None:
    assert status({"host": host}, {"server": server}) == 421


@pytest.mark.duty(22)
@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://0.0.0.0:8770"])
@pytest.mark.parametrize(
    ("host", "server"),
    [
        ("localhost:8770", ("127.0.0.1", 8770)),
        ("[::1]:8770", ("::1", 8770)),
        ("192.168.1.5:8770", ("192.168.1.5", 8770)),
        ("[2001:DB8::1]:8770", ("2001:db8::1", 8770)),
        ("192.168.1.5", ("::ffff:192.168.1.5", 8770)),
    ],
)
def test_no_origin_of_a_stranger_is_let_in_wherever_we_are_bound(
    origin: str, host: str, server: tuple[str, int]
) -> None:
    scope = {"server": server, "scheme": "http"}
    assert status({"host": host}, scope) is None
    assert status({"host": host, "origin": origin}, scope) == 403


@pytest.mark.parametrize(
    "origin",
    ["HTTP://LOCALHOST:1", "http://[::1]:99", "HTTP://CRIB.EXAMPLE", "Http://[2001:DB8::1]:8770"],
)
def test_names_and_schemes_are_compared_without_their_case(origin: str) -> None:
    scope = {"server": ("2001:db8::1", 8770), "scheme": "http"}
    headers = {"host": "[2001:db8::1]:8770", "origin": origin}
    assert status(headers, scope, origins=("http://crib.example",)) is None


def test_configured_hosts_are_served_with_their_port_or_with_any() -> None:
    with_port = ("crib.example:8443",)
    assert status({"host": "crib.example:8443"}, hosts=with_port) is None
    assert status({"host": "Crib.Example.:8443"}, hosts=with_port) is None
    assert status({"host": "crib.example:8444"}, hosts=with_port) == 421
    assert status({"host": "crib.example"}, hosts=with_port) == 421
    assert status({"host": "crib.example:1"}, hosts=("crib.example",)) is None


def test_a_configured_default_port_may_be_left_out_as_browsers_do() -> None:
    assert status({"host": "crib.example"}, hosts=("crib.example:443",)) is None
    assert status({"host": "crib.example:443"}, hosts=("crib.example:443",)) is None


@pytest.mark.duty(22)
@pytest.mark.parametrize("scope", [LOCAL, OPEN], ids=["loopback", "all addresses"])
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://evil.example:8770",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "null",
        "",
        "file://",
        "chrome-extension://abcdef",
        "http://",
    ],
)
def test_a_foreign_origin_is_forbidden_on_every_bind_address(
    origin: str, scope: dict[str, Any]
) -> None:
    assert status({"host": "127.0.0.1:8770", "origin": origin}, scope) == 403


def test_a_foreign_origin_is_forbidden_although_its_name_was_rebound_to_us() -> None:
    assert status({"host": "192.168.1.5:8770", "origin": "http://evil.example:8770"}, OPEN) == 403


@pytest.mark.parametrize(
    "origin", ["http://localhost:6274", "http://127.0.0.1", "https://localhost", "http://[::1]:80"]
)
def test_pages_of_this_machine_are_allowed(origin: str) -> None:
    assert status({"host": "127.0.0.1:8770", "origin": origin}) is None


def test_no_origin_is_fine_because_only_browsers_send_one() -> None:
    assert status({"host": "127.0.0.1:8770"}) is None


def test_our_own_pages_are_allowed_and_other_ports_of_our_host_are_not() -> None:
    host = {"host": "192.168.1.5:8770"}
    assert status({**host, "origin": "http://192.168.1.5:8770"}, OPEN) is None
    assert status({**host, "origin": "http://192.168.1.5:8080"}, OPEN) == 403
    assert status({**host, "origin": "https://192.168.1.5:8770"}, OPEN) == 403


def test_our_own_origin_on_the_default_port_is_the_same_with_and_without_it() -> None:
    scope = {"server": ("192.168.1.5", 80), "scheme": "http"}
    headers = {"host": "192.168.1.5:80", "origin": "http://192.168.1.5"}
    assert status(headers, scope) is None


def test_configured_origins_are_compared_with_scheme_and_port() -> None:
    allowed = ("https://app.example", "http://app.example:3000")

    def of(origin: str) -> int | None:
        return status({"host": "localhost", "origin": origin}, origins=allowed)

    assert of("https://app.example") is None
    assert of("https://app.example:443") is None
    assert of("http://app.example:3000") is None
    assert of("http://app.example") == 403
    assert of("https://app.example:3000") == 403


def test_every_one_of_several_origins_has_to_be_allowed() -> None:
    lines = (
        ("host", "localhost"),
        ("origin", "http://localhost"),
        ("origin", "http://evil.example"),
    )
    assert status(lines) == 403


@pytest.mark.parametrize("host", ["http://crib.example", "crib.example/path", "a b", ""])
def test_a_configured_host_that_cannot_be_read_is_named(host: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts") as raised:
        Guard.of([host], ())
    assert repr(host) in str(raised.value)


@pytest.mark.parametrize("origin", ["crib.example", "ftp://crib.example", "https://", "*"])
def test_a_configured_origin_that_cannot_be_read_is_named(origin: str) -> None:
    with pytest.raises(ValueError, match="allowed_origins") as raised:
        Guard.of((), [origin])
    assert repr(origin) in str(raised.value)


def test_too_many_and_too_large_headers_are_turned_away_before_anything_else() -> None:
    limits = HttpLimits(header_lines=3, header_bytes=100)
    guard = Guard.of((), (), limits)
    host = ("host", "localhost")

    def turned(lines: Headers) -> int | None:
        verdict = guard.turned(LOCAL, lines)
        return None if verdict is None else verdict.status

    assert turned((host, ("a", "1"), ("b", "2"))) is None
    assert turned((host, ("a", "1"), ("b", "2"), ("c", "3"))) == 431
    assert turned((host, ("a", "x" * 100))) == 431


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.example:80", Authority("a.example", 80)),
        ("A.EXAMPLE.", Authority("a.example", None)),
        ("[::1]:8", Authority("::1", 8)),
        ("a?b", None),
        ("a#b", None),
        ("a\\b", None),
        ("a:b", None),
    ],
)
def test_a_host_header_is_read_strictly(text: str, expected: Authority | None) -> None:
    assert Authority.parse(text) == expected
