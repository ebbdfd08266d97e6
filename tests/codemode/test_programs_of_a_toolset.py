"""Programs of whoever uses the library: the same checks and the same person, asked live."""

from collections.abc import Mapping
from typing import Any

from toolcrib.calls.call import Requester
from toolcrib.settings import ApprovalRule, ApprovalSettings
from toolcrib.testing.coded_server import ASKABLE, CodedServer, text_of
from toolcrib.testing.scripted import tool
from toolcrib.testing.scripted_crib import scripted_crib

CODE = (
    "import asyncio\nfrom s import wipe\n"
    "return len(await asyncio.gather(*[wipe(n=n) for n in range(20)]))"
)
RULE = ApprovalSettings((ApprovalRule("ask", tools=("wipe",)),))


async def test_a_toolset_that_shows_programs_runs_them_and_a_person_is_asked_once() -> None:
    asked: list[str] = []

    async def ask(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        asked.append(f"{method} {params['message']}")
        return {"action": "accept", "content": {"answer": "yes, for this program"}}

    server = CodedServer({}, tool("wipe", n={"type": "integer"}))
    who = Requester(ask=ask, capabilities=ASKABLE)
    async with scripted_crib({"s": server}, approval=RULE) as (crib, _):
        toolset = await crib.toolset(exposure="code", requester=who)
        assert "run_code" in [each["name"] for each in toolset.for_anthropic()]
        assert text_of(await toolset.call("run_code", {"code": CODE})) == "20"
        (question,) = asked
        assert question.startswith("elicitation/create [toolcrib] May this call go out?")
        ran = await crib.run(CODE, requester=who)
        assert (ran.value, len(ran.calls), len(asked)) == (20, 20, 2)
    assert len(server.calls) == 40
