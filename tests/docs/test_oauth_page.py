"""The part of docs/configuration.md about OAuth: its example works, and every key is on it."""

import json
import re
from pathlib import Path

from toolcrib.config.loading import load
from toolcrib.settings import HttpLaunch, OAuthSettings, Secret

PAGE = (Path(__file__).resolve().parents[2] / "docs/configuration.md").read_text()
PART = PAGE[PAGE.index("### OAuth") : PAGE.index("### `[gateway]`")]


def test_the_example_means_what_the_page_says(tmp_path: Path) -> None:
    example = re.findall(r"^```toml\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "toolcrib.toml").write_text(example)
    servers = {name: {"url": "https://x.example/mcp"} for name in ("tracker", "billing")}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    files = [tmp_path / "toolcrib.toml", tmp_path / "mcp.json"]
    found = load(files, {"BILLING_SECRET": "s"}, tmp_path)
    assert found.problems == ()
    tracker, billing = (server.launch for server in found.settings.servers)
    assert isinstance(tracker, HttpLaunch)
    assert tracker.oauth == OAuthSettings()
    assert isinstance(billing, HttpLaunch)
    assert billing.oauth == OAuthSettings(
        grant="client_credentials",
        issuer="https://login.example.com",
        client_id="crib",
        client_secret=Secret("s"),
    )


def test_every_key_is_explained_with_its_default() -> None:
    for key in OAuthSettings.__dataclass_fields__:
        assert re.search(rf"^\| `{key}` \| [^|]+ \| [^|]+ \|$", PART, re.MULTILINE), key
