// What a program finds around it: the language and what is harmless of a browser. Nothing here is a
// wall, the jail is; but a program that cannot name what it must not use fails with a clear error.

const KEPT = new Set((
  "Object Function Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol " +
  "Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError " +
  "TypeError URIError SuppressedError globalThis JSON Math Intl ArrayBuffer Atomics Uint8Array " +
  "Int8Array Uint16Array Int16Array Uint32Array Int32Array Float16Array Float32Array Float64Array " +
  "Uint8ClampedArray BigUint64Array BigInt64Array DataView Map BigInt Set Iterator WeakMap WeakSet " +
  "Proxy Reflect decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape eval " +
  "isFinite isNaN console queueMicrotask AbortController AbortSignal Blob CustomEvent DOMException " +
  "Event EventTarget TextDecoder TextEncoder URL URLPattern URLSearchParams atob btoa crypto " +
  "performance setInterval setTimeout clearInterval clearTimeout setImmediate clearImmediate " +
  "structuredClone Temporal DisposableStack AsyncDisposableStack ReadableStream WritableStream " +
  "TransformStream CompressionStream DecompressionStream self"
).split(" "));

export function clear() {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!KEPT.has(name)) delete globalThis[name];
  }
  delete globalThis.URL.createObjectURL;
  delete globalThis.URL.revokeObjectURL;
}

const HOLES = /%[sdifjoOc%]/g;

export function makeConsole(inspect, write) {
  let indent = "";
  const counts = new Map();
  const shown = (value) => typeof value === "string" ? value : inspect(value);
  const filled = (hole, value) => {
    if (hole === "%c") return "";
    if (hole === "%s") return typeof value === "object" ? inspect(value) : String(value);
    if (hole === "%d" || hole === "%f") return String(Number(value));
    if (hole === "%i") return String(Math.trunc(Number(value)));
    return hole === "%j" ? JSON.stringify(value) : inspect(value);
  };
  const line = (given) => {
    let rest = [...given];
    if (typeof rest[0] === "string" && rest.length > 1) {
      const [format, ...values] = rest;
      const text = format.replace(HOLES, (hole) => {
        if (hole === "%%") return "%";
        return values.length > 0 ? filled(hole, values.shift()) : hole;
      });
      rest = [text, ...values];
    }
    const text = rest.map(shown).join(" ");
    write(`${indent}${indent === "" ? text : text.replaceAll("\n", `\n${indent}`)}\n`);
  };
  const log = (...given) => line(given);
  const group = (...given) => {
    if (given.length > 0) line(given);
    indent += "  ";
  };
  const named = {
    dir: (value) => line([inspect(value)]),
    table: (value) => line([inspect(value)]),
    assert: (holds, ...given) => {
      if (!holds) line(["Assertion failed", ...given]);
    },
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      line([`${label}: ${counts.get(label)}`]);
    },
    countReset: (label = "default") => counts.delete(label),
    group,
    groupCollapsed: group,
    groupEnd: () => {
      indent = indent.slice(2);
    },
    time: () => {},
    timeLog: () => {},
    timeEnd: () => {},
    clear: () => {},
  };
  for (const name of ["log", "info", "debug", "warn", "error", "trace", "dirxml"]) named[name] = log;
  return named;
}
