"""What of a server's pictures and links is passed on: addresses that others may open.

A host checks the origin of an icon against ours, and fetching one shows a server who looks at its
tools; nothing here is ever fetched. A link whose scheme is a program leads to no resource.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from toolcrib.core.jsontypes import is_array, is_object
from toolcrib.core.quoting import quoted

IconPolicy = Literal["drop", "data", "pass"]

ICON_BYTES: Final = 64 * 1024
"""Bytes of an image that is passed on inside a definition."""

_DATA_URI: Final = re.compile(r"data:(image/(?:png|jpe?g));base64,([A-Za-z0-9+/=]*)", re.IGNORECASE)
_MAGIC: Final[Mapping[str, bytes]] = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/jpg": b"\xff\xd8\xff",
}
_SCHEME: Final = re.compile(r"\s*([a-z][a-z0-9+.\-\s]*):", re.IGNORECASE)
_PROGRAMS: Final = frozenset({"javascript", "vbscript", "data", "blob"})
"""Schemes of links that run, or hold what runs, in whoever opens them."""


def with_icons(described: Mapping[str, Any], policy: IconPolicy) -> Mapping[str, Any]:
    """A definition or a link with those of its icons that the policy lets pass.

    Args:
        described: What may have a member `icons`.
        policy: `drop` none; `data` PNG and JPEG images of up to `ICON_BYTES` that are in the
            definition itself; `pass` all, as they are.
    """
    if "icons" not in described or policy == "pass":
        return described
    icons = described["icons"]
    kept = (
        [icon for icon in icons if policy == "data" and _is_small_image(icon)]
        if is_array(icons)
        else []
    )
    rest = {key: value for key, value in described.items() if key != "icons"}
    return {**rest, "icons": kept} if kept else rest


def link_fault(uri: str) -> str:
    """Why a link is not passed on, in words; empty for one that is.

    What a resource is called on its server (`file:` and schemes of its own) is a name, and passes.
    """
    match = _SCHEME.match(uri)
    scheme = "" if match is None else re.sub(r"\s", "", match[1]).lower()
    return f"its scheme is {quoted(scheme)}" if scheme in _PROGRAMS else ""


def _is_small_image(icon: object) -> bool:
    """Whether an icon is a whole PNG or JPEG image inside its own address."""
    source = icon.get("src") if is_object(icon) else None
    match = _DATA_URI.fullmatch(source) if isinstance(source, str) else None
    if match is None or len(match[2]) > ICON_BYTES * 4 // 3 + 4:
        return False
    try:
        image = base64.b64decode(match[2], validate=True)
    except binascii.Error:
        return False
    return len(image) <= ICON_BYTES and image.startswith(_MAGIC[match[1].lower()])
