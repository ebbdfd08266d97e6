// Reads the text of a program far enough to know its statements, and makes one function of it.
//
// A module may not `return`, and a function may not `import`. Programs do both. So imports become
// parameters, exports become the value, and the rest is the body of an asynchronous function. No
// line moves: the function begins on a line of its own, before the first one of the program.

const WORD = /[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /(?:0[xob][\da-f_]+|(?:\d[\d_]*)?\.?\d[\d_]*(?:e[+-]?\d+)?)n?/iy;
const OPERATOR = /\+\+|--|=>|\?\.|\.\.\.|[^\s]/y;
const REGEX = /\/(?![*/])(?:\[(?:\\.|[^\]\\\n])*\]|\\.|[^/\\\n[])+\/[a-z]*/y;
const IMPORT =
  /import\s*(type\b(?!\s*(?:from\b|,)))?\s*(?:([\w$]+)\s*,?)?\s*(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*(?:\bfrom\b)?\s*(["'])([^"'\n]*)\5(?:\s*(?:with|assert)\s*\{[^}]*\})?/y;
const EXPORTED = /export\s*(?:type\s*)?\{([^}]*)\}(?:\s*from\s*(["'])[^"'\n]*\2)?/y;
const EXPORTED_ALL = /export\s*\*[^;\n]*/y;
const DEFAULT = /export\s+default\b/y;
const DECLARED = /(?:async\s+)?function\s*\*?\s*([\w$]+)|(?:abstract\s+)?class\s+(?!extends\b)([\w$]+)/y;
const NAMED = /(?:const|let|var)\s+([\w$]+)\s*[=:]/y;

const LAST = "$end.last = ";

const words = (text) => new Set(text.split(" "));
// What leaves an expression unfinished, so that a line break after it ends nothing.
const OPEN_ENDED = words(
  "await typeof void delete new in of instanceof as satisfies extends implements const let var " +
    "async default export import function class else do case throw from get set static type",
);
// What begins a regular expression after it, not a division.
const BEFORE_REGEX = words("return typeof case in of delete void throw new instanceof await yield do else");
const GOES_ON = words("in of instanceof as satisfies from else catch finally extends implements");
// Marks that an expression can begin with, as a statement.
const BEFORE_VALUE = words("[ ( ! ~ + - ++ --");
const CONTROL = words("if while for with");
const NO_EXPRESSION = words(
  "const let var function class if for while do switch try throw return break continue import " +
    "export interface enum declare namespace abstract debugger with module using",
);

export class Unreadable extends Error {
  constructor(why, message, at) {
    super(message);
    this.why = why;
    this.at = at;
  }
}

// The tokens outside of all brackets, each with what can be known of the one before it.
function outermost(text) {
  const tokens = [];
  const imports = [];
  const open = [];
  let at = 0;
  let previous = null;
  let broken = true;
  const matched = (pattern) => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? "";
  };
  const push = (kind, length, more) => {
    const token = { kind, text: text.slice(at, at + length), at, broken, previous, ...more };
    if (open.length === 0) tokens.push(token);
    if (kind === "word" && token.text === "import") imports.push(token);
    else if (previous !== null && previous.text === "import") previous.next = token.text;
    previous = token;
    broken = false;
    at += length;
    return token;
  };
  const template = () => {
    // From behind ` or }, to behind ` or ${.
    while (at < text.length) {
      const c = text[at];
      if (c === "\\") at += 2;
      else if (c === "`") {
        at += 1;
        return;
      } else if (c === "$" && text[at + 1] === "{") {
        open.push({ text: "${", previous });
        at += 2;
        previous = { kind: "mark", text: "${" };
        return;
      } else at += 1;
    }
  };
  while (at < text.length) {
    const c = text[at];
    if (c === "\n" || c === "\u2028" || c === "\u2029") {
      broken = true;
      at += 1;
    } else if (/\s/.test(c)) at += 1;
    else if (c === "/" && text[at + 1] === "/") {
      const end = text.indexOf("\n", at);
      at = end < 0 ? text.length : end;
    } else if (c === "/" && text[at + 1] === "*") {
      const end = text.indexOf("*/", at + 2);
      broken ||= text.slice(at, end).includes("\n");
      at = end < 0 ? text.length : end + 2;
    } else if (c === '"' || c === "'") {
      let end = at + 1;
      while (end < text.length && text[end] !== c && text[end] !== "\n") {
        end += text[end] === "\\" ? 2 : 1;
      }
      push("value", end + 1 - at);
    } else if (c === "`") {
      push("value", 1);
      template();
    } else if (c === "/" && beforeRegex(previous, broken) && matched(REGEX)) {
      push("value", matched(REGEX).length);
    } else if (matched(WORD)) push("word", matched(WORD).length);
    else if (/\d/.test(c) || (c === "." && /\d/.test(text[at + 1] ?? ""))) {
      push("value", matched(NUMBER).length || 1);
    } else if (c === "(" || c === "[" || c === "{") {
      const token = push("mark", 1);
      open.push(token);
    } else if (c === ")" || c === "]" || c === "}") {
      const opened = open.pop();
      if (opened === undefined) throw new Unreadable("syntax", `"${c}" closes nothing`, at);
      if (opened.text === "${") {
        previous = { kind: "value", text: "`" };
        at += 1;
        template();
      } else push("mark", 1, { opened });
    } else push("mark", matched(OPERATOR).length);
  }
  return { tokens, imports };
}

function afterControl(token) {
  return token.text === ")" && CONTROL.has(token.opened?.previous?.text ?? "");
}

function beforeRegex(token, broken) {
  if (token === null) return true;
  if (token.kind === "value") return false;
  if (token.kind === "word") return BEFORE_REGEX.has(token.text);
  if (token.text === ")") return afterControl(token);
  if (token.text === "}") return broken;
  return token.text !== "]" && token.text !== "++" && token.text !== "--";
}

function beginsStatement(token) {
  const before = token.previous;
  if (before === null || before.text === ";") return true;
  if (token.kind === "word" && GOES_ON.has(token.text)) return false;
  if (token.kind === "mark" && !["!", "~", "{", "@", "++", "--"].includes(token.text)) return false;
  if (before.text === "}") return token.broken || token.kind === "word";
  if (!token.broken) return false;
  if (before.kind === "word") return !OPEN_ENDED.has(before.text);
  if (before.kind === "value") return true;
  return ["]", "++", "--", "!"].includes(before.text) ||
    (before.text === ")" && !afterControl(before));
}

const blank = (text) => text.replace(/[^\n]/g, " ");

function bare(names) {
  // The names of an import or export, without comments.
  return names.replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, "").split(",").map((each) => each.trim())
    .filter((each) => each !== "");
}

// What a program imports and what its value is; the text with its imports and exports taken out.
export function read(text) {
  const { tokens, imports } = outermost(text);
  const edits = [];
  const imported = [];
  const values = [];
  let last = null;
  const matched = (pattern, at) => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  const edit = (at, length, by) => edits.push({ at, length, by });
  for (const token of tokens) {
    if (token.kind === "word" && token.previous?.text === ".") continue;
    if (!beginsStatement(token)) continue;
    last = token;
    if (token.text === "import" && token.next !== "(" && token.next !== ".") {
      const found = matched(IMPORT, token.at);
      if (found === null) {
        throw new Unreadable("syntax", 'write: import { name } from "module"', token.at);
      }
      const [all, type, whole, every, names, , module] = found;
      const taken = [];
      for (const name of bare(names ?? "")) {
        const [, isType, from, to] = /^(type\s+)?([\w$]+)(?:\s+as\s+([\w$]+))?$/.exec(name) ?? [];
        if (from === undefined) throw new Unreadable("syntax", `no name: ${name}`, token.at);
        if (!isType) taken.push([from, to ?? from]);
      }
      const spaces = [whole, every].filter((each) => each !== undefined);
      imported.push({ module, at: token.at, names: type ? [] : taken, spaces: type ? [] : spaces });
      edit(token.at, all.length, blank(all));
    } else if (token.text === "export") exported(token);
  }
  for (const token of imports) {
    const member = token.previous?.text === "." || token.previous?.text === "?.";
    if (token.next === "(" && !member) edit(token.at, 6, "$load_");
  }

  function exported(token) {
    const start = matched(DEFAULT, token.at);
    const list = matched(EXPORTED, token.at);
    const all = matched(EXPORTED_ALL, token.at);
    if (start !== null) {
      const after = token.at + start[0].length;
      const space = /\s*/.exec(text.slice(after))[0].length;
      const declared = matched(DECLARED, after + space);
      if (declared !== null) values.push([declared[1] ?? declared[2], true]);
      const by = declared === null ? "$end.value =".padEnd(start[0].length) : blank(start[0]);
      edit(token.at, start[0].length, by);
    } else if (list !== null) {
      for (const name of bare(list[1])) {
        const value = /^([\w$]+)\s+as\s+default$/.exec(name)?.[1];
        if (value !== undefined && list[2] === undefined) values.push([value, true]);
      }
      edit(token.at, list[0].length, blank(list[0]));
    } else if (all !== null) edit(token.at, all[0].length, blank(all[0]));
    else edit(token.at, 6, blank("export"));
  }

  // Without `return`, the value is that of the last statement: an expression, or what it names.
  let valued = null;
  if (last !== null && values.length === 0 && !edits.some((each) => each.at === last.at && last.text === "export")) {
    const named = matched(NAMED, last.at);
    const label = tokens[tokens.indexOf(last) + 1]?.text === ":";
    const isType = ["type", "async"].includes(last.text) &&
      tokens[tokens.indexOf(last) + 1]?.kind === "word";
    if (named !== null) values.push([named[1], false]);
    else if (!NO_EXPRESSION.has(last.text) && !label && !isType) {
      if (last.kind !== "mark" || BEFORE_VALUE.has(last.text)) valued = last.at;
    }
  }
  return { imported, values, edits, valued };
}

// The text of a module whose default export runs the program, and the way back to its places.
export function written(text, { imported, values, edits, valued }, withValue) {
  const given = [];
  for (const { module, names, spaces } of imported) {
    const from = `$modules[${JSON.stringify(module)}]`;
    if (names.length > 0) {
      given.push(`{ ${names.map(([a, b]) => `${a}: ${b}`).join(", ")} } = ${from}`);
    }
    for (const space of spaces) given.push(`${space} = ${from}`);
  }
  const head = given.length > 0 ? `const ${given.join(", ")};` : "";
  const ends = values.map(([name, isExport]) => `$end.at(() => ${name}, ${isExport});`).join("");
  const all = [...edits];
  if (withValue && valued !== null) all.push({ at: valued, length: 0, by: LAST });
  all.sort((a, b) => a.at - b.at || a.length - b.length);
  const parts = [];
  let from = 0;
  for (const { at, length, by } of all) {
    parts.push(text.slice(from, at), by);
    from = at + length;
  }
  parts.push(text.slice(from));
  const shift = withValue && valued !== null ? valued : null;
  return {
    text: `export default async function $program($load_, $modules, $end) {${head}${ends}\n` +
      `${parts.join("")}\n}\n`,
    place: (line, column) => {
      if (shift === null || line - 1 !== placeOf(text, shift)[0]) return [line - 1, column];
      return [line - 1, column > placeOf(text, shift)[1] ? column - LAST.length : column];
    },
  };
}

// Line and column, from 1, of an offset.
export function placeOf(text, at) {
  const before = text.slice(0, at).split("\n");
  return [before.length, before.at(-1).length + 1];
}
