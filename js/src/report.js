/** A report: one person's symbol, and its bytes on the wire. */

import { fromHex, hex } from "./bytes.js";
import { canonical } from "./canonical.js";
import { choice, fields, given, integer, required } from "./checks.js";
import { BadValue, NotAsked, WrongStudy } from "./errors.js";
import { parse } from "./json.js";
import { MAX_INDEX } from "./study.js";
import { repr } from "./wording.js";

const WIRE_VERSION = 1;
/** Wire version (1 byte), first 8 bytes of the study's id, number of the stratum (1), index (8). */
const HEAD = 18;
const SAFE = 2n ** 53n;

/** As few bytes as the study's symbols need. */
function symbolSize(study) {
  const last = study.symbols - 1n;
  return Math.max(1, Math.ceil(last.toString(2).length / 8));
}

/** What leaves a person's device: which study and stratum, which participant, which symbol. */
export class Report {
  #symbol;

  /**
   * Refuse what the study cannot have produced.
   *
   * @param {import("./study.js").Study} study @param {string} stratum
   * @param {number | bigint} index @param {number | bigint} symbol
   */
  constructor(study, stratum, index, symbol) {
    this.study = study;
    this.stratum = choice("stratum", stratum, [...study.strata]);
    this.index = Number(given("index", index, 0, MAX_INDEX));
    this.#symbol = given("symbol", symbol, 0, study.symbols - 1n);
    /** A number; a bigint in studies of more than 2^53 symbols. @type {number | bigint} */
    this.symbol = study.symbols > SAFE ? this.#symbol : Number(this.#symbol);
    checkAsked(study, this.stratum, this.index);
    Object.freeze(this);
  }

  /** The wire form. @returns {Uint8Array} */
  toBytes() {
    const size = symbolSize(this.study);
    const bytes = new Uint8Array(HEAD + size);
    const view = new DataView(bytes.buffer);
    bytes[0] = WIRE_VERSION;
    bytes.set(fromHex(this.study.id.slice(0, 16)), 1);
    bytes[9] = this.study.strata.indexOf(this.stratum);
    view.setBigUint64(10, BigInt(this.index));
    for (let place = 0; place < size; place += 1) {
      bytes[HEAD + size - 1 - place] = Number((this.#symbol >> BigInt(8 * place)) & 255n);
    }
    return bytes;
  }

  /** Read a report of `study`; refuse another study's, a cut one, and trailing bytes. @returns {Report} */
  static fromBytes(wire, study) {
    const size = HEAD + symbolSize(study);
    if (wire.length !== size) throw new BadValue(`a report of this study has ${size} bytes, not ${wire.length}`);
    if (wire[0] !== WIRE_VERSION) {
      throw new BadValue(`this report has version ${wire[0]}; this program knows version ${WIRE_VERSION}`);
    }
    const name = hex(wire.subarray(1, 9));
    if (name !== study.id.slice(0, 16)) {
      throw new WrongStudy(`this report belongs to study ${name}..., not to ${study.id.slice(0, 16)}...`);
    }
    if (wire[9] >= study.strata.length) {
      throw new BadValue(`this report names stratum ${wire[9]}; the study has ${study.strata.length}`);
    }
    const index = BigInt(`0x${hex(wire.subarray(10, HEAD))}`);
    return new Report(study, study.strata[wire[9]], index, BigInt(`0x${hex(wire.subarray(HEAD))}`));
  }

  /** The report as one line of a report file: canonical JSON. @returns {string} */
  toJson() {
    const { study, stratum, index } = this;
    return canonical({ study: study.id, stratum, index, symbol: this.#symbol });
  }

  /** Read a report of `study` from a line of a report file. @param {string} line @returns {Report} */
  static fromJson(line, study) {
    const spec = parse(line, "the report");
    const names = ["study", "stratum", "index", "symbol"];
    fields("a report", spec, names);
    required("the report", spec, names);
    if (spec.get("study") !== study.id) {
      const name = spec.get("study");
      const shown = (typeof name === "string" ? name : repr(name)).slice(0, 16);
      throw new WrongStudy(`this report belongs to study ${shown}..., not to ${study.id.slice(0, 16)}...`);
    }
    // Whole numbers of a text are bigints, so that 1.0 is none.
    const index = integer("index", spec.get("index"), 0, MAX_INDEX);
    const symbol = integer("symbol", spec.get("symbol"), 0, study.symbols - 1n);
    return new Report(study, spec.get("stratum"), index, symbol);
  }
}

/** Refuse a participant who acts in another round. */
export function checkAsked(study, stratum, index) {
  if (!study.asks(stratum, index)) {
    throw new NotAsked(
      `participant ${index} of ${repr(stratum)} is not asked in this round of study ` +
        `${study.id.slice(0, 16)}...: in a study of two rounds, each person answers in one`,
    );
  }
}
