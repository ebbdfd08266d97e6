"""Of what a program printed at its end, the line that says why is told."""

import pytest

from toolcrib.adapters.stdio.telling_line import telling_line

NODE = """node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/nope/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at ErrorHandler.failed [as runMain] (node:internal/modules/run_main:164:12)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
"""
NPM = """npm error code E404
npm error 404 Not Found - GET https://registry.example/@no-such%2fx - Not found
npm error 404
npm error 404  '@no-such/x@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm notice New version of npm available! The old one may fail.
npm error A complete log of this run can be found in: /root/.npm/_logs/debug-0.log
"""
OLD_NPM = """npm ERR! code ENOENT
npm ERR! syscall open
npm ERR! path /app/package.json
npm ERR! errno -2
npm ERR! enoent Could not read package.json: Error: ENOENT: no such file or directory
npm ERR! enoent This is related to npm not being able to find a file.
npm ERR! enoent

npm ERR! A complete log of this run can be found in:
npm ERR!     /root/.npm/_logs/debug-0.log
"""
PYTHON = """Traceback (most recent call last):
  File "/app/server.py", line 1, in <module>
    import missing_dependency
    ~~~~~~~^^^^^^^^^^^^^^^^^^
ModuleNotFoundError: No module named 'missing_dependency'
"""
GROUP = """  + Exception Group Traceback (most recent call last):
  |   File "/app/server.py", line 9, in <module>
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError: API_KEY is empty
    +------------------------------------
"""
DOCKER = """docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock.
See 'docker run --help'.
"""
CLICK = """Usage: server [OPTIONS]
Error: No such option: --prot
Try 'server --help' for help.
"""
GO = """panic: runtime error: no config

goroutine 1 [running]:
main.main()
\t/app/main.go:5 +0x1d
exit status 2
"""
ENOENT = "Error: ENOENT: no such file or directory"
QUIET = """listening
bye now
"""


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (NODE, "Error: Cannot find module '/nope/server.js'"),
        (NPM, "npm error 404  '@no-such/x@*' is not in this registry."),
        (
            OLD_NPM,
            "npm ERR! enoent Could not read package.json: Error: ENOENT: no such file or directory",
        ),
        (PYTHON, "ModuleNotFoundError: No module named 'missing_dependency'"),
        (GROUP, "| ValueError: API_KEY is empty"),
        (DOCKER, "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
        (CLICK, "Error: No such option: --prot"),
        (GO, "panic: runtime error: no config"),
        (QUIET, "bye now"),
        ("sh: 1: uvx: not found\n", "sh: 1: uvx: not found"),
        ("starting\nNode.js v20.20.2\n", "starting"),
        ("Node.js v20.20.2\n\n", "Node.js v20.20.2"),
        ("}\n", "}"),
        (" \n\n", ""),
        ("", ""),
    ],
)
def test_the_line_that_names_the_cause_is_told(printed: str, told: str) -> None:
    assert telling_line(printed.splitlines()) == told


def test_of_several_causes_the_last_is_told() -> None:
    assert telling_line(["Error: first", "going on", "Error: second", "bye"]) == "Error: second"


def test_a_cause_of_long_ago_is_not_told_as_the_one_of_now() -> None:
    lines = ["Error: long ago", *(f"request {number} served" for number in range(100)), "bye"]
    assert telling_line(lines) == "bye"


@pytest.mark.parametrize("line", ["\t" * 60_000 + "x", 'File "' * 10_000, "npm error " * 6_000])
def test_a_long_line_takes_no_time_to_speak_of(line: str) -> None:
    assert telling_line([line]) == line.strip()
