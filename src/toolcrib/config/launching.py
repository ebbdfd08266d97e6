"""How one entry's server is launched: a program with its arguments, or an address with its headers.

A command is started as written, without a shell. A relative command is looked up as the system does
it; a relative path in `args`, and `cwd` itself, is relative to the working directory of toolcrib,
unless `cwd` says otherwise.
"""

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from toolcrib.config.fields import Fields
from toolcrib.config.oauth_toml import OAUTH_KEYS, check_alone, read_oauth
from toolcrib.settings import HttpLaunch, HttpTransport, OAuthSettings, Secret, StdioLaunch

ADDRESSES: Final = ("url", "httpUrl", "serverUrl")
STDIO_ONLY: Final = ("args", "env", "environment", "cwd")
HTTP_ONLY: Final = ("headers", *OAUTH_KEYS)

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_COMMAND_LINE: Final = re.compile(r"[^\s/\\]+\s[^/\\]*\S")
"""Words and no path: what somebody writes who expects a shell."""


def stdio_launch(fields: Fields) -> StdioLaunch | None:
    """The launch of a program; None, reported, where it cannot be made."""
    _warn_without_effect(fields, HTTP_ONLY, "a program takes no headers: pass it a variable in env")
    words = _command(fields)
    args = fields.texts("args")
    env = {**fields.mapping("environment"), **fields.mapping("env")}
    for name, (node, _) in env.items():
        if not name or "=" in name or "\0" in name:
            fields.report.error(node, "is no name of a variable", "use letters, digits and _")
    directory = fields.given.get("cwd")
    cwd = None if directory is None else fields.text(directory)
    if directory is not None and cwd == "":
        fields.report.error(directory, "is empty", "name a folder, or leave it out")
    if fields.report.failed:
        return None
    secrets = {name: Secret(value) for name, (_, value) in env.items()}
    return StdioLaunch(words[0], (*words[1:], *args), secrets, cwd)


def _command(fields: Fields) -> tuple[str, ...]:
    """The program, and the arguments that came with it in the same list."""
    node = fields.given["command"]
    if isinstance(node.value, list):
        words = fields.texts("command")
    else:
        word = fields.text(node)
        words = () if word is None else (word,)
        if word is not None and not fields.named("args") and _COMMAND_LINE.fullmatch(word):
            remedy = "no shell splits it: put all words but the first into args"
            fields.report.warn(node, "looks like a whole command line", remedy)
    if not fields.report.failed and not (words and words[0]):
        fields.report.error(node, "is empty", "write the program to start")
    return words


def http_launch(fields: Fields, address: str, transport: HttpTransport) -> HttpLaunch | None:
    """The launch of a server behind that address; None, reported, where it cannot be made."""
    _warn_without_effect(fields, STDIO_ONLY, "a remote server takes none: send headers instead")
    node = fields.given[address]
    url = fields.text(node, may_vanish=False)
    if url is not None and not is_http(url):
        fields.report.error(node, "is no http:// or https:// address", "write https://host/path")
    headers = fields.mapping("headers", may_vanish=False)
    for name, (where, value) in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            fields.report.error(where, "is no header name", "use letters, digits and -")
        elif not value.strip():
            remedy = "give it a value, or remove it: an empty credential is never sent"
            fields.report.error(where, "is empty", remedy)
        elif not _HEADER_VALUE.fullmatch(value):
            remedy = "use printable ASCII, without line breaks"
            fields.report.error(where, "holds characters that no header may carry", remedy)
    oauth = _oauth(fields, headers)
    if fields.report.failed or url is None:
        return None
    secrets = {name: Secret(value) for name, (_, value) in headers.items()}
    return HttpLaunch(Secret(url), secrets, transport, oauth)


def _oauth(fields: Fields, headers: Collection[str]) -> OAuthSettings | None:
    """What the entry says about tokens; the first of its two names counts."""
    keys = fields.named(*OAUTH_KEYS)
    if not keys:
        return None
    node = fields.given[keys[0]]
    settings = read_oauth(node, fields.scope, fields.report)
    check_alone(node, headers, settings, fields.report)
    return settings


def is_http(url: str) -> bool:
    """Whether it is an address that HTTP requests can be sent to."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    plain = url.isascii() and not any(c <= " " or c == "\x7f" for c in url)
    return plain and parts.scheme in {"http", "https"} and bool(parts.hostname)


def _warn_without_effect(fields: Fields, keys: tuple[str, ...], remedy: str) -> None:
    for key in fields.named(*keys):
        fields.report.warn(fields.given[key], "has no effect here", remedy)
