"""Programs in TypeScript that try to get out, to take everything, or to be believed: a corpus.

Each returns a text that begins with `ESCAPED` where it got what it wanted. It is meant for limits
of about a second and some tens of megabytes, and for modules `github` (with `create_issue`) and
`toolcrib`. Those that evade import behind the back of the runner, so that what is tried is Deno and
its jail, not the names that a runner takes away.
"""

from dataclasses import replace
from typing import Final

from toolcrib.ports import FailedWhy
from toolcrib.testing.hostile_python import Hostile


def _tries(name: str, expression: str) -> Hostile:
    """A program that reads something it must not have, and tells it."""
    source = (
        f"let x;\ntry {{\n  x = {expression};\n}} catch (error) {{\n"
        "  return 'denied: ' + error.message;\n}\n"
        "return x === undefined ? 'nothing' : 'ESCAPED ' + String(x);"
    )
    return Hostile(name, source, frozenset({None}))


def _evaded(name: str, module: str, then: str = "") -> Hostile:
    """A program that imports by a text that no runner reads.

    A module of Deno's own may fail in a way that nobody can catch.
    """
    escaped = module.replace("\\", "\\\\").replace('"', '\\"')
    tries = _tries(name, f"(await (0, eval)(\"import('{escaped}')\")){then}")
    return replace(tries, ends=frozenset({None, "raised"}))


def _stopped(name: str, source: str, *whys: FailedWhy) -> Hostile:
    """A program that a limit ends."""
    return Hostile(name, f"{source}\nreturn 'ESCAPED';", frozenset(whys))


def _borne(name: str, source: str, *whys: FailedWhy | None) -> Hostile:
    """A program that may end in any of these ways; it must only do no harm."""
    return Hostile(name, source, frozenset(whys or (None, "raised")))


FILES: Final = (
    _tries("reads a file", "Deno.readTextFileSync('/etc/hostname')"),
    _tries("writes a file", "Deno.writeTextFileSync('/tmp/toolcrib-escaped', 'x')"),
    _tries("reads its environment as a file", "Deno.readTextFileSync('/proc/self/environ')"),
    _tries("imports a file", "await import('file:///etc/hostname')"),
    _tries("imports its runner", "await import('./main.js')"),
    _evaded("evades to a file", "file:///etc/hostname"),
    _tries(
        "evades to a file as text",
        "(await (0, eval)(\"import('file:///etc/passwd', {with: {type: 'text'}})\")).default",
    ),
    _tries(
        "evades to a file as bytes",
        "(await (0, eval)(\"import('file:///etc/passwd', {with: {type: 'bytes'}})\")).default",
    ),
    _tries(
        "evades to a file as JSON",
        "(await (0, eval)(\"import('file:///etc/os-release', {with: {type: 'json'}})\")).default",
    ),
    _tries(
        "imports a file statically from a data module",
        "(await (0, eval)(`import('data:text/javascript,"
        'export {default} from "file:///etc/passwd" with {type:"text"}'
        "')`)).default",
    ),
    Hostile(
        "imports a file statically",
        'import text from "/etc/passwd" with { type: "text" };\nreturn "ESCAPED " + text;',
        frozenset({"unsupported"}),
    ),
    Hostile(
        "imports JSON statically",
        'import json from "file:///etc/x.json" with { type: "json" };\nreturn "ESCAPED " + json;',
        frozenset({"unsupported"}),
    ),
    Hostile(
        "closes its function and imports a file",
        '}\nimport text from "file:///etc/passwd" with { type: "text" };\n'
        'globalThis.stolen = text;\nexport async function x() {\nreturn "ESCAPED";',
        frozenset({"syntax", "raised"}),
    ),
    Hostile(
        "closes its function within a template",
        "const a = `${`}`}`;\nconst b = /[`]/;\nreturn 'denied' + a + b;",
        frozenset({None}),
    ),
    Hostile(
        "refers to a path for types",
        '/// <reference path="/etc/group" />\n/// <reference types="file:///etc/passwd" />\n'
        "const x: number = 'no';\nreturn x;",
        frozenset({None}),
    ),
    _evaded("evades to a module with a reference", "data:application/typescript,/etc/group"),
)

MACHINE: Final = (
    _tries("reads the environment", "Deno.env.toObject()"),
    _tries("reads the environment of node", "process.env.PATH ?? process.env"),
    _tries("runs a command", "new Deno.Command('id').outputSync()"),
    _tries("ends the process", "Deno.exit(0)"),
    _tries("kills its parent", "Deno.kill(1, 'SIGKILL')"),
    _tries("fetches", "await (await fetch('http://1.1.1.1')).text()"),
    _tries("fetches a file", "await (await fetch('file:///etc/passwd')).text()"),
    _tries("opens a socket", "await Deno.connect({ hostname: '1.1.1.1', port: 80 })"),
    _tries("opens a web socket", "new WebSocket('ws://1.1.1.1')"),
    _tries("listens to events", "new EventSource('http://1.1.1.1')"),
    _tries("imports from the network", "await import('https://deno.land/std/version.ts')"),
    _evaded("evades to the network", "https://deno.land/std/version.ts"),
    _evaded("evades to npm", "npm:left-pad"),
    _evaded("evades to jsr", "jsr:@std/assert"),
    _tries("imports node", "await import('node:fs')"),
    _evaded("evades to files by node", "node:fs", ".readFileSync('/etc/passwd')"),
    _evaded("evades to processes by node", "node:child_process", ".execSync('id')"),
    _evaded("evades to sockets by node", "node:net", ".connect(80, '1.1.1.1').localPort ?? zzz"),
    _evaded("evades to the machine by node", "node:os", ".hostname()"),
    _evaded("evades to the environment by node", "node:process", ".default.env.PATH || zzz"),
    _evaded("evades to threads by node", "node:worker_threads", ".threadId.zzz.zzz"),
    _evaded("evades to SQLite by node", "node:sqlite", ".DatabaseSync('/tmp/toolcrib-escaped')"),
    _borne(
        "evades to the flags of V8",
        "const v8 = await (0, eval)(\"import('node:v8')\");\n"
        "v8.setFlagsFromString('--max-old-space-size=4000');\nreturn 'set';",
    ),
    _evaded("evades to Deno's own code", "ext:core/mod.js"),
    _evaded("evades to node's own code", "node:internal/bootstrap"),
    _tries("opens a library", "Deno.dlopen('/lib/libc.so.6', {})"),
    _tries("asks for a permission", "(await Deno.permissions.request({ name: 'read' })).state"),
    _tries("asks a person", "prompt('password?')"),
    _tries("uses the graphics card", "await navigator.gpu.requestAdapter()"),
)

INSIDE: Final = (
    _tries("takes Deno by a constructor", "(() => {}).constructor('return Deno')().version"),
    _tries("takes the process by this", "(function () { return this })()?.process.pid"),
    _tries("takes the core of Deno", "globalThis[Symbol.for('Deno.internal')].core.ops"),
    _tries("takes internals", "globalThis.__bootstrap.core ?? __zzz"),
    _tries("starts a worker", "new Worker(`data:text/javascript,for(;;);`, { type: 'module' })"),
    _tries("makes a URL of a blob", "URL.createObjectURL(new Blob(['x']))"),
    _tries("keeps something in local storage", "localStorage.setItem('a', 'b') ?? 'kept'"),
    _tries("keeps something in a cache", "await caches.open('a')"),
    _tries("speaks to other programs", "new BroadcastChannel('a').postMessage('b') ?? 'said'"),
    _tries("calls what was not declared", "(await import('github')).delete_everything()"),
    _tries("replaces a host function", "((await import('github')).create_issue = 1, 'replaced')"),
    _tries("imports another server", "await import('payroll')"),
    _tries("compiles machine code", "new WebAssembly.Memory({ initial: 10000 })"),
    _borne("throws away the console", "console = null; globalThis.JSON = null; return 1;", None),
    _borne(
        "poisons prototypes",
        "Object.prototype.toJSON = () => 'forged'; Array.prototype.map = null;\n"
        "Map.prototype.get = () => ({ resolve() {} }); Promise.prototype.then = null;\nreturn {};",
        None,
        "raised",
        "crashed",
        "sleep_seconds",
    ),
    _borne("returns itself", "const a = {}; a.a = a; return a;", "raised"),
    _borne("returns a function", "return () => 1;", None),
    _borne("returns deep", "let a = 1; for (let i = 0; i < 5000; i++) a = [a]; return a;", "depth"),
    _borne(
        "returns deeper",
        "let a = 1; for (let i = 0; i < 1e6; i++) a = [a]; return a;",
        "raised",
        "crashed",
        "interpreter_seconds",
        "depth",
        "memory",
    ),
    _borne(
        "throws itself",
        "const e = new Error(); e.toString = null; e.message = e; throw e;",
        "raised",
    ),
    _borne(
        "throws what cannot be shown",
        "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } });",
        "raised",
    ),
    _borne("throws half a character", "throw new Error('\\ud800');", "raised"),
    _borne("prints half a character", "console.log('\\ud800'); return '\\udfff';", None),
    _borne(
        "lies about where it is",
        "Error.prepareStackTrace = () => 'at x (blob:null/x:1:1)'; throw new Error('a');",
        "raised",
        "crashed",
    ),
    _borne(
        "has its trace read",
        "const e = new Error('a'); Object.defineProperty(e, 'stack', "
        "{ get() { for (;;); } }); throw e;",
        "raised",
        "interpreter_seconds",
    ),
)

TIME: Final = (
    _stopped("loops", "for (;;);", "interpreter_seconds"),
    _stopped("loops and catches", "for (;;) { try { for (;;); } catch {} }", "interpreter_seconds"),
    _stopped("loops at last", "try { for (;;); } finally { for (;;); }", "interpreter_seconds"),
    _stopped(
        "loops between calls",
        'import { create_issue } from "github";\n'
        "for (;;) { await create_issue({ title: 'a' }); for (let i = 0; i < 1e6; i++); }",
        "interpreter_seconds",
        "suspensions",
    ),
    _stopped("loops in promises", "for (;;) await null;", "interpreter_seconds"),
    _stopped(
        "loops in microtasks",
        "const f = () => queueMicrotask(f); f(); await new Promise(() => {});",
        "interpreter_seconds",
    ),
    _stopped(
        "loops in timers",
        "const f = () => setTimeout(f, 0); f(); await new Promise(() => {});",
        "interpreter_seconds",
        "sleep_seconds",
    ),
    _stopped("matches slowly", "/^(a+)+$/.test('a'.repeat(40) + 'b');", "interpreter_seconds"),
    _stopped(
        "counts far",
        "let x = 0n; for (;;) x = (x + 1n) ** 2n;",
        "interpreter_seconds",
        "memory",
        "raised",
        "crashed",
    ),
    _stopped("sleeps long", "await new Promise((r) => setTimeout(r, 3.6e6));", "sleep_seconds"),
    _stopped(
        "sleeps often",
        "for (;;) await new Promise((r) => setTimeout(r, 100));",
        "sleep_seconds",
    ),
    _stopped(
        "sleeps by a signal",
        "const s = AbortSignal.timeout(6e4);\nconst wait = new Promise((r) => {"
        " s.onabort = r; s.addEventListener('abort', r); });\nawait wait;",
        "sleep_seconds",
    ),
    _stopped("waits for nothing", "await new Promise(() => {});", "raised"),
    _stopped(
        "waits for a thread",
        "Atomics.wait(new Int32Array(new (0, eval)('SharedArrayBuffer')(4)), 0, 0);",
        "sleep_seconds",
        "raised",
    ),
    _borne("ends twice", "setTimeout(() => { throw new Error('late'); }, 0); return 1;", None),
    _borne("loops after its end", "setTimeout(() => { for (;;); }, 0);", "interpreter_seconds"),
)

MEMORY: Final = (
    _stopped(
        "fills the heap",
        "const a = []; for (;;) a.push({ x: [a.length] });",
        "memory",
        "interpreter_seconds",
    ),
    _stopped(
        "fills buffers", "const a = []; for (;;) a.push(new Uint8Array(4e6).fill(1));", "memory"
    ),
    _stopped(
        "makes one big buffer",
        "new Uint8Array(2 ** 31).fill(1);",
        "memory",
        "raised",
        "interpreter_seconds",
    ),
    _stopped(
        "doubles a text", "let a = 'x'; for (;;) { a += a; a.charCodeAt(9); }", "raised", "memory"
    ),
    _stopped("repeats a text", "'x'.repeat(2 ** 31);", "raised"),
    _stopped(
        "makes a big array",
        "new Array(2 ** 32 - 1).fill(1);",
        "memory",
        "raised",
        "interpreter_seconds",
        "crashed",
    ),
    _stopped(
        "clones",
        "const a = [new Uint8Array(4e6).fill(1)]; for (;;) a.push(structuredClone(a[0]));",
        "memory",
    ),
    _stopped(
        "keeps blobs",
        "const a = []; const b = new Uint8Array(4e6).fill(1); for (;;) a.push(new Blob([b]));",
        "memory",
    ),
    _stopped("calls itself", "const f = () => f() + 1; f();", "depth"),
    _borne(
        "calls itself and catches",
        "const f = () => { try { f() } catch { f() } }; f();",
        "interpreter_seconds",
        "depth",
        None,
    ),
    Hostile(
        "nests its syntax",
        f"return {'(' * 9000}1{')' * 9000};",
        frozenset({"syntax", "crashed", None}),
    ),
    Hostile(
        "nests its lists",
        f"return {'[' * 9000}{']' * 9000};",
        frozenset({"syntax", "crashed", "raised", None}),
    ),
)

FLOODS: Final = (
    _borne("prints without end", "for (;;) console.log('x'.repeat(1000));", "interpreter_seconds"),
    _borne("prints much at once", "console.log('x'.repeat(2e7)); return 1;", None),
    _borne(
        "prints newlines",
        "for (let i = 0; i < 2e5; i++) console.log(); return 1;",
        None,
        "interpreter_seconds",
    ),
    _borne("returns much", "return 'x'.repeat(3e6);", "raised"),
    _borne("throws much", "throw new Error('x'.repeat(3e6));", "raised", "crashed"),
    _borne(
        "calls without end",
        'import { create_issue } from "github";\nfor (;;) create_issue({ title: "a" });',
        "suspensions",
    ),
    _borne(
        "calls with much",
        'import { create_issue } from "github";\nawait create_issue({ title: "x".repeat(3e6) });',
        "raised",
    ),
    _borne(
        "rejects without end",
        "for (let i = 0; i < 1e5; i++) Promise.reject(new Error('a'));",
        "raised",
        "interpreter_seconds",
        "memory",
    ),
)

_CALL: Final = '"module":"github","function":"create_issue","line":1,"column":1'

FORGED_LINES: Final = (
    "{",
    "[]",
    "null",
    '"text"',
    "\\u0000",
    '{"type":"nothing"}',
    '{"type":"ready","version":"9"}',
    '{"type":"done"',
    '{"type":"done","value":NaN}',
    '{"type":"done","value":' + "[" * 5000 + "]" * 5000 + "}",
    f'{{"type":"call","id":1,{_CALL.replace("create_issue", "delete_all")},"args":[]}}',
    f'{{"type":"call","id":1,{_CALL.replace("github", "payroll")},"args":[]}}',
    f'{{"type":"call","id":7,{_CALL},"args":[]}}',
    f'{{"type":"call","id":true,{_CALL},"args":[]}}',
    f'{{"type":"call","id":1,{_CALL},"args":{{}}}}',
    '{"type":"call","id":1,"module":"github","function":"create_issue","args":[],"line":"1"}',
    '{"type":"print","text":7}',
    '{"type":"dropped","count":-1}',
    '{"type":"failed","why":"everything","message":"","trace":[],"executed":false}',
    '{"type":"failed","why":"raised","message":"","trace":[["a",1,""]],"executed":true}',
    '{"type":"failed","why":"raised","message":"","trace":7,"executed":true}',
)
"""Lines that no runner writes, as texts of JSON in a JavaScript string."""

CORPUS: Final = (*FILES, *MACHINE, *INSIDE, *TIME, *MEMORY, *FLOODS)
