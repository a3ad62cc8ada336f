/** A task: what an analyst and the operators of both servers agree on, named by the hash of its file. */

import { fromHex, hex } from "../bytes.js";
import { canonical, digest } from "../canonical.js";
import { equals, fields, required, small, text } from "../checks.js";
import { BadFile } from "../errors.js";
import { parse } from "../json.js";
import { Study } from "../study.js";
import { repr } from "../wording.js";
import { bestChunk } from "../vdaf/chunks.js";
import { concat } from "../vdaf/xof.js";
import { ascii, number, opaque } from "./presentation.js";

const FIELDS = ["format", "version", "id", "title", "study", "leader", "helper", "analyst", "min_batch_size", "time_precision"];
const ADDRESS = /^(https:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])|http:\/\/(127\.0\.0\.1|localhost|\[::1\]))(:[0-9]{1,5})?(\/[A-Za-z0-9._~/-]*)?$/;
/** Characters of a name, a title or an address. */
const LONGEST = 200;
/** People of each class at least. */
const FEWEST = 2;
/** Our own public extension of a report: the person's public class. */
const CLASS = 0xff01;
const ONE_HOT = 0xffff0001;
const PROOFS = 3;
const LEADER_SELECTED = 2;

/** A text in one line, which shows all that it has. */
function line(what, given) {
  const words = text(what, given);
  const size = [...words].length;
  if (!size || size > LONGEST || /[\p{C}\p{Z}]/u.test(words.replaceAll(" ", ""))) throw new BadFile(`${what} has 1 to ${LONGEST} characters in one line`);
  return words;
}

function operator(what, spec) {
  if (!(spec instanceof Map) || canonical([...spec.keys()].sort()) !== '["name","url"]') {
    throw new BadFile(`the ${what} of a task has a 'name' and a 'url'`);
  }
  const [name, url] = [line("the name of an operator", spec.get("name")), line("the address of a server", spec.get("url"))];
  if (!ADDRESS.test(url) || url.endsWith("/")) throw new BadFile(`a server's address looks like https://HOST, not ${repr(url)}`);
  return Object.freeze({ name, url });
}

export class Task {
  /** Read a task; refuse one that was changed. @param {string | Uint8Array} given @param {string} [id] that a link names */
  static fromJson(given, id) {
    const spec = parse(given, "the task");
    if (spec.get("format") !== "dpairs-task" || !equals(spec.get("version"), 1)) throw new BadFile("this is not a task of version 1");
    required("the task", spec, FIELDS);
    fields("a task", spec, FIELDS);
    const content = new Map([...spec].filter(([key]) => key !== "id"));
    const found = digest(content);
    if (found !== spec.get("id")) throw new BadFile("the task was changed: its id does not belong to its contents");
    if (id !== undefined && id !== found) throw new BadFile("this is another task than the one that the link names");
    return new Task(found, spec);
  }

  /** @param {string} id @param {Map<string, any>} spec */
  constructor(id, spec) {
    this.id = id;
    this.title = line("the title of a task", spec.get("title"));
    this.study = Study.fromJson(canonical(spec.get("study")));
    if (this.study.protocol.name !== "two_servers") throw new BadFile("a task is of a study of two servers");
    this.leader = operator("leader", spec.get("leader"));
    this.helper = operator("helper", spec.get("helper"));
    if (this.leader.url === this.helper.url || this.leader.name === this.helper.name) {
      throw new BadFile("leader and helper are two servers, with a name and an address each");
    }
    this.minBatchSize = small("min_batch_size", spec.get("min_batch_size"), FEWEST * this.study.strata.length, 2 ** 32);
    this.timePrecision = small("time_precision", spec.get("time_precision"), 1, 2 ** 31);
    const { cells } = /** @type {any} */ (this.study.protocol).grid;
    this.cells = cells;
    this.bytes = fromHex(id);
    /** What binds shares and proofs to this task. */
    this.context = concat(ascii("dap-18"), this.bytes);
    this.configuration = this.#configuration();
    Object.freeze(this);
  }

  #configuration() {
    const chunk = Number(bestChunk(this.cells));
    const vdaf = concat(number(this.cells, 4), number(chunk, 4), number(PROOFS, 1));
    const none = opaque(new Uint8Array(0), 2);
    return concat(
      opaque(fromHex(this.study.id), 1),
      opaque(ascii(this.leader.url), 2),
      opaque(ascii(this.helper.url), 2),
      number(this.timePrecision, 8),
      number(this.minBatchSize, 8),
      number(LEADER_SELECTED, 1),
      none,
      number(ONE_HOT, 4),
      opaque(vdaf, 2),
      none,
    );
  }

  /** The id as it stands in a path of DAP. */
  get name() {
    return letters(this.bytes);
  }

  /** The encoded extensions of a report of that class. */
  extensions(stratum) {
    const { strata } = this.study;
    if (strata.length === 1) return opaque(new Uint8Array(0), 2);
    const one = concat(number(CLASS, 2), opaque(Uint8Array.of(strata.indexOf(stratum)), 2));
    return opaque(one, 2);
  }

  toString() {
    return `Task(${hex(this.bytes).slice(0, 16)}...)`;
  }
}

/** URL-safe Base 64 without padding. @param {Uint8Array} bytes */
export function letters(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
