"""Both APIs of small models, over real HTTP: what is sent, and what comes back."""

import anyio
import httpx2
import pytest

from toolcrib.adapters.models.opening import open_model
from toolcrib.errors import (
    AuthRequired,
    ConfigError,
    LimitExceeded,
    RateLimited,
    RequestTimedOut,
    ResultInvalid,
    ToolcribError,
    UpstreamUnreachable,
)
from toolcrib.settings import ModelApi, Secret, SubagentSettings
from toolcrib.testing.model_endpoint import Fails, ModelEndpoint, Raw, Says, Waits, serve_model

KEY = "sk-CANARY-0123456789"
both_apis = pytest.mark.parametrize("api", ["openai", "anthropic"])


async def ask(
    endpoint: ModelEndpoint, api: ModelApi, *, timeout: float = 5, question: str = "which?"
) -> str:
    model = open_model(endpoint.settings(api))
    with anyio.fail_after(5):
        return await model.complete("Choose.", question, most_tokens=50, timeout=timeout)


async def refusal(endpoint: ModelEndpoint, api: ModelApi, *, timeout: float = 5) -> ToolcribError:
    with pytest.raises(ToolcribError) as caught:
        await ask(endpoint, api, timeout=timeout)
    shown = f"{caught.value.for_operator()} {caught.value!r} {dict(caught.value.details)}"
    assert "CANARY" not in shown
    assert caught.value.__cause__ is None
    return caught.value


# ---------------------------------------------------------------- what is sent


@both_apis
async def test_the_text_of_the_answer_comes_back(api: ModelApi) -> None:
    async with serve_model(lambda asked: f" <{asked.question}> \n") as endpoint:
        assert await ask(endpoint, api, question="wélche? 哪个") == "<wélche? 哪个>"
        (asked,) = endpoint.asked
        assert (asked.api, asked.model, asked.instructions) == (api, "small", "Choose.")


@both_apis
async def test_answers_are_bounded_steady_and_in_one_piece(api: ModelApi) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        await ask(endpoint, api)
        body = endpoint.asked[0].body
        assert body["max_tokens"] == 50
        assert body["temperature"] == 0
        assert not body.get("stream")


@both_apis
async def test_the_key_goes_where_the_api_wants_it(api: ModelApi) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        endpoint.key = KEY
        assert await ask(endpoint, api) == "[1]"
        assert "CANARY" not in str(endpoint.asked[0].body)


@both_apis
async def test_without_a_key_none_is_sent(api: ModelApi) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        assert await ask(endpoint, api) == "[1]"
        endpoint.key = KEY
        model = open_model(endpoint.settings(api, key=None))
        with pytest.raises(AuthRequired):
            await model.complete("", "q", most_tokens=1, timeout=5)


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/", "/v1/messages"])
async def test_a_url_of_anthropic_may_be_the_base_or_the_whole_path(end: str) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        settings = endpoint.settings("anthropic", url=endpoint.url("anthropic") + end)
        model = open_model(settings)
        assert await model.complete("", "q", most_tokens=1, timeout=5) == "[1]"


@pytest.mark.parametrize("end", ["", "/", "/chat/completions", "?api-version=1"])
async def test_a_url_of_openai_may_be_the_base_or_the_whole_path(end: str) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        model = open_model(endpoint.settings(url=endpoint.url() + end))
        assert await model.complete("", "q", most_tokens=1, timeout=5) == "[1]"


async def test_a_query_in_the_url_stays() -> None:
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(200, json={"choices": [{"message": {"content": "[1]"}}]})

    settings = SubagentSettings("https://models.example/v1/?api-version=1#x", "small")
    model = open_model(settings, httpx2.MockTransport(answer))
    await model.complete("", "q", most_tokens=1, timeout=5)
    assert seen == ["https://models.example/v1/chat/completions?api-version=1"]


# ---------------------------------------------------------------- parameters of a model


@pytest.mark.parametrize(
    ("api", "rejects", "sends"),
    [
        ("openai", {"max_tokens"}, 2),
        ("openai", {"temperature"}, 2),
        ("openai", {"max_tokens", "temperature"}, 3),
        ("anthropic", {"temperature"}, 2),
    ],
)
async def test_a_parameter_that_the_model_does_not_take_is_left_out_from_then_on(
    api: ModelApi, rejects: set[str], sends: int
) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        endpoint.rejects = frozenset(rejects)
        model = open_model(endpoint.settings(api))
        for requests in (sends, sends + 1):
            assert await model.complete("", "q", most_tokens=7, timeout=5) == "[1]"
            assert endpoint.requests == requests
        body = endpoint.asked[-1].body
        assert not rejects & body.keys()
        bound = "max_completion_tokens" if "max_tokens" in rejects else "max_tokens"
        assert body[bound] == 7
        assert ("temperature" in body) == ("temperature" not in rejects)


@both_apis
async def test_questions_at_once_adapt_each_for_itself(api: ModelApi) -> None:
    async with serve_model(lambda _: "[1]") as endpoint:
        both = {"temperature", "max_tokens"}
        endpoint.rejects = frozenset(both if api == "openai" else {"temperature"})
        model = open_model(endpoint.settings(api))
        answers: list[str] = []

        async def one() -> None:
            answers.append(await model.complete("", "q", most_tokens=1, timeout=5))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one)
        assert answers == ["[1]"] * 5


@both_apis
async def test_a_complaint_about_something_else_ends_it(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Fails(400, "invalid_request_error", f"no credit; key {KEY}"))
        error = await refusal(endpoint, api)
        assert isinstance(error, UpstreamUnreachable)
        assert "HTTP 400 Bad Request (invalid_request_error)" in error.message
        assert endpoint.requests == 1


@both_apis
async def test_an_api_that_complains_of_what_was_left_out_is_not_asked_for_ever(
    api: ModelApi,
) -> None:
    async with serve_model() as endpoint:
        sentence = "max_tokens and temperature are wrong"
        endpoint.script(*[Fails(400, "invalid_request_error", sentence) for _ in range(10)])
        await refusal(endpoint, api)
        assert endpoint.requests <= 3


# ---------------------------------------------------------------- errors


@both_apis
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (301, UpstreamUnreachable),
        (307, UpstreamUnreachable),
        (401, AuthRequired),
        (402, UpstreamUnreachable),
        (403, AuthRequired),
        (404, UpstreamUnreachable),
        (413, UpstreamUnreachable),
        (429, RateLimited),
        (500, UpstreamUnreachable),
        (503, UpstreamUnreachable),
        (529, UpstreamUnreachable),
        (599, UpstreamUnreachable),
    ],
)
async def test_a_refusal_is_the_error_of_its_status_with_a_remedy(
    api: ModelApi, status: int, kind: type[ToolcribError]
) -> None:
    async with serve_model() as endpoint:
        elsewhere = {"location": endpoint.url(api)}
        endpoint.script(Fails(status, "trouble_here", f"key {KEY} and question", elsewhere))
        error = await refusal(endpoint, api)
        assert type(error) is kind
        assert f"HTTP {status}" in error.message
        assert "(trouble_here)" in error.message
        assert error.remedy
        assert error.details["status"] == status
        assert endpoint.requests == 1, "no redirect is followed, nothing is tried again"


@both_apis
async def test_how_long_to_wait_is_in_the_error(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Fails(429, headers={"retry-after": "7"}))
        error = await refusal(endpoint, api)
        assert error.details["retry_after"] == 7.0


@pytest.mark.parametrize("code", [KEY, "x" * 41, "two words", "", "sk_1234", "plainword"])
async def test_a_code_that_may_be_anything_else_is_not_shown(code: str) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Fails(500, code))
        error = await refusal(endpoint, "openai")
        assert error.message == "the small model's API answered HTTP 500 Internal Server Error"


@both_apis
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>CANARY</html>",
        b"[]",
        b"null",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b"{}",
        b'{"choices": [], "content": []}',
        b'{"choices": [null], "content": [null]}',
        b'{"choices": [{"message": {"content": null}}], "content": "CANARY"}',
        b'{"choices": [{"message": {"content": [{"text": 5}]}}], "content": [{"type": "text"}]}',
        b'{"choices": {"0": 1}, "content": {"type": "text", "text": "CANARY"}}',
        b'{"choices": [{"message": "CANARY"}], "content": [{"type": "tool_use", "text": "x"}]}',
    ],
)
async def test_rubbish_is_an_invalid_result(api: ModelApi, body: bytes) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Raw(body))
        assert isinstance(await refusal(endpoint, api), ResultInvalid)


@both_apis
async def test_a_model_that_only_thinks_has_not_answered(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Says("", thought="hm"), Says("[2]", thought="[1]"))
        error = await refusal(endpoint, api)
        assert isinstance(error, ResultInvalid)
        assert "output_tokens" in (error.remedy or "")
        assert await ask(endpoint, api) == "[2]"


async def test_an_answer_in_parts_is_put_together() -> None:
    async with serve_model() as endpoint:
        body = b'{"choices": [{"message": {"content": [{"text": "[1,"}, 5, {"text": " 2]"}]}}]}'
        endpoint.script(Raw(body))
        assert await ask(endpoint, "openai") == "[1, 2]"


@both_apis
async def test_an_answer_larger_than_a_mebibyte_is_not_read_to_its_end(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Raw(b" " * 1_048_577))
        error = await refusal(endpoint, api)
        assert isinstance(error, ResultInvalid)
        assert "1,048,576 bytes" in error.message


@both_apis
async def test_a_question_larger_than_a_mebibyte_is_not_sent(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        with pytest.raises(LimitExceeded, match="1,048,576 bytes"):
            await ask(endpoint, api, question="x" * 1_048_577)
        assert endpoint.requests == 0


@both_apis
async def test_an_endpoint_that_hangs_up_or_is_not_there_is_unreachable(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Raw(b"", status=None))
        assert isinstance(await refusal(endpoint, api), UpstreamUnreachable)
    error = await refusal(endpoint, api)
    assert isinstance(error, UpstreamUnreachable)
    assert "nothing accepts connections" in error.message


@both_apis
async def test_an_endpoint_that_takes_too_long_is_not_waited_for(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        endpoint.script(Waits())
        error = await refusal(endpoint, api, timeout=0.2)
        assert isinstance(error, RequestTimedOut)
        assert "0.2 s" in error.message
        assert "timeout_seconds" in (error.remedy or "")
        assert endpoint.requests == 1


async def test_a_caller_that_goes_away_takes_the_question_along() -> None:
    async with serve_model() as endpoint:
        endpoint.script(Waits())
        model = open_model(endpoint.settings())
        with anyio.move_on_after(0.2) as scope:
            await model.complete("", "q", most_tokens=1, timeout=5)
        assert scope.cancelled_caught


# ---------------------------------------------------------------- URL and key


@both_apis
@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/v1",
        "http://10.0.0.5:11434/v1",
        "http://localhost.example/v1",
        "http://127.0.0.1.example/v1",
    ],
)
def test_a_key_never_travels_unencrypted_beyond_this_machine(url: str, api: ModelApi) -> None:
    with pytest.raises(ConfigError, match="unencrypted") as caught:
        open_model(SubagentSettings(url, "small", api, Secret(KEY)))
    assert caught.value.remedy
    open_model(SubagentSettings(url, "small", api))


@both_apis
@pytest.mark.parametrize(
    "url",
    ["https://models.example/v1", "http://127.0.0.1:1/v1", "http://[::1]:1", "http://localhost:1"],
)
def test_a_key_may_travel_encrypted_or_within_this_machine(url: str, api: ModelApi) -> None:
    model = open_model(SubagentSettings(url, "small", api, Secret(KEY)))
    assert "CANARY" not in repr(model)


@both_apis
@pytest.mark.parametrize(
    "url",
    [
        "",
        "models.example",
        "ftp://models.example",
        "https://",
        "https://\x00",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_http_url_is_refused_with_an_example(url: str, api: ModelApi) -> None:
    with pytest.raises(ConfigError, match="no http or https URL") as caught:
        open_model(SubagentSettings(url, "small", api))
    assert "http://127.0.0.1:11434/v1" in (caught.value.remedy or "")


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="a user or a password") as caught:
        open_model(SubagentSettings(f"https://me:{KEY}@models.example", "small"))
    assert "CANARY" not in caught.value.for_operator()


@both_apis
@pytest.mark.parametrize("key", ["", f"{KEY}\n", f"{KEY}\r\nx: y", f"{KEY}\u00e9", f"{KEY}\x00"])
def test_a_key_that_no_header_carries_is_refused_and_not_repeated(key: str, api: ModelApi) -> None:
    with pytest.raises(ConfigError, match="characters that no key has") as caught:
        open_model(SubagentSettings("https://models.example", "small", api, Secret(key)))
    assert "CANARY" not in caught.value.for_operator()


async def test_a_proxy_that_cannot_be_used_is_named_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("https_proxy", "nonsense://CANARY")
    model = open_model(SubagentSettings("https://models.example", "small"))
    with pytest.raises(ConfigError, match="proxy") as caught:
        await model.complete("", "q", most_tokens=1, timeout=5)
    assert "CANARY" not in caught.value.for_operator()


@both_apis
async def test_an_endpoint_that_takes_its_time_is_waited_for(api: ModelApi) -> None:
    async with serve_model() as endpoint:
        until = anyio.Event()
        endpoint.script(Waits(until, Says("[7]")))
        answers: list[str] = []

        async def one() -> None:
            answers.append(await ask(endpoint, api))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            with anyio.fail_after(5):
                await endpoint.wait_asked()
            assert answers == []
            until.set()
        assert answers == ["[7]"]
