"""What a launch becomes on the wire, and by which proxy: checked before anything is sent."""

import base64

import httpx2
import pytest

from toolcrib.adapters.http.client import HttpEndpoint
from toolcrib.adapters.http.launch import configured_headers, read_url
from toolcrib.adapters.http.proxy import choose_proxy, is_loopback
from toolcrib.errors import ConfigError
from toolcrib.settings import HttpLaunch, Secret
from toolcrib.testing.http_rig import launch_of

CANARY = "canary-8d1f0c77aa52"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/mcp",
        "ftp://h/",
        "http://",
        "https:///mcp",
        "http://h:port/",
        "http://[::1",
        "\x00",
    ],
)
def test_a_url_that_cannot_be_used_is_told_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_url(launch_of(f"{url}?{CANARY}" if url else url))
    assert CANARY not in caught.value.for_operator()
    assert "https://example.com/mcp" in caught.value.for_operator()


def test_spaces_around_a_url_and_its_fragment_are_dropped() -> None:
    assert (
        str(read_url(launch_of(" https://example.com/mcp?a=1#part\n")))
        == "https://example.com/mcp?a=1"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-key", f"{CANARY}\r\nevil: 1"),
        ("x-key", f"{CANARY}\x00"),
        ("x-key", f"{CANARY}\ud800"),
        (f"authorization: {CANARY}", "x"),
        ("", CANARY),
        ("naïve", CANARY),
    ],
)
def test_a_header_that_cannot_be_sent_is_told_without_its_value(name: str, value: str) -> None:
    launch = HttpLaunch(Secret("http://example.com/"), headers={name: Secret(value)})
    with pytest.raises(ConfigError) as caught:
        configured_headers(launch, read_url(launch))
    assert CANARY not in caught.value.for_operator()


def test_values_are_trimmed_and_sent_as_utf_8() -> None:
    launch = launch_of("http://example.com/", x_key=" tökén\n", USER_AGENT="mine", Accept="x")
    headers = configured_headers(launch, read_url(launch))
    assert headers["x-key"] == "tökén".encode()
    assert headers["user-agent"] == b"mine"
    assert "accept" not in headers


def test_a_configured_authorization_beats_the_one_in_the_url() -> None:
    bare = launch_of("http://ann:pw@example.com/")
    expected = b"Basic " + base64.b64encode(b"ann:pw")
    assert configured_headers(bare, read_url(bare))["authorization"] == expected
    both = launch_of("http://ann:pw@example.com/", authorization="Bearer t")
    assert configured_headers(both, read_url(both))["authorization"] == b"Bearer t"


@pytest.mark.parametrize("host", ["localhost", "app.localhost", "127.0.0.1", "127.8.9.1", "::1"])
def test_this_machine_is_known_by_name_and_address(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["example.com", "10.0.0.1", "localhost.example.com", "::2"])
def test_other_machines_are_not_this_one(host: str) -> None:
    assert not is_loopback(host)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://example.com/mcp", "http://s-proxy:3128"),
        ("http://example.com/mcp", "http://p-proxy:3128"),
        ("http://localhost:1/mcp", None),
        ("http://127.0.0.1:1/mcp", None),
        ("http://[::1]:1/mcp", None),
        ("https://in.corp.example/mcp", None),
        ("https://10.1.2.3/mcp", None),
        ("https://11.1.2.3/mcp", "http://s-proxy:3128"),
    ],
)
def test_the_proxy_of_the_environment_is_used_except_where_it_should_not(
    environment: pytest.MonkeyPatch, url: str, proxy: str | None
) -> None:
    environment.setenv("HTTPS_PROXY", "http://s-proxy:3128")
    environment.setenv("HTTP_PROXY", "p-proxy:3128")
    environment.setenv("NO_PROXY", ".corp.example, 10.0.0.0/8,,[bad]/x")
    assert choose_proxy(httpx2.URL(url)) == proxy


def test_one_proxy_for_all_schemes_is_used_too(environment: pytest.MonkeyPatch) -> None:
    assert choose_proxy(httpx2.URL("https://example.com/")) is None
    environment.setenv("ALL_PROXY", "http://a-proxy:1")
    assert choose_proxy(httpx2.URL("https://example.com/")) == "http://a-proxy:1"


@pytest.mark.parametrize("proxy", [f"gopher://{CANARY}", f"http://h:{CANARY}"])
def test_a_proxy_that_cannot_be_used_is_a_configuration_error(
    environment: pytest.MonkeyPatch, proxy: str
) -> None:
    environment.setenv("ALL_PROXY", proxy)
    with pytest.raises(ConfigError) as caught:
        HttpEndpoint(launch_of("https://example.com/"), None, 1)
    assert CANARY not in caught.value.for_operator()


@pytest.mark.parametrize(
    ("base", "reference", "target"),
    [
        ("http://h/mcp", "/m?s=1", "http://h/m?s=1"),
        ("http://h/a/mcp", "m", "http://h/a/m"),
        ("http://h:80/mcp", "http://h/m", "http://h/m"),
        ("http://h/mcp", "https://h/mcp", "https://h/mcp"),
        ("http://h:8080/mcp", "https://h:8080/mcp", None),
        ("https://h/mcp", "http://h/mcp", None),
        ("http://h/mcp", "http://h:81/mcp", None),
        ("http://h/mcp", "//other/mcp", None),
        ("http://h/mcp", "http://u:p@h/mcp", None),
        ("http://h/mcp", "http://h.example/mcp", None),
        ("http://h/mcp", "file:///etc/passwd", None),
        ("http://h/mcp", "http://[", None),
    ],
)
def test_a_reference_is_followed_only_within_the_origin(
    base: str, reference: str, target: str | None
) -> None:
    endpoint = HttpEndpoint(
        launch_of(base), httpx2.MockTransport(lambda _: httpx2.Response(200)), 1
    )
    resolved = endpoint.resolve(reference)
    assert (None if resolved is None else str(resolved)) == target
    assert base not in repr(endpoint)
