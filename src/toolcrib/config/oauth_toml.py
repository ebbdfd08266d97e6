"""How tokens for a server are had: `[servers.<id>.oauth]`, or what hosts write in `mcp.json`.

Hosts write `oauth` or `auth`: an object in camel case (`clientId`, `clientSecret`, `callbackPort`),
in upper case (`CLIENT_ID`), the word `"oauth"`, or `true`; `false` switches it off. `scopes` may be
a list or one text. In `toolcrib.toml` an unknown key is an error, elsewhere a warning.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolcrib.config import typed
from toolcrib.config.document import Node
from toolcrib.config.expansion import Scope
from toolcrib.config.fields import Fields
from toolcrib.config.problem import Report
from toolcrib.settings import HttpLaunch, Launch, OAuthSettings, Secret

OAUTH_KEYS: Final = ("oauth", "auth")
"""The members of an entry that are read here."""

_GRANTS: Final = ("authorization_code", "client_credentials")
_TEXTS: Final = ("client_id", "issuer", "client_metadata_url")
_SECRETS: Final = ("client_secret", "private_key")
_KNOWN: Final = (*_TEXTS, *_SECRETS, "grant", "scopes", "redirect_port", "insecure")
_SYNONYMS: Final[Mapping[str, str]] = {
    "scope": "scopes",
    "callback_port": "redirect_port",
    "grant_type": "grant",
}
_PORTS: Final = range(65_536)
_NOT_HERE: Final = "hosts differ in it: set it in [servers.<id>.oauth] of toolcrib.toml"


def read_oauth(node: Node, scope: Scope, report: Report) -> OAuthSettings | None:
    """What the member says; None, reported where it is wrong, where it asks for no token."""
    match node.value:
        case True | "oauth":
            return OAuthSettings()
        case False | None:
            return None
        case dict():
            return _settings(node, Fields(_in_our_words(node, report), scope, report))
        case str():
            remedy = 'put a token into headers: "Authorization": "Bearer ${TOKEN}"'
            report.error(node, 'is a text other than "oauth"', remedy)
            return None
        case _:
            remedy = "write a table; it may be empty"
            report.error(node, f"is {typed.kind_of(node)}, not a table", remedy)
            return None


def with_oauth(launch: Launch, node: Node, scope: Scope, report: Report) -> Launch:
    """The launch of another file with what `[servers.<id>.oauth]` says of it."""
    if not isinstance(launch, HttpLaunch):
        remedy = "remove it, and pass the program its credentials in env"
        report.error(node, "is for remote servers, and this one is a program", remedy)
        return launch
    settings = read_oauth(node, scope, report)
    check_alone(node, launch.headers, settings, report)
    return replace(launch, oauth=settings)


def check_alone(
    node: Node, headers: Collection[str], settings: OAuthSettings | None, report: Report
) -> None:
    """Report a configured `Authorization` beside OAuth: only one of them can be sent."""
    if settings is not None and any(name.lower() == "authorization" for name in headers):
        report.error(node, "stands beside an Authorization header", "keep one of the two")


def _in_our_words(node: Node, report: Report) -> Node:
    """The table with our names for its keys."""
    strict = Path(node.file).suffix == ".toml"
    found: dict[str, Node] = {}
    for key, member in node.table.items():
        word = re.sub("(?<=[a-z])(?=[A-Z])", "_", key).lower()
        word = word if strict and word != key else _SYNONYMS.get(word, word)
        if word in _KNOWN and not (strict and key != word):
            found[word] = member
        elif strict:
            report.error(member, "is not known", typed.nearest(key, _KNOWN))
        else:
            report.warn(member, "is not used", _NOT_HERE)
    return Node(found, node.path, node.file, node.line, node.column)


def _settings(node: Node, fields: Fields) -> OAuthSettings | None:
    given, report = fields.given, fields.report
    found: dict[str, Any] = {}
    for key in fields.named(*_TEXTS, *_SECRETS):
        text = fields.text(given[key], may_vanish=False)
        if text == "":
            report.error(given[key], "is empty", "give it a value, or leave it out")
        elif text is not None:
            found[key] = Secret(text) if key in _SECRETS else text
    if "grant" in given:
        found["grant"] = typed.choice(given["grant"], _GRANTS, report)
    if "scopes" in given:
        found["scopes"] = _scopes(given["scopes"], fields)
    if "insecure" in given:
        found["insecure"] = typed.flag(given["insecure"], report)
    if "redirect_port" in given:
        found["redirect_port"] = _port(given["redirect_port"], report)
    settings = OAuthSettings(**{key: value for key, value in found.items() if value is not None})
    _check(node, settings, report)
    return None if report.failed else settings


def _scopes(node: Node, fields: Fields) -> tuple[str, ...]:
    if isinstance(node.value, str):
        return tuple((fields.text(node) or "").split())
    return typed.texts(node, fields.report) or ()


def _port(node: Node, report: Report) -> int | None:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int) or value not in _PORTS:
        report.error(node, "is no port", "write a number from 0 to 65535; 0 is any free one")
        return None
    return value


def _check(node: Node, settings: OAuthSettings, report: Report) -> None:
    """What must go together, goes together."""
    if settings.client_id is None and settings.secrets:
        report.error(node, "has a secret or key but no client_id", "add client_id")
    if settings.grant == "client_credentials":
        if not settings.secrets:
            remedy = "add client_secret, or private_key as PEM"
            report.error(node, "has client_credentials without a secret or key", remedy)
        if settings.issuer is None:
            remedy = "add the URL of the one authorization server that may see the secret"
            report.error(node, "has client_credentials without an issuer", remedy)
    elif settings.private_key is not None:
        remedy = 'use it with grant = "client_credentials"'
        report.error(node, "has a private_key, which a login does not use", remedy)
