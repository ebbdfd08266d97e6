"""Does a URI come from a URI template: for resources that no listing names."""

import re
from functools import lru_cache
from typing import Final

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_EXPRESSION: Final = re.compile(r"\{[^{}]*\}")


@lru_cache(maxsize=4096)
def _parsed(template: str) -> UriTemplate | None:
    try:
        return UriTemplate.parse(template)
    except InvalidUriTemplate:
        return None


def expands_to(template: str, uri: str) -> bool:
    """Whether the template can be expanded to that URI (RFC 6570).

    Some forms cannot be matched backwards; of those the text before the first variable decides.
    That only picks the server that is asked, which judges the URI itself.
    """
    parsed = _parsed(template)
    if parsed is not None:
        return parsed.match(uri) is not None
    beginning = template.partition("{")[0]
    return bool(beginning) and uri.startswith(beginning)


def names_a_scheme(template: str) -> bool:
    """Whether the template says itself which scheme its URIs have, as `file:///{path}` does."""
    return _SCHEME.match(template) is not None


def specificity(template: str) -> tuple[int, int, int]:
    """How closely a template describes its URIs: the greater, the closer.

    Compares the length of the text before the first variable, then that of all text outside of
    expressions, then the number of expressions, of which fewer are closer.
    """
    literal, expressions = _EXPRESSION.subn("", template)
    return len(template.partition("{")[0]), len(literal), -expressions
