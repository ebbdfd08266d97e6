"""What docs/troubleshooting.md explains is really said, and what it advises really helps."""

import re
from pathlib import Path

import httpx2
import pytest

from toolcrib.testing.live.gateway import serving
from toolcrib.testing.live.room import Room
from toolcrib.testing.scripted_server import Content, scripted_stdio, tool

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/troubleshooting.md").read_text()
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")][1:]
QUOTED = re.compile(r"`([^`]+)`")
COMPOSED = {
    "__": 'JOINT = "__"',
    "item_quarantined": "class ItemQuarantined",
    "needs the environment variable": 'f"needs {what}, which ',
}
"""How the code says what it puts together."""
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.py")))

PARTS = [
    part.strip()
    for row in ROWS
    for quoted in QUOTED.findall(row[0])
    for part in quoted.split("…")
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
    assert rows["crashing"]["trouble"].endswith("exited with status 3; last line on stderr: no key")
    assert "configure its full path" in rows["missing"]["trouble"]
    assert rows["unset"]["state"] == "unusable"
    assert "needs the environment variable NOT_SET_ANYWHERE" in ran.err
    assert "write ${NOT_SET_ANYWHERE:-default}" in ran.err


async def test_a_server_inherits_nothing_but_what_the_page_names(tmp_path: Path) -> None:
    room = Room(tmp_path, API_KEY="secret")
    async with scripted_stdio(Content(tools=[tool("a")])) as server:
        bare, given = server.entry(), {**server.entry(), "env": {"API_KEY": "${API_KEY}"}}
        config = room.configure({"bare": bare, "given": given})
        assert (await room.run("list", "--config", config)).code == 0
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
