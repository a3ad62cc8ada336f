/**
 * Strict JSON: no key twice, nothing after the end, and whole numbers kept apart from others.
 *
 * `JSON.parse` loses what a study depends on: it keeps the last of two equal keys, rounds whole numbers
 * beyond 2^53 and cannot tell `1` from `1.0`. Here an object is a `Map`, a whole number a bigint, and a
 * number with a fraction or an exponent a double.
 */

import { BadFile } from "./errors.js";
import { kindOf } from "./wording.js";

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPED = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
/** A study is a handful of levels deep. */
const MAX_DEPTH = 200;
/** Python reads no longer whole numbers. */
const MAX_DIGITS = 4300;
/** Longest text that is parsed (16 Mi characters): checked before parsing. */
const MAX_TEXT = 16 * 2 ** 20;

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.place = 0;
  }

  fail(why) {
    throw new BadFile(`${why} at character ${this.place}`);
  }

  match(pattern) {
    pattern.lastIndex = this.place;
    const matched = pattern.exec(this.text);
    if (matched) this.place += matched[0].length;
    return matched;
  }

  space() {
    this.match(SPACE);
  }

  take(character) {
    if (this.text[this.place] !== character) this.fail(`expecting ${JSON.stringify(character)}`);
    this.place += 1;
  }

  word(word, value) {
    if (!this.text.startsWith(word, this.place)) this.fail("expecting a value");
    this.place += word.length;
    return value;
  }

  value(depth) {
    if (depth > MAX_DEPTH) this.fail("too many levels");
    switch (this.text[this.place]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  number() {
    const matched = this.match(NUMBER);
    if (!matched) this.fail("expecting a value");
    const [text, fraction, exponent] = matched;
    if (fraction === undefined && exponent === undefined) {
      if (text.replace("-", "").length > MAX_DIGITS) this.fail("a whole number is too long");
      return BigInt(text);
    }
    const value = Number(text);
    if (!Number.isFinite(value)) this.fail(`${text.slice(0, 40)} is not a JSON number`);
    return value;
  }

  string() {
    this.take('"');
    let out = "";
    for (;;) {
      out += this.match(PLAIN)[0];
      const end = this.text[this.place];
      if (end === '"') {
        this.place += 1;
        return out;
      }
      if (end !== "\\") this.fail("a string does not end");
      const letter = this.text[this.place + 1];
      if (letter === "u") {
        const digits = this.text.slice(this.place + 2, this.place + 6);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail("an escaped character has four digits");
        out += String.fromCharCode(parseInt(digits, 16));
        this.place += 6;
      } else {
        if (letter === undefined || !Object.hasOwn(ESCAPED, letter)) this.fail("no such escaped character");
        out += ESCAPED[letter];
        this.place += 2;
      }
    }
  }

  array(depth) {
    this.take("[");
    const items = [];
    this.space();
    if (this.text[this.place] === "]") {
      this.place += 1;
      return items;
    }
    for (;;) {
      this.space();
      items.push(this.value(depth + 1));
      this.space();
      if (this.text[this.place] === "]") {
        this.place += 1;
        return items;
      }
      this.take(",");
    }
  }

  object(depth) {
    this.take("{");
    const table = new Map();
    this.space();
    if (this.text[this.place] === "}") {
      this.place += 1;
      return table;
    }
    for (;;) {
      this.space();
      const key = this.string();
      if (table.has(key)) this.fail("a key appears twice in one object");
      this.space();
      this.take(":");
      this.space();
      table.set(key, this.value(depth + 1));
      this.space();
      if (this.text[this.place] === "}") {
        this.place += 1;
        return table;
      }
      this.take(",");
    }
  }
}

function decoded(input, what) {
  if (typeof input === "string") return input;
  if (!(input instanceof Uint8Array)) throw new BadFile(`${what} must be a text or its bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(input);
  } catch {
    throw new BadFile(`${what} is not valid JSON, or only a part of it: it is not UTF-8`);
  }
}

/**
 * Read one JSON object strictly.
 *
 * @param {string | Uint8Array} input @param {string} what
 * @returns {Map<string, any>}
 */
export function parse(input, what) {
  const size = typeof input === "string" && input.length > MAX_TEXT ? [...input].length : input?.length;
  if (size > MAX_TEXT) throw new BadFile(`${what} is ${size} bytes long; at most ${MAX_TEXT} are read`);
  const reader = new Reader(decoded(input, what));
  let value;
  try {
    reader.space();
    value = reader.value(0);
    reader.space();
    if (reader.place < reader.text.length) reader.fail("something follows the end");
  } catch (error) {
    if (!(error instanceof BadFile)) throw error;
    throw new BadFile(`${what} is not valid JSON, or only a part of it: ${error.message}`);
  }
  if (!(value instanceof Map)) throw new BadFile(`${what} must hold a JSON object, not ${kindOf(value)}`);
  return value;
}
