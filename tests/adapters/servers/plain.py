"""A stdio server in raw JSON lines, quick to start; its faults are switched by arguments.

    plain.py [era=both|modern|handshake|none] [fault ...]

At the start: noise, crlf, stderr=TEXT, ignore-eof, grandchild. Negotiating: exit-on-probe,
hang-on-probe, disjoint, exit-on-initialize, hang-on-initialize, wild-version, version=X,
declare=KIND,KIND. Signals: burst, undeclared, stray, no-listen, partial-listen. With PLAIN_LOG in
its environment it appends each message that it gets, and its process id, to that file.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]

OPTIONS: dict[str, str] = {
    name: value for name, _, value in (word.partition("=") for word in sys.argv[1:])
}
ERA = OPTIONS.get("era", "both")
MODERN, HANDSHAKE = "2026-07-28", OPTIONS.get("version", "2025-11-25")
INFO = {"name": "plain", "version": "1.2"}
DECLARED = [kind for kind in OPTIONS.get("declare", "tools").split(",") if kind]
CAPABILITIES: Message = {"tools": {}, **{kind: {"listChanged": True} for kind in DECLARED}}
PREFIX = "io.modelcontextprotocol/"
CHANGED = "notifications/tools/list_changed"
listening: list[str] = []
children: list[subprocess.Popen[bytes]] = []


def on(fault: str) -> bool:
    return fault in OPTIONS


def log(message: Message) -> None:
    path = os.environ.get("PLAIN_LOG")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(message) + "\n")


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def send(**message: Any) -> None:
    end = "\r\n" if on("crlf") else "\n"
    write(json.dumps({"jsonrpc": "2.0", **message}) + end)


def answer(request: Message, **result: Any) -> None:
    send(id=request["id"], result=result)


def refuse(request: Message, code: int, text: str, data: object = None) -> None:
    send(id=request["id"], error={"code": code, "message": text, "data": data})


def notify(method: str, meta: Message | None = None, **params: Any) -> None:
    send(method=method, params={**params, "_meta": meta} if meta else params)


# ---- negotiating ----


def discover(request: Message) -> None:
    if on("exit-on-probe"):
        sys.exit(1)
    if on("hang-on-probe"):
        return
    if on("disjoint"):
        refuse(request, -32022, "unsupported", {"supported": ["2027-01-01"], "requested": MODERN})
    elif ERA in {"both", "modern"}:
        answer(
            request,
            supportedVersions=[MODERN],
            capabilities=CAPABILITIES,
            instructions="be kind",
            resultType="complete",
            ttlMs=0,
            cacheScope="private",
            _meta={PREFIX + "serverInfo": INFO},
        )
    else:
        refuse(request, -32601, "Method not found")


def initialize(request: Message) -> None:
    if on("exit-on-initialize"):
        sys.stderr.write("cannot begin\n")
        sys.exit(3)
    if on("hang-on-initialize"):
        return
    if ERA in {"both", "handshake"}:
        version = "1999-01-01" if on("wild-version") else HANDSHAKE
        answer(request, protocolVersion=version, capabilities=CAPABILITIES, serverInfo=INFO)
    else:
        wanted = request["params"]["protocolVersion"]
        refuse(request, -32022, "unsupported", {"supported": [MODERN], "requested": wanted})


def initialized(message: Message) -> None:
    del message
    signal_all(None)


# ---- signals ----


def signal_all(meta: Message | None) -> None:
    if on("burst"):
        for number in range(5):
            notify(CHANGED, meta, n=number)
    if on("undeclared"):
        notify("notifications/prompts/list_changed")
    if on("stray"):
        send(id="s1", method="ping")
        send(id="s2", method="roots/list")
        send(id="s3", method="weather/ask", params={})


def listen(request: Message) -> None:
    if on("no-listen"):
        refuse(request, -32601, "Method not found")
        return
    meta = {PREFIX + "subscriptionId": request["id"]}
    asked = dict(request["params"]["notifications"])
    if on("partial-listen"):
        asked.pop("promptsListChanged", None)
    listening.append(request["id"])
    notify("notifications/subscriptions/acknowledged", meta, notifications=asked)
    signal_all(meta)


# ---- tools ----


def echo(request: Message, arguments: Message) -> None:
    del arguments
    answer(request, content=[{"type": "text", "text": json.dumps(request["params"])}])


def never(request: Message, arguments: Message) -> None:
    pass


def progress(request: Message, arguments: Message) -> None:
    token = request["params"]["_meta"]["progressToken"]
    for step in range(arguments.get("steps", 3)):
        notify("notifications/progress", progressToken=token, progress=step, total=3)
    answer(request, content=[])


def long(request: Message, arguments: Message) -> None:
    answer(request, content=[{"type": "text", "text": "x" * arguments["bytes"]}])


def lines(request: Message, arguments: Message) -> None:
    for line in arguments["lines"]:
        write(line)
    answer(request, content=[])


def fail(request: Message, arguments: Message) -> None:
    refuse(request, -1, arguments["text"], arguments.get("data"))


def leave(request: Message, arguments: Message) -> None:
    del request
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os._exit(arguments.get("status", 7))


def answer_and_leave(request: Message, arguments: Message) -> None:
    del arguments
    answer(request, content=[], bye=True)
    sys.exit(0)


def close_stdout(request: Message, arguments: Message) -> None:
    del request, arguments
    sys.stdout.close()
    os.close(1)
    time.sleep(60)


def describe(request: Message, arguments: Message) -> None:
    del arguments
    pids = [child.pid for child in children]
    answer(request, env=dict(os.environ), cwd=str(Path.cwd()), children=pids)


def end_listen(request: Message, arguments: Message) -> None:
    del arguments
    send(id=listening.pop(), result={"resultType": "complete"})
    answer(request)


TOOLS: dict[str, Callable[[Message, Message], None]] = {
    "echo": echo,
    "never": never,
    "progress": progress,
    "long": long,
    "lines": lines,
    "fail": fail,
    "exit": leave,
    "answer-and-exit": answer_and_leave,
    "close-stdout": close_stdout,
    "describe": describe,
    "end-listen": end_listen,
}


def call(request: Message) -> None:
    tool = TOOLS.get(request["params"]["name"])
    if tool is None:
        refuse(request, -32602, "Unknown tool")
    else:
        tool(request, request["params"].get("arguments", {}))


METHODS: dict[str, Callable[[Message], None]] = {
    "server/discover": discover,
    "initialize": initialize,
    "notifications/initialized": initialized,
    "subscriptions/listen": listen,
    "tools/call": call,
}


def begin() -> None:
    if on("stderr"):
        sys.stderr.write(OPTIONS["stderr"] + "\n")
        sys.stderr.flush()
    if on("grandchild"):
        code = "import time; time.sleep(60)"
        children.append(subprocess.Popen([sys.executable, "-c", code]))
    if on("noise"):
        for line in ("Server version : 1.0\n", "\n", '{"level":"info"}\n', "[1,2]\n", "\xff\n"):
            write(line)
    log({"pid": os.getpid()})


def main() -> None:
    begin()
    for line in sys.stdin:
        message = json.loads(line)
        log(message)
        method = message.get("method")
        if method in METHODS:
            METHODS[method](message)
        elif method is not None and "id" in message:
            refuse(message, -32601, "Method not found")
    while on("ignore-eof"):
        time.sleep(1)


if __name__ == "__main__":
    main()
