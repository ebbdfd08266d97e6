"""Does a URI come from a URI template: for resources that no listing names."""

from functools import lru_cache

from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate


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
