"""An answer that cannot be read fails its request at once, if it says which one that is."""

import anyio
import anyio.lowlevel
import pytest
from mcp_types import JSONRPCError

from toolcrib.adapters.jsonrpc_line import BROKEN_MARK, read_line
from toolcrib.adapters.redaction import Redaction
from toolcrib.adapters.stdio.noise_count import NoiseCount
from toolcrib.adapters.stdio.stdout_reader import StdoutReader
from toolcrib.adapters.unreadable_answer import SCANNED, answer_of_unreadable
from toolcrib.testing.recorder import Recorder

DEEP = "[" * 10_000 + "]" * 10_000
BIG = "9" * 5_000


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{"a":#}}'.replace("#", DEEP), 7),
        ('{"jsonrpc":"2.0","id":7,"result":{"a":#}}'.replace("#", BIG), 7),
        ('{"id":"x","jsonrpc":"2.0","result":#}'.replace("#", DEEP), "x"),
        ('{"result":#,"jsonrpc":"2.0","id":7}'.replace("#", DEEP), 7),
        ('{"jsonrpc":"2.0","result":{"id":9,"a":#},"id":7}'.replace("#", DEEP), 7),
        ('{"jsonrpc":"2.0","id":-7,"error":{"code":#,"message":""}}'.replace("#", BIG), -7),
        ('{"jsonrpc" : "2.0" , "id" : 7 , "result" : {}', 7),
        ('{"jsonrpc":"2.0","id":7,"result":{"text":"cut o', 7),
        ('{"jsonrpc":"2.0","id":7,"result":{"text":"\\"id\\":9, ', 7),
        ('{"jsonrpc":"2.0","id":7,"result":{"text":"cut \\', 7),
        ('{"jsonrpc":"2.0","id":7,"result":{}} and more', 7),
    ],
    ids=range(11),
)
def test_the_id_of_an_unreadable_answer_is_found(line: str, request_id: object) -> None:
    assert read_line(line.encode()) is None
    found = answer_of_unreadable(line.encode())
    assert found is not None
    assert isinstance(found.message, JSONRPCError)
    assert found.message.id == request_id
    assert found.message.error.data == {BROKEN_MARK: True}
    assert "cannot be read as JSON" in found.message.error.message


@pytest.mark.parametrize(
    "line",
    [
        "Server started",
        "[1",
        "{" * 5_000,
        '{"jsonrpc":"2.0","result":{"id":7',
        '{"jsonrpc":"2.0","result":{"jsonrpc":"2.0","id":7}',
        '{"jsonrpc":"2.0","result":[{"id":7}, {"id":8}',
        '{"jsonrpc":"2.0","id":7,"id":8,"result":{',
        '{"jsonrpc":"2.0","id":7,"method":"m","params":{',
        '{"jsonrpc":"2.0","id":7,"params":{',
        '{"jsonrpc":"1.0","id":7,"result":{',
        '{"id":7,"result":{',
        '{"jsonrpc":"2.0","id":{"a":1},"result":{',
        '{"jsonrpc":"2.0","id":null,"result":{',
        '{"jsonrpc":"2.0","id":1.5,"result":{',
        '{"jsonrpc":"2.0","id":#,"result":{}}'.replace("#", BIG),
        '{"jsonrpc":"2.0","id":7',
        '{"log":"\\"jsonrpc\\":\\"2.0\\",\\"id\\":7,\\"result\\":"',
        '{"jsonrpc":"2.0","result":{"a":#},"id":7'.replace("#", "1" * SCANNED),
    ],
    ids=range(18),
)
def test_what_names_no_one_request_fails_none(line: str) -> None:
    assert answer_of_unreadable(line.encode()) is None


@pytest.mark.parametrize(
    "text", ['\\"' * 300_000, '"' * 500_000, "{" * 900_000, '"a":1,' * 100_000]
)
def test_a_line_made_to_be_slow_is_looked_through_once(text: str) -> None:
    assert answer_of_unreadable(b'{"x":"' + text.encode()) is None


async def test_it_still_counts_as_noise_and_the_next_line_is_read() -> None:
    send, receive = anyio.create_memory_object_stream[bytes](9)
    recorder, redaction = Recorder(), Redaction([])
    noise = NoiseCount("s", 10**6, redaction, recorder)

    async def settled() -> None:
        await anyio.lowlevel.checkpoint()

    reader = StdoutReader(receive, 10**6, noise, redaction, settled)  # pyright: ignore[reportArgumentType]
    bad = f'{{"jsonrpc":"2.0","id":7,"result":{{"a":{DEEP}}}}}\n'
    send.send_nowait(bad.encode() + b'{"jsonrpc":"2.0","id":8,"result":{}}\n')
    with anyio.fail_after(5):
        first = (await reader.receive()).message
        second = (await reader.receive()).message
    send.close()
    receive.close()
    assert (first.model_dump()["id"], second.model_dump()["id"]) == (7, 8)
    assert isinstance(first, JSONRPCError)
    assert noise.lines == 1
