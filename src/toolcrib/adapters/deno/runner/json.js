// JSON without loss: whole numbers that no double holds are BigInt in a program, and come out again
// digit by digit; and nothing that JSON has not becomes null in silence.

const { parse, stringify, rawJSON } = JSON;
const { isFinite, isSafeInteger } = Number;
const { is } = Object;
const LONG = /\d{16}/;
const WHOLE = /^-?\d+$/;

export function fromJSON(text) {
  return LONG.test(text) ? parse(text, exact) : parse(text);
}

function exact(_, value, { source } = {}) {
  const lossy = typeof value === "number" && !isSafeInteger(value);
  return lossy && WHOLE.test(source) ? BigInt(source) : value;
}

// JSON has no maps, sets and errors, and `{}` says nothing of them.
export function toJSON(value) {
  return stringify(value, plain) ?? "null";
}

// Infinities and NaN are written as numbers that no double holds and that nothing else is written
// as, so that who reads them can name them.
const ODD = new Map([[Infinity, "1e999"], [-Infinity, "-1e999"], [NaN, "0e999"]]);

function number(value) {
  if (!isFinite(value)) return rawJSON(ODD.get(value));
  return is(value, -0) ? rawJSON("-0.0") : value;
}

// What a program did not wait for is one of them, too: it says which call that is, and 0 for none.
const calls = new WeakMap();

export function isCall(promise, id) {
  calls.set(promise, id);
  return promise;
}

// An object, where no two keys read alike.
function entries(map) {
  const made = Object.fromEntries(map);
  return Object.keys(made).length === map.size ? made : [...map];
}

function plain(key, value) {
  if (typeof value === "bigint") return rawJSON(String(value));
  if (typeof value === "number") return number(value);
  if (value === null) return this[key] instanceof Date ? number(NaN) : null;
  if (typeof value !== "object") return value;
  if (value instanceof Number) return number(Number(value));
  if (value instanceof Map) return entries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Promise) return rawJSON(`0e-${calls.get(value) ?? 0}`);
  return value;
}
