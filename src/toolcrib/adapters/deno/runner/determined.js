// A clock that stands still, and random numbers that follow from a seed: so that a program that is
// run again takes the same steps.

export function standStill(milliseconds) {
  const RealDate = Date;
  const Frozen = new Proxy(RealDate, {
    construct: (target, given, made) =>
      Reflect.construct(target, given.length > 0 ? given : [milliseconds], made),
    apply: () => new RealDate(milliseconds).toString(),
  });
  RealDate.now = () => Math.trunc(milliseconds);
  RealDate.prototype.constructor = Frozen;
  put("Date", Frozen);
  put("performance", Object.freeze({ now: () => 0, timeOrigin: milliseconds }));
  if (globalThis.Temporal !== undefined) freezeTemporal(milliseconds);
  for (const name of ["format", "formatToParts"]) freezeFormat(name, milliseconds);
}

function put(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

function freezeTemporal(milliseconds) {
  const now = Temporal.Now;
  const at = (zone = "UTC") =>
    Temporal.Instant.fromEpochMilliseconds(Math.trunc(milliseconds)).toZonedDateTimeISO(zone);
  now.instant = () => at().toInstant();
  now.zonedDateTimeISO = (zone) => at(zone);
  now.plainDateTimeISO = (zone) => at(zone).toPlainDateTime();
  now.plainDateISO = (zone) => at(zone).toPlainDate();
  now.plainTimeISO = (zone) => at(zone).toPlainTime();
}

function freezeFormat(name, milliseconds) {
  const prototype = Intl.DateTimeFormat.prototype;
  const real = Object.getOwnPropertyDescriptor(prototype, name);
  if (real.get === undefined) {
    const format = real.value;
    prototype[name] = function (date = milliseconds) {
      return format.call(this, date);
    };
    return;
  }
  Object.defineProperty(prototype, name, {
    ...real,
    get() {
      const format = real.get.call(this);
      return (date = milliseconds) => format(date);
    },
  });
}

export function follow(seed) {
  const next = numbers(seed);
  Math.random = () => (next() * 2 ** 21 + (next() >>> 11)) / 2 ** 53;
  const fill = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at < bytes.length; at++) bytes[at] = next();
    return array;
  };
  const known = crypto.subtle;
  put("crypto", Object.freeze({
    getRandomValues: fill,
    randomUUID: () => uuid(fill(new Uint8Array(16))),
    subtle: Object.freeze({ digest: (...given) => known.digest(...given) }),
  }));
}

function uuid(bytes) {
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

// Whole numbers below 2^32, from a text (the generator is sfc32).
function numbers(seed) {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, 1];
  const next = () => {
    const sum = (a + b + d++) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return sum >>> 0;
  };
  for (const point of seed) {
    a ^= point.codePointAt(0);
    for (let turn = 0; turn < 4; turn++) next();
  }
  for (let turn = 0; turn < 16; turn++) next();
  return next;
}
