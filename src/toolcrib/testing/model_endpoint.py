"""A small model on loopback that answers as a test says, behind both APIs at once.

It is as strict as the real ones: a wrong path, key, version or parameter is refused in their form.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from toolcrib.settings import ModelApi, Secret, SubagentSettings
from toolcrib.testing.raw_http import RawExchange, serve_raw_http

__all__ = ["Asked", "Fails", "ModelEndpoint", "Raw", "Says", "Waits", "serve_model"]

_PATHS: Final[Mapping[str, ModelApi]] = {
    "/v1/chat/completions": "openai",
    "/v1/messages": "anthropic",
}
_BOUNDS: Final = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class Says:
    """The model answers this text."""

    text: str
    thought: str = ""
    """What it thinks first, where the API shows that."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The API answers with an error in its form."""

    status: int
    code: str = "api_error"
    message: str = "something went wrong"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Raw:
    """The API answers with these bytes, whatever they are; no status: it hangs up."""

    body: bytes
    status: int | None = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Waits:
    """The API answers when the event is set; without one it never does."""

    until: anyio.Event | None = None
    then: Says | Fails = Says("[]")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that was understood."""

    api: ModelApi
    model: str
    instructions: str
    question: str
    body: Mapping[str, Any]
    """As received."""


Step = Says | Fails | Raw | Waits
Answers = Callable[[Asked], str]


@dataclass(slots=True, eq=False)
class ModelEndpoint:
    """What the endpoint does; change it at any time."""

    port: int = 0
    key: str | None = None
    """The key that it wants; None: any, or none."""
    rejects: frozenset[str] = frozenset()
    """Parameters that its model does not take, such as `temperature`."""
    answers: Answers = lambda _: "[]"
    """The text for a question, where no step is left."""
    requests: int = 0
    """Requests that came, refused ones too."""
    asked: list[Asked] = field(default_factory=list[Asked])
    """Those that were understood, in order."""
    steps: list[Step] = field(default_factory=list[Step])
    """What it does with the next ones, one step for each."""
    _heard: anyio.Event = field(default_factory=anyio.Event)

    def script(self, *steps: Step | str) -> None:
        """Add steps; a text is what the model says."""
        self.steps += [Says(step) if isinstance(step, str) else step for step in steps]

    def url(self, api: ModelApi = "openai") -> str:
        """What a configuration names: with `/v1` for `openai`, without for `anthropic`."""
        base = f"http://127.0.0.1:{self.port}"
        return f"{base}/v1" if api == "openai" else base

    def settings(self, api: ModelApi = "openai", **changes: Any) -> SubagentSettings:
        """Settings that lead here; keywords replace others, such as `candidates=5`."""
        key = Secret(self.key) if self.key is not None else None
        whole: dict[str, Any] = {"url": self.url(api), "model": "small", "api": api, "key": key}
        return SubagentSettings(**{**whole, **changes})

    async def wait_asked(self, count: int = 1) -> None:
        """Wait until so many requests were understood."""
        while len(self.asked) < count:
            await self._heard.wait()

    async def serve(self, request: RawExchange) -> None:
        """Answer one request."""
        self.requests += 1
        api = _PATHS.get(request.path.partition("?")[0])
        if request.method != "POST" or api is None:
            await self._fail(request, "openai", Fails(404, "not_found", "no such path"))
            return
        wrong = self._wrong(request, api)
        if wrong is not None:
            await self._fail(request, api, wrong)
            return
        asked = _understood(api, json.loads(request.body))
        self.asked.append(asked)
        self._heard.set()
        self._heard = anyio.Event()
        await self._take(request, asked, self.steps.pop(0) if self.steps else None)

    def _wrong(self, request: RawExchange, api: ModelApi) -> Fails | None:
        """Why the API refuses a request, if it does."""
        headers = request.headers
        given = headers.get("x-api-key" if api == "anthropic" else "authorization", "")
        if self.key is not None and given.removeprefix("Bearer ") != self.key:
            return Fails(401, "authentication_error", f"the key {given!r} is not known")
        if api == "anthropic" and headers.get("anthropic-version") != "2023-06-01":
            return Fails(400, "invalid_request_error", "anthropic-version: header is required")
        body = json.loads(request.body)
        for name in sorted(self.rejects & body.keys()):
            instead = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            sentence = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
            return Fails(400, "unsupported_parameter", sentence)
        if not any(isinstance(body.get(name), int) for name in _BOUNDS):
            return Fails(400, "invalid_request_error", "max_tokens: Field required")
        return None

    async def _take(self, request: RawExchange, asked: Asked, step: Step | None) -> None:
        match step:
            case None:
                await _say(request, asked, Says(self.answers(asked)))
            case Says():
                await _say(request, asked, step)
            case Fails():
                await self._fail(request, asked.api, step)
            case Waits():
                if step.until is None:
                    await request.wait_gone()
                    return
                await step.until.wait()
                await self._take(request, asked, step.then)
            case Raw(status=None):
                await request.hang_up()
            case Raw():
                await request.reply(step.status or 200, step.body, **dict(step.headers))

    @staticmethod
    async def _fail(request: RawExchange, api: ModelApi, how: Fails) -> None:
        error = {"type": how.code, "message": how.message}
        if api == "openai":
            error["code"] = how.code
        whole = {"error": error, **({"type": "error"} if api == "anthropic" else {})}
        await _json(request, how.status, whole, **dict(how.headers))


def _understood(api: ModelApi, body: Mapping[str, Any]) -> Asked:
    texts = {message["role"]: message["content"] for message in body["messages"]}
    instructions = body["system"] if api == "anthropic" else texts["system"]
    return Asked(api, body["model"], instructions, texts["user"], body)


async def _say(request: RawExchange, asked: Asked, says: Says) -> None:
    if asked.api == "anthropic":
        thoughts = [{"type": "thinking", "thinking": says.thought}] if says.thought else []
        texts = [{"type": "text", "text": says.text}] if says.text else []
        told = {"type": "message", "role": "assistant", "content": thoughts + texts}
        await _json(request, 200, {**told, "model": asked.model, "stop_reason": "end_turn"})
        return
    message = {"role": "assistant", "content": says.text}
    if says.thought:
        message["reasoning_content"] = says.thought
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"object": "chat.completion", "model": asked.model, "choices": [choice]}
    await _json(request, 200, whole)


async def _json(request: RawExchange, status: int, body: Mapping[str, Any], **headers: str) -> None:
    await request.reply(
        status, json.dumps(body).encode(), content_type="application/json", **headers
    )


@asynccontextmanager
async def serve_model(answers: Answers | None = None) -> AsyncGenerator[ModelEndpoint]:
    """Serve on a free loopback port as long as the context lasts.

    Args:
        answers: The text for a question; without it the model always finds nothing fitting.
    """
    endpoint = ModelEndpoint()
    if answers is not None:
        endpoint.answers = answers

    async with serve_raw_http(endpoint.serve) as server:
        endpoint.port = server.port
        yield endpoint
