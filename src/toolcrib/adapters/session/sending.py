"""One request on its way out: what it says, and the envelope its era puts around it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.adapters.session.stamps import PLAIN, Stamp
from toolcrib.ports import Progress, RequestContext
from toolcrib.protocol.envelope import PROGRESS_TOKEN_KEY


@dataclass(frozen=True, slots=True)
class Sending:
    """One request as its caller wants it."""

    method: str
    params: Mapping[str, Any] | None = None
    context: RequestContext = PLAIN
    headers: Mapping[str, str] | None = None
    """Further headers, over HTTP."""
    progress: Progress | None = None

    def body(self, stamp: Stamp, token: int | None = None) -> dict[str, Any]:
        """The parameters in the envelope; with the token under which progress is wanted."""
        body = stamp.body(self.params, self.context)
        if token is not None:
            body["_meta"] = {**body.get("_meta", {}), PROGRESS_TOKEN_KEY: token}
        return body

    def all_headers(self, stamp: Stamp, body: Mapping[str, Any]) -> dict[str, str]:
        """The headers of the envelope and of the caller.

        Raises:
            UnmirrorableValue: A value that has to be a header cannot be one.
        """
        return {**stamp.headers(self.method, body, self.context), **(self.headers or {})}
