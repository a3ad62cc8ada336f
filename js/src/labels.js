/** A private label as 0 (negative) or 1 (positive). */

import { BadValue } from "./errors.js";
import { repr } from "./wording.js";

const ALLOWED = "0 and 1, -1 and 1, False and True, or 'negative' and 'positive'";
const POSITIVE = [1, 1n, true, "positive"];
const NEGATIVE = [0, 0n, -1, -1n, false, "negative"];

/** @param {import("./domains.js").Value} label @param {string} column @returns {0 | 1} */
export function labelCode(label, column) {
  if (POSITIVE.includes(label)) return 1;
  if (NEGATIVE.includes(label)) return 0;
  const known = typeof label === "number" || typeof label === "bigint" || typeof label === "string";
  throw new BadValue(
    known
      ? `column ${repr(column)} has the label ${repr(label)} at row 0; the two classes are ${ALLOWED}`
      : `column ${repr(column)} holds ${repr(label)}; the two classes are ${ALLOWED}`,
  );
}
