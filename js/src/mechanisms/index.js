/** How a bin, or a number, becomes a symbol: one file for each mechanism, with its exact distribution. */

import { choice, fields, required } from "../checks.js";
import { BadFile } from "../errors.js";
import { kindOf, repr } from "../wording.js";
import { BitResponse } from "./bit.js";
import { KaryResponse } from "./krr.js";
import { ProjectiveResponse } from "./projective.js";
import { TableResponse } from "./table.js";
import { MAX_SYMBOLS, WindowResponse } from "./window.js";

/** Mechanisms for bins, and for a number in [0, 1], by name. */
const MECHANISMS = { krr: KaryResponse, projective: ProjectiveResponse };
const SCALARS = { bit: BitResponse, window: WindowResponse };

/** Thresholds are decimal strings, for languages whose numbers end at 2^53; the rest are numbers. */
function whole(name, value) {
  const wanted = name === "floor" || name === "boost" ? "string" : "bigint";
  if (typeof value !== wanted || !/^[0-9]{1,20}$/.test(String(value))) {
    throw new BadFile(`mechanism field ${repr(name)} must be a whole number below 2^64, not ${repr(value)}`);
  }
  return BigInt(value);
}

/** A list that is left out where it is empty: one way to write each study. */
function wholes(name, values) {
  if (!Array.isArray(values) || values.length < 1 || values.length >= MAX_SYMBOLS) {
    throw new BadFile(`mechanism field ${repr(name)} must be a list of 1 to ${MAX_SYMBOLS - 1} whole numbers`);
  }
  return values.map((value) => whole(name, value));
}

function read(spec, kinds) {
  if (!(spec instanceof Map)) throw new BadFile(`a mechanism must be a JSON object, not ${kindOf(spec)}`);
  const name = choice("mechanism", spec.get("name"), Object.keys(kinds));
  const names = kinds[name].fields;
  const every = kinds[name].lists ?? [];
  const lists = every.filter((field) => spec.has(field));
  fields(`mechanism ${repr(name)}`, spec, ["name", ...names, ...every]);
  required(`mechanism ${repr(name)}`, spec, names);
  const given = names.map((field) => whole(field, spec.get(field)));
  return new kinds[name](...given, ...lists.map((field) => wholes(field, spec.get(field))));
}

/** Read a mechanism for bins from a study. @param {unknown} spec */
export function readMechanism(spec) {
  if (spec instanceof Map && spec.get("name") === "table") return new TableResponse(spec);
  return read(spec, MECHANISMS);
}

/** Read a mechanism for numbers from a study. @param {unknown} spec */
export function readScalar(spec) {
  return read(spec, SCALARS);
}
