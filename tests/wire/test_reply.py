"""One HTTP answer, message by message."""

from typing import Any

import anyio
import anyio.lowlevel

from toolcrib.wire.http.reply import Reply, event


class Sent(list[dict[str, Any]]):
    """What an application sent, with room for one message at a time."""

    async def __call__(self, message: Any) -> None:
        await anyio.lowlevel.checkpoint()
        self.append(message)


async def test_a_stream_that_ends_before_it_began_is_an_empty_stream() -> None:
    sent = Sent()
    await Reply(sent).end()
    start, body = sent
    assert start["status"] == 200
    assert (b"content-type", b"text/event-stream") in start["headers"]
    assert body == {"type": "http.response.body", "body": b""}


async def test_an_answer_that_nothing_preceded_has_its_length_and_status() -> None:
    sent = Sent()
    await Reply(sent).finish(b'{"a":1}', 404)
    start, body = sent
    assert start["status"] == 404
    assert start["headers"] == [(b"content-type", b"application/json"), (b"content-length", b"7")]
    assert body["body"] == b'{"a":1}'


async def test_two_tasks_that_speak_at_once_open_one_stream() -> None:
    sent = Sent()
    reply = Reply(sent)
    async with anyio.create_task_group() as tasks:
        for number in range(5):
            tasks.start_soon(reply.notify, f"n{number}")
    await reply.finish(b"{}", 500)
    kinds = [message["type"] for message in sent]
    assert kinds == ["http.response.start"] + ["http.response.body"] * 6
    assert [message.get("more_body", False) for message in sent[1:]] == [True] * 5 + [False]


async def test_nothing_is_sent_once_the_answer_is_complete() -> None:
    sent = Sent()
    reply = Reply(sent)
    await reply.finish(b"{}", 200)
    await reply.notify("late")
    await reply.keep_alive()
    assert len(sent) == 2


def test_an_event_is_one_line_of_data() -> None:
    framed = event('{"t":"a\u2028b\u2029c\u0085d"}'.encode()).decode()
    assert framed.splitlines() == [
        "event: message",
        'data: {"t":"a\\u2028b\\u2029c\\u0085d"}',
        "",
    ]
