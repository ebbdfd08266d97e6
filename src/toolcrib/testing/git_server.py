"""A server whose tools people are asked about, for programs in any language."""

from collections.abc import Mapping
from typing import Any

from toolcrib.ports import Era
from toolcrib.testing.coded_server import CodedServer, texts
from toolcrib.testing.scripted import tool

BRANCH: Mapping[str, Any] = {
    "message": "Which branch?",
    "requestedSchema": {"type": "object", "properties": {"branch": {"type": "string"}}},
}
MAIN: Mapping[str, Any] = {"action": "accept", "content": {"branch": "main"}}


class Git(CodedServer):
    """A server that destroys, and one of whose tools asks for a branch in the way of its era."""

    def __init__(self, era: Era = "modern") -> None:
        tools = [tool(name, n={"type": "integer"}) for name in ("wipe", "drop", "read")]
        super().__init__({"release": self.release}, *tools, era=era)

    async def release(self, _: dict[str, Any]) -> dict[str, Any]:
        """Asks for a branch, and tells which one was said."""
        if self.era == "handshake":
            context = self.contexts[-1]
            if context is None or context.ask is None:
                raise AssertionError("nobody can be asked")
            said = await context.ask("elicitation/create", BRANCH)
        elif "inputResponses" in self.params:
            if self.params["requestState"] != "opaque":
                raise AssertionError("the state came back as another one")
            (said,) = self.params["inputResponses"].values()
        else:
            asked = {"q": {"method": "elicitation/create", "params": BRANCH}}
            return {
                "resultType": "input_required",
                "inputRequests": asked,
                "requestState": "opaque",
            }
        return texts(f"released {said['content']['branch']}")

    @property
    def sent(self) -> list[tuple[str, Any]]:
        """Tool and number of each call."""
        return [(params["name"], params["arguments"].get("n")) for _, params in self.calls]
