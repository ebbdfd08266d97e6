"""What of a result is no text for a program: kept under a handle, with the handle in its place."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from toolcrib.calls.call import Requester
from toolcrib.codemode.output import Keep
from toolcrib.core.jsontypes import is_array, is_object

_OURS: Final = frozenset({"handle", "bytes"})


class SettingAside:
    """Puts `$content` handles where a result holds images, sound or other bytes.

    Args:
        keep: Keeps them for the caller.
    """

    def __init__(self, keep: Keep) -> None:
        self._keep = keep

    async def __call__(self, requester: Requester, result: dict[str, Any]) -> dict[str, Any]:
        """The result with handles; itself where it is text alone."""
        content = result.get("content")
        if "structuredContent" in result or not is_array(content):
            return result
        blocks = [await self._block(requester, block) for block in content]
        return {**result, "content": blocks}

    async def _block(self, requester: Requester, block: Any) -> Any:
        if not is_object(block) or block.get("type") == "text":
            return block
        block = _unclaimed(block)
        if block.get("type") in {"image", "audio"}:
            return await self._bytes(requester, block, "data")
        resource = block.get("resource")
        if block.get("type") != "resource" or not is_object(resource):
            return block
        resource = _unclaimed(resource)
        if "blob" in resource:
            resource = await self._bytes(requester, resource, "blob")
        return {**block, "resource": resource}

    async def _bytes(
        self, requester: Requester, holder: Mapping[str, Any], member: str
    ) -> dict[str, Any]:
        try:
            raw = base64.b64decode(holder.get(member, ""), validate=True)
        except (binascii.Error, ValueError, TypeError):
            return dict(holder)
        mime = holder.get("mimeType")
        kept = await self._keep(
            requester, raw, mime if isinstance(mime, str) else "application/octet-stream"
        )
        rest = {key: it for key, it in holder.items() if key != member}
        return {**rest, "handle": kept, "bytes": len(raw)}


def _unclaimed(holder: Mapping[str, Any]) -> dict[str, Any]:
    """What a server sent, without members that say what toolcrib keeps of it."""
    return {key: it for key, it in holder.items() if key not in _OURS}
