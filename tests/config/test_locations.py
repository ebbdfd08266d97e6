"""Where configuration, key and store are."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from toolcrib.config.locations import config_dir, default_store_path, find_files, key_path

HOME = Path("/home/me")


@pytest.mark.parametrize(
    ("platform", "env", "config", "store"),
    [
        ("linux", {}, ".config/toolcrib", ".local/share/toolcrib"),
        (
            "linux",
            {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"},
            "/c/toolcrib",
            "/d/toolcrib",
        ),
        (
            "freebsd13",
            {"XDG_CONFIG_HOME": "relative", "XDG_DATA_HOME": ""},
            ".config/toolcrib",
            ".local/share/toolcrib",
        ),
        (
            "darwin",
            {"XDG_CONFIG_HOME": "/c"},
            "Library/Application Support/toolcrib",
            "Library/Application Support/toolcrib",
        ),
        (
            "win32",
            {"APPDATA": "/roaming", "LOCALAPPDATA": "/local"},
            "/roaming/toolcrib",
            "/local/toolcrib",
        ),
        ("win32", {}, "AppData/Roaming/toolcrib", "AppData/Local/toolcrib"),
    ],
)
def test_each_system_has_its_customs(
    platform: str, env: Mapping[str, str], config: str, store: str
) -> None:
    assert config_dir(env, HOME, platform) == HOME / config
    assert key_path(env, HOME, platform) == HOME / config / "key"
    assert default_store_path(env, HOME, platform) == HOME / store / "catalogs.sqlite"


def test_only_files_that_exist_are_found(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").mkdir()
    (tmp_path / ".mcp.json").write_text("{}")
    assert find_files({}, tmp_path / "home", tmp_path) == (tmp_path / ".mcp.json",)
