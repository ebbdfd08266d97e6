"""Where things are when nobody says so, by the customs of each system.

- Configuration and key: `$XDG_CONFIG_HOME/toolcrib`, else `~/.config/toolcrib`; on macOS
  `~/Library/Application Support/toolcrib`, on Windows the folder `toolcrib` in `%APPDATA%`.
- Store: `$XDG_DATA_HOME/toolcrib`, else `~/.local/share/toolcrib`; on macOS as above, on
  Windows the folder `toolcrib` in `%LOCALAPPDATA%`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PROJECT_FILES: Final = ("toolcrib.toml", ".mcp.json", "mcp.json", ".vscode/mcp.json")
"""What is looked for in the working directory, in this order; the first to name a server wins."""
USER_FILES: Final = ("toolcrib.toml", "mcp.json")
"""What is looked for in the configuration directory, after the files of the project."""

_NAME: Final = "toolcrib"
_APPLE: Final = "Library/Application Support"


def config_dir(env: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """The directory of the user's configuration and of the installation's key."""
    return _directory(env, home, platform, ("XDG_CONFIG_HOME", ".config"), ("APPDATA", "Roaming"))


def default_store_path(env: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """The SQLite file that keeps snapshots where no other is configured."""
    data = ("XDG_DATA_HOME", ".local/share")
    return _directory(env, home, platform, data, ("LOCALAPPDATA", "Local")) / "catalogs.sqlite"


def key_path(env: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """The file that holds the secret of this installation."""
    return config_dir(env, home, platform) / "key"


def vault_path(env: Mapping[str, str], home: Path, platform: str = sys.platform) -> Path:
    """The folder of saved logins, encrypted."""
    return config_dir(env, home, platform) / "vault"


def find_files(env: Mapping[str, str], home: Path, folder: Path) -> tuple[Path, ...]:
    """The files that exist, where none was named: those of the project, then those of the user."""
    user = config_dir(env, home)
    wanted = [*(folder / name for name in PROJECT_FILES), *(user / name for name in USER_FILES)]
    return tuple(path for path in wanted if path.is_file())


def _directory(
    env: Mapping[str, str],
    home: Path,
    platform: str,
    xdg: tuple[str, str],
    windows: tuple[str, str],
) -> Path:
    if platform == "darwin":
        return home / _APPLE / _NAME
    if platform == "win32":
        variable, fallback = windows
        return Path(env.get(variable) or home / "AppData" / fallback) / _NAME
    variable, fallback = xdg
    said = env.get(variable, "")
    # the base directory specification: a relative path is to be ignored
    return (Path(said) if said.startswith("/") else home / fallback) / _NAME
