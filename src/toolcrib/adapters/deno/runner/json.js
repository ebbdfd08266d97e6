// JSON without loss: whole numbers that no double holds are BigInt in a program, and come out again
// digit by digit.

const { parse, stringify, rawJSON } = JSON;
const { isInteger, isSafeInteger } = Number;
const LONG = /\d{16}/;
const WHOLE = /^-?\d+$/;

export function fromJSON(text) {
  return LONG.test(text) ? parse(text, exact) : parse(text);
}

function exact(_, value, { source } = {}) {
  const lossy = typeof value === "number" && isInteger(value) && !isSafeInteger(value);
  return lossy && WHOLE.test(source) ? BigInt(source) : value;
}

// JSON has no maps, sets and errors, and `{}` says nothing of them.
export function toJSON(value) {
  return stringify(value, plain) ?? "null";
}

function plain(_, value) {
  if (typeof value === "bigint") return rawJSON(String(value));
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof Promise) {
    throw new Error("a call that it did not wait for: write `await` before the call");
  }
  return value;
}
