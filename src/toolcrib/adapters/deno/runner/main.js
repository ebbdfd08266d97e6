// Runs one program, and is its only way out: lines of JSON on standard input and output.
//
// The program is never part of this file's imports: what the first file imports is read without
// permission. It comes as a blob. Whatever it does to this file's objects, it can only send other
// lines than this file would; who reads them believes none.

import { follow, standStill } from "./determined.js";
import { fromJSON, isCall, toJSON } from "./json.js";
import { clear, makeConsole } from "./surroundings.js";
import { placeOf, read, Unreadable, written } from "./text.js";
import { Timers } from "./timers.js";

const { stdin, stdout, inspect, version } = Deno;
const createURL = URL.createObjectURL.bind(URL);
const tick = setImmediate;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encode = encoder.encode.bind(encoder);
const decode = decoder.decode.bind(decoder);

let over = false;

function send(frame, text = toJSON(frame)) {
  if (over) return;
  let bytes = encode(`${text}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(stdout.writeSync(bytes));
}

function end(frame, text) {
  if (dropped > 0) send({ type: "dropped", count: dropped });
  send(frame, text);
  over = true;
}

// Lines of standard input, read only while something is to come: a program that waits for nothing
// lets the process end.
let rest = "";
const chunk = new Uint8Array(65536);
async function lines() {
  const parts = [rest];
  while (!parts.at(-1).includes("\n")) {
    const size = await stdin.read(chunk);
    if (size === null) return null;
    parts.push(decode(chunk.subarray(0, size), { stream: true }));
  }
  const all = parts.join("").split("\n");
  rest = all.pop();
  return all;
}

send({ type: "ready", version: version.deno });
const start = fromJSON((await lines())[0]);
const { source, modules, away, most, now, seed } = start;

let printed = 0;
let dropped = 0;
function print(text) {
  const taken = text.slice(0, Math.max(most.print - printed, 0));
  printed += taken.length;
  dropped += text.length - taken.length;
  if (taken !== "") send({ type: "print", text: taken });
}

// Places

let url = "";
let place = (line, column) => [line - 1, column];
function places(stack) {
  const found = [];
  for (const frame of String(stack).split("\n")) {
    const at = frame.lastIndexOf(url);
    if (at < 0) continue;
    const [line, column] = frame.slice(at + url.length).match(/\d+/g).map(Number);
    const name = /at (?:async )?(?:new )?(\S+) \(/.exec(frame)?.[1] ?? "";
    found.push([...place(line, column), name.endsWith("$program") ? "" : name]);
  }
  return found.slice(0, 20).reverse();
}

const DEEP = "Maximum call stack size exceeded";
function fail(error, why = "raised") {
  let message;
  let stack = "";
  let deep = false;
  try {
    const isError = error instanceof Error;
    message = isError ? `${error.name}: ${error.message}` : `Error: ${inspect(error)}`;
    stack = isError ? error.stack : "";
    deep = isError && error.message === DEEP;
  } catch {
    message = "Error: it threw what cannot be shown";
  }
  const trace = places(stack);
  end({ type: "failed", why: deep ? "depth" : why, message, trace, executed: true });
}

function refuse(why, message, trace) {
  end({ type: "failed", why, message, trace, executed: false });
}

// Calls

const calls = new Map();
let made = 0;
let reading = false;

function call(module, name, given) {
  const arguments_ = [...given];
  while (arguments_.length > 0 && arguments_.at(-1) === undefined) arguments_.pop();
  const made_ = new Error(`${module}.${name}`);
  const args = toJSON(arguments_);
  if (args.length > most.frame) {
    throw new RangeError(`the arguments are longer than ${most.frame} bytes (code.answer_bytes)`);
  }
  const id = ++made;
  const [line, column] = places(made_.stack).at(-1) ?? [0, 0];
  const head = toJSON({ type: "call", id, module, function: name, line, column });
  send(null, `${head.slice(0, -1)},"args":${args}}`);
  const answer = new Promise((resolve, reject) => {
    calls.set(id, { resolve, reject, made: made_ });
    timers.awake();
    if (!reading) hear();
    changed();
  });
  return isCall(answer, id);
}

async function hear() {
  reading = true;
  while (calls.size > 0 && !over) {
    const heard = await lines();
    if (heard === null) return;
    for (const line of heard) {
      const answer = fromJSON(line);
      const waiting = calls.get(answer.id);
      if (waiting === undefined) continue;
      calls.delete(answer.id);
      if (answer.error === undefined) waiting.resolve(answer.value);
      else {
        const { made: error } = waiting;
        error.message = answer.error;
        error.stack = `Error: ${answer.error}\n${error.stack.slice(error.stack.indexOf("\n") + 1)}`;
        failures.set(error, answer.id);
        waiting.reject(error);
      }
    }
    changed();
  }
  reading = false;
}

// What goes on when nothing runs

let checking = false;
let ended = false;
const whenIdle = [];
function changed() {
  if (checking || over) return;
  checking = true;
  tick(() => {
    checking = false;
    idle();
  });
}

function idle() {
  if (over) return;
  if (calls.size > 0) {
    if (!timers.any) send({ type: "waits" });
    return;
  }
  const asleep = timers.sleep();
  if (asleep !== null && !ended) {
    const seconds = most.sleep / 1000;
    asleep.message = `it sleeps longer than it may (code.sleep_seconds: ${seconds})`;
    asleep.name = "TimeoutError";
    fail(asleep, "sleep_seconds");
  } else if (ended && (asleep !== null || !timers.any)) whenIdle.forEach((each) => each());
}

const timers = new Timers(most.sleep, changed, fail);

// Errors that nobody took, kept until it is clear that nobody does

const untaken = new Map();
const failures = new WeakMap();
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  untaken.set(event.promise, event.reason);
});
addEventListener("rejectionhandled", (event) => untaken.delete(event.promise));
addEventListener("error", (event) => {
  event.preventDefault();
  fail(event.error);
});

// Modules

function blob(text, type) {
  return createURL(new Blob([text], { type }));
}

async function space(name) {
  const { functions, source } = modules[name];
  const made = {};
  for (const each of functions) {
    made[each] = { [each]: (...given) => call(name, each, given) }[each];
  }
  if (source !== "") {
    const exported = [...source.matchAll(/^export\s+(?:async\s+)?function\s*\*?\s*(\w+)/gm)]
      .map((each) => each[1]).filter((each) => !each.startsWith("_"));
    const body = source.replace(/^export\s+/gm, "");
    const text = `export default ({ ${functions.join(", ")} }) => {\n${body}\n` +
      `return { ${exported.join(", ")} };\n};`;
    Object.assign(made, (await import(blob(text, "text/javascript"))).default({ ...made }));
  }
  return Object.freeze(made);
}

const known = Object.keys(modules);
function absent(module) {
  if (Object.hasOwn(away, module)) return away[module];
  return `there is no module ${JSON.stringify(module)}: a program can import ${known.join(", ")}`;
}

async function load(module) {
  if (!Object.hasOwn(spaces, module)) throw new TypeError(absent(module));
  return await spaces[module];
}

const spaces = {};
for (const name of known) {
  if (source.includes(name)) spaces[name] = await space(name);
}

function unfit({ imported }) {
  for (const { module, names, at } of imported) {
    if (!Object.hasOwn(spaces, module)) return ["unsupported", absent(module), at];
    for (const [name] of names) {
      const { types } = modules[module];
      if (name === "default" || Object.hasOwn(spaces[module], name) || types.includes(name)) continue;
      const there = Object.keys(spaces[module]).join(", ");
      const has = there === "" ? "nor any other that it names" : `of those that it names it has: ${there}`;
      return ["types", `${module} has no function ${name}; ${has}`, at];
    }
  }
  return null;
}

async function compiled(parts, withValue) {
  const made = written(source, parts, withValue);
  url = `${blob(made.text, "application/typescript")}:`;
  place = made.place;
  return (await import(url.slice(0, -1))).default;
}

// What is missing at its end is found on a line after the last one of the program.
function within(line, column) {
  const last = placeOf(source, source.trimEnd().length);
  return line > last[0] ? last : [line, column];
}

function unreadable(error) {
  const [message] = error.message.replace(url.slice(0, -1), "script.ts").split("\n\n");
  const at = /script\.ts:(\d+):(\d+)/.exec(message);
  const where = at === null ? [] : [[...within(...place(Number(at[1]), Number(at[2]))), ""]];
  // The lines that are shown with it are numbered as they are here.
  const told = message.replace(/ at script\.ts.*$/s, "").replace(/\n\s*\|[^]*$/, "")
    .replace("The module's source code could not be parsed: ", "").replace(/^SyntaxError: /, "");
  refuse("syntax", `SyntaxError: ${told}`, where);
}

async function prepared() {
  let parts;
  try {
    parts = read(source);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    refuse(error.why, `SyntaxError: ${error.message}`, [[...placeOf(source, error.at), ""]]);
    return null;
  }
  const refused = unfit(parts);
  if (refused !== null) {
    const [why, message, at] = refused;
    refuse(why, message, [[...placeOf(source, at), ""]]);
    return null;
  }
  try {
    return await compiled(parts, true);
  } catch {
    // Its last statement was none of the kind that has a value.
    try {
      return await compiled(parts, false);
    } catch (error) {
      unreadable(error);
      return null;
    }
  }
}

// What the program returns, or exports as its default (a function is called), or what its last
// statement has or names. One that did not `return` may have work under way, as any script.
async function valueOf(run) {
  const end = { value: undefined, last: undefined, get: null, isExport: false };
  end.at = (get, isExport) => Object.assign(end, { get, isExport });
  const given = {};
  for (const name of Object.keys(spaces)) given[name] = { ...spaces[name], default: spaces[name] };
  const returned = await run(load, given, end);
  if (returned !== undefined) return returned;
  if (end.isExport) end.value = end.get();
  const value = typeof end.value === "function" ? await end.value() : await end.value;
  if (value !== undefined) return value;
  const last = await end.last;
  ended = true;
  const settled = new Promise((resolve) => whenIdle.push(resolve));
  changed();
  await settled;
  return last === undefined && end.get !== null && !end.isExport ? await end.get() : last;
}

const run = await prepared();
if (run !== null) {
  clear();
  Object.assign(console, makeConsole(inspect, print));
  timers.install();
  Error.stackTraceLimit = 40;
  if (now !== null) standStill(now * 1000);
  if (seed !== "") follow(seed);
  try {
    const returned = await valueOf(run);
    await new Promise((resolve) => tick(resolve)); // what nobody took is known a turn later
    const value = toJSON(returned);
    const lost = [...untaken.values()];
    const failed = lost.map((error) => failures.get(error)).filter((id) => id !== undefined);
    // Calls that failed are told beside a value: it is not lost for them.
    if (lost.length > failed.length || (lost.length > 0 && value === "null")) fail(lost[0]);
    else if (value.length > most.frame) {
      fail(new RangeError(`it returns more than ${most.frame} bytes (code.answer_bytes)`));
    } else end(null, `{"type":"done","untaken":${toJSON(failed)},"value":${value}}`);
  } catch (error) {
    fail(error);
  }
}
