"""What docs/troubleshooting.md explains is really said, and what it advises really helps."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from toolcrib.core.partition import ANONYMOUS
from toolcrib.errors import UpstreamRefused, UpstreamUnreachable
from toolcrib.settings import ExposureSettings, GatewaySettings, Strategy
from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted import ScriptedUpstream
from toolcrib.testing.scripted_crib import server_settings
from toolcrib.testing.scripted_gateway import scripted_gateway
from toolcrib.testing.scripted_server import Content, Refuse, scripted_http, scripted_stdio, tool

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text()
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]
QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"")
COMPOSED = {
    "__": 'JOINT = "__"',
    "item_quarantined": "class ItemQuarantined",
    "needs the environment variable": 'f"needs {what}, which ',
    "no question waits under": 'f"{what} waits under {quoted(given)}"',
}
"""How the code says what it puts together."""
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.py")))

PARTS = [
    part.strip()
    for row in ROWS
    for code, words in QUOTED.findall(row[0])
    for part in (code or words).split("…")
    if part.strip()
]


@pytest.mark.parametrize("part", PARTS)
def test_a_message_that_is_explained_exists(part: str) -> None:
    assert COMPOSED.get(part, part) in SOURCE


async def test_a_crashing_server_shows_its_last_words_and_a_missing_one_its_remedy(
    tmp_path: Path,
) -> None:
    room = Room(tmp_path)
    config = room.configure(
        {
            "crashing": {"command": "sh", "args": ["-c", "echo no key >&2; exit 3"]},
            "missing": {"command": "no-such-command-anywhere"},
            "unset": {"command": "x", "env": {"KEY": "${NOT_SET_ANYWHERE}"}},
        }
    )
    ran = await room.run("list", "--servers", "--config", config, "--json", "--wait", "2")
    rows = {row["id"]: row for row in ran.document["servers"]}
    assert rows["crashing"]["trouble"].endswith("exited with status 3; on stderr: no key")
    assert "configure its full path" in rows["missing"]["trouble"]
    assert rows["unset"]["state"] == "unusable"
    assert "needs the environment variable NOT_SET_ANYWHERE" in ran.err
    assert "write ${NOT_SET_ANYWHERE:-default}" in ran.err


async def test_a_server_inherits_nothing_but_what_the_page_names(tmp_path: Path) -> None:
    room = Room(tmp_path, API_KEY="secret")
    async with scripted_stdio(Content(tools=[tool("a")])) as server:
        bare, given = server.entry(), {**server.entry(), "env": {"API_KEY": "${API_KEY}"}}
        config = room.configure({"bare": bare, "given": given})
        assert (await room.run("list", "--config", config, "--wait", "50")).code == 0
        seen = [process.env for process in await server.processes()]
    assert all({"HOME", "PATH"} <= env.keys() for env in seen)
    assert sorted(env.get("API_KEY", "") for env in seen) == ["", "secret"]
    assert "NO_COLOR" not in seen[0]


async def test_names_and_origins_are_turned_away_until_they_are_listed(tmp_path: Path) -> None:
    room = Room(tmp_path)
    tuning = room.write(
        "toolcrib.toml",
        '[gateway]\nallowed_hosts = ["crib.example.com"]\n'
        'allowed_origins = ["https://app.example.com"]\n',
    )
    async with (
        serving(room, "--config", tuning) as gateway,
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        page = gateway.url.replace("/mcp", "/healthz")
        for name, value, status in (
            ("host", "evil.example.com", 421),
            ("host", "crib.example.com", 200),
            ("origin", "https://evil.example.com", 403),
            ("origin", "https://app.example.com", 200),
        ):
            assert (await http.get(page, headers={name: value})).status_code == status


# ---------------------------------------------------------------- calls


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("strategy", "code"),
    [("auto", "changed_silently"), ("always", "schema_changed")],
)
async def test_a_strategy_finds_out_what_a_server_does_not_tell(
    strategy: Strategy, code: str
) -> None:
    async def turn_down(_: str, params: Mapping[str, Any]) -> dict[str, Any]:
        raise UpstreamRefused(f"no {[*params['arguments']]}", rpc_code=-32602)

    script = ScriptedUpstream([tool("t", a={"type": "string"})], ttl_ms=3_600_000)
    script.on_call = turn_down
    settings = {"s": server_settings("s", strategy=strategy)}
    async with scripted_gateway({"s": script}, settings=settings) as gateway:
        await gateway.names()
        await anyio.sleep(10)
        script.change([tool("t", b={"type": "string"})], signal=False)
        error = (await gateway.call("s__t", a="x"))["structuredContent"]["error"]
        assert error["code"] == code
        assert len(script.calls) == (code == "changed_silently")


async def test_a_server_that_wants_a_login_says_which_command_or_which_key(tmp_path: Path) -> None:
    room = Room(tmp_path)
    async with scripted_http(Content(tools=[tool("t")])) as server:
        config = room.configure({"plain": server.entry()})
        call = ["call", "plain__t", "--config", config, "--wait", "50"]
        assert (await room.run(*call)).code == 0
        await server.on("tools/call", Refuse(401, {"www-authenticate": "Bearer"}))
        ran = await room.run(*call, "--json")
    error = ran.document["error"]
    assert (ran.code, error["code"]) == (1, "auth_required")
    assert "its headers" in error["remedy"]
    assert "[servers.plain.oauth]" in error["remedy"]
    assert "`toolcrib login plain`" in error["remedy"]


# ---------------------------------------------------------------- what a model sees and finds


def text_of(result: Mapping[str, Any]) -> str:
    return result["content"][0]["text"]


@pytest.mark.virtual_time
async def test_large_catalogs_leave_three_tools_and_each_of_the_settings_shows_more() -> None:
    script = ScriptedUpstream([tool(f"t{n:03}") for n in range(300)])
    for gateway, exposure, more in (
        (GatewaySettings(), ExposureSettings(), False),
        (GatewaySettings(exposure="full"), ExposureSettings(), True),
        (GatewaySettings(), ExposureSettings(window=1_000_000), True),
        (GatewaySettings(), ExposureSettings(pinned=("s__t001",)), True),
    ):
        async with scripted_gateway({"s": script}, gateway=gateway, exposure=exposure) as served:
            await served.crib.catalogs().reach()
            names = await served.names()
            assert ("s__t001" in names) == more
            if not more:
                assert names == ["search_tools", "get_tool_details", "call_tool"]


@pytest.mark.virtual_time
async def test_nothing_found_tells_of_servers_that_were_not_reached_or_not_enabled() -> None:
    away, other = ScriptedUpstream([tool("t")]), ScriptedUpstream([tool("u")])
    away.faults.connect = UpstreamUnreachable("away")
    scripts = {"away": away, "asleep": other, "there": ScriptedUpstream([tool("v")])}
    settings = {"asleep": server_settings("asleep", on_demand=True)}
    shown = GatewaySettings(exposure="search")
    async with scripted_gateway(scripts, settings=settings, gateway=shown) as served:
        told = text_of(await served.call("search_tools", query="zzz"))
    assert told.startswith("No tool found for `zzz`")
    assert "Not reached: `away` (" in told
    assert "Not enabled: `asleep`" in told


@pytest.mark.virtual_time
async def test_enable_server_says_what_is_wrong_and_calling_it_again_tries_again() -> None:
    script = ScriptedUpstream([tool("t")])
    script.faults.connect = UpstreamUnreachable("it is down")
    settings = {"s": server_settings("s", on_demand=True)}
    async with scripted_gateway({"s": script}, settings=settings) as served:
        unknown = await served.call("enable_server", server="x")
        assert "There is neither a server nor a skill" in text_of(unknown)
        told = text_of(await served.call("enable_server", server="s"))
        assert "but its tools are not there yet" in told
        assert "it is down" in told
        script.faults.connect = None
        await anyio.sleep(2)
        assert "1 tool: s__t" in text_of(await served.call("enable_server", server="s"))
        anonymous = await served.call("enable_server", ANONYMOUS, server="s")
        assert "cannot be enabled for callers without an identity" in text_of(anonymous)
