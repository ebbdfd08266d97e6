// Timers that know when the program only sleeps.

const real = { set: setTimeout, clear: clearTimeout, now: performance.now.bind(performance) };

export class Timers {
  #timers = new Map();
  #next = 1;
  #slept = 0;
  #since = null;

  // `most`: milliseconds that the program may sleep; `ran` is told of each timer when it is set and after it has run, `failed` what
  // one of them threw.
  constructor(most, ran, failed) {
    this.most = most;
    this.ran = ran;
    this.failed = failed;
  }

  get any() {
    return this.#timers.size > 0;
  }

  install() {
    const define = (name, value) =>
      Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
    const clear = (id) => this.#clear(id);
    define("setTimeout", (run, delay, ...given) => this.#set(run, delay, given, false));
    define("setInterval", (run, delay, ...given) => this.#set(run, delay, given, true));
    define("setImmediate", (run, ...given) => this.#set(run, 0, given, false));
    for (const name of ["clearTimeout", "clearInterval", "clearImmediate"]) define(name, clear);
  }

  // Nothing but timers goes on: count the time. Where that was too much, the error of the timer.
  sleep() {
    let first = null;
    for (const timer of this.#timers.values()) {
      if (first === null || timer.due < first.due) first = timer;
    }
    if (first === null) return null;
    const now = real.now();
    this.#since ??= now;
    const due = Math.max(first.due, now);
    return this.#slept + due - this.#since > this.most ? first.made : null;
  }

  awake() {
    if (this.#since !== null) this.#slept += real.now() - this.#since;
    this.#since = null;
  }

  #set(run, delay, given, again) {
    if (typeof run !== "function") throw new TypeError("a timer takes a function");
    const wait = Math.max(Number(delay) || 0, 0);
    const id = this.#next++;
    const timer = { made: new Error("sleeps"), due: real.now() + wait, handle: 0 };
    const start = () => {
      timer.handle = real.set(fire, Math.min(wait, 2 ** 31 - 1));
    };
    const fire = () => {
      this.awake();
      if (!again) this.#timers.delete(id);
      try {
        run(...given);
      } catch (error) {
        this.failed(error);
      }
      if (again && this.#timers.has(id)) {
        timer.due = real.now() + wait;
        start();
      }
      this.ran();
    };
    this.#timers.set(id, timer);
    start();
    this.ran();
    return id;
  }

  #clear(id) {
    const timer = this.#timers.get(Number(id));
    if (timer !== undefined) real.clear(timer.handle);
    this.#timers.delete(Number(id));
  }
}
