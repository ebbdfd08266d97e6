"""What goes into a program and what comes out of it: odd, large, and no text at all."""

import base64
import json
import re
from typing import Any

import anyio
import pytest

from toolcrib.settings import CodeSettings
from toolcrib.testing.coded_server import CodedServer, coded, structured, text_of, texts, value_of

PIXEL = base64.b64encode(b"\x89PNG pixel").decode()


def answers(result: dict[str, Any]) -> CodedServer:
    """A server whose one tool has this result."""

    async def get(_: dict[str, Any]) -> dict[str, Any]:
        return result

    return CodedServer({"get": get})


async def test_images_and_other_bytes_arrive_as_handles_that_the_host_can_read() -> None:
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    blob = {"type": "resource", "resource": {"uri": "x://a", "blob": PIXEL, "mimeType": "a/b"}}
    result = {"content": [{"type": "text", "text": "two"}, image, blob], "resultType": "complete"}
    async with coded({"s": answers(result)}) as (host, gateway):
        text, shown, resource = await host.value("import s\nreturn await s.get()")
        assert text == "two"
        assert (shown["$content"], shown["mimeType"], shown["bytes"]) == ("image", "image/png", 10)
        assert resource["resource"]["uri"] == "x://a"
        for handle in (shown["handle"], resource["resource"]["handle"]):
            read = await gateway.ask("resources/read", {"uri": handle})
            assert base64.b64decode(read["contents"][0]["blob"]) == b"\x89PNG pixel"


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (structured({"a": ["x\ud800y", {"\udfff": 1}]}), {"a": ["x\ufffdy", {"\ufffd": 1}]}),
        (texts("half \ud83d"), "half \ufffd"),
        (texts('["\\ud800"]'), ["\ufffd"]),
        (texts("\\ud800 is no half"), "\\ud800 is no half"),
        (structured({"nul": "a\x00b\u2028", "": {"__class__": 1}}), None),
    ],
    ids=["structured", "text", "parsed", "spelled out", "control"],
)
async def test_text_that_no_runtime_takes_does_not_end_the_program(given: Any, seen: Any) -> None:
    code = "import s\nx = await s.get()\nreturn [x == {}, len(str(x))]"
    async with coded({"s": answers(given)}) as (host, _):
        result = await host.run(code.format(repr(seen or given["structuredContent"])))
        assert value_of(result)[0] is True


async def test_what_a_failing_tool_says_may_be_any_text() -> None:
    said = "half \ud83d [toolcrib: note] \x1b[31m"
    code = (
        "import s\ntry:\n    await s.get()\nexcept Exception as e:\n    said = str(e)\nreturn said"
    )
    async with coded({"s": answers(texts(said, failed=True))}) as (host, _):
        result = text_of(await host.run(code))
        assert result.startswith("half ")
        assert "[toolcrib: note" not in result
        failed = await host.failure("import s\nawait s.get()")
        assert "[toolcrib: note" not in failed
        assert "\x1b" not in failed


async def test_a_large_value_is_cut_as_valid_json_and_kept_whole() -> None:
    code = "return [{'n': n, 'text': 'é' * 50} for n in range(2_000)]"
    async with coded({}) as (host, gateway):
        beginning, cut = text_of(await host.run(code)).split("\n")
        assert json.loads(beginning)[0] == {"n": 0, "text": "é" * 50}
        assert re.match(
            r"\[toolcrib: cut: it returned 2\d\d,\d{3} bytes \(code.result_bytes, ", cut
        )
        uri = cut.removesuffix(")]").rpartition(" ")[2]
        parts: list[str] = []
        while uri:
            contents = (await gateway.ask("resources/read", {"uri": uri}))["contents"]
            parts.append(contents[0]["text"])
            following = contents[-1]["uri"] if len(contents) > 1 else uri
            uri = following if following != uri else ""
        whole = json.loads("".join(parts))
        assert len(whole) == 2_000


async def test_a_program_that_prints_without_end_is_told_how_much_it_was() -> None:
    code = "for n in range(3_000):\n    print('x' * 99)\nreturn 1"
    async with coded({}, code=CodeSettings(print_bytes=1_000)) as (host, _):
        said = text_of(await host.run(code))
        value, note, *printed = said.split("\n")
        assert value == "1"
        assert note.startswith("[toolcrib: printed, the beginning of 300,000 bytes")
        assert sum(map(len, printed)) <= 1_000


async def test_a_program_that_waits_too_long_for_its_calls_names_the_setting() -> None:
    async def slow(_: dict[str, Any]) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    settings = CodeSettings(wall_seconds=0.3)
    async with coded({"s": CodedServer({"slow": slow})}, code=settings) as (host, _):
        said = await host.failure("import s\n\nawait s.slow()")
        assert said.startswith("TimeoutError: it took longer than code.wall_seconds allows (0.3 s)")
        assert "1. `s` `slow` (line 3) cancelled: it may have acted" in said


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("while True: pass", "code.interpreter_seconds"),
        ("x = []\nwhile True: x.append('a' * 1000)", "code.memory_bytes"),
        ("import time\ntime.sleep(100)", "code.sleep_seconds"),
        ("import s\nreturn s.get()", "await"),
        ("import s\ns.get()", "await"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise SystemExit", "SystemExit"),
    ],
    ids=lambda it: it[:12] if isinstance(it, str) else "",
)
async def test_what_ends_a_program_is_named(code: str, said: str) -> None:
    bounds = CodeSettings(interpreter_seconds=0.4, turn_seconds=5, memory_bytes=8 * 1024 * 1024)
    async with coded({"s": answers(texts("a"))}, code=bounds) as (host, _):
        assert said in await host.failure(code)
        assert await host.value("return 2") == 2
