/** Plain words for what the API names, and numbers as people read them. */

export const PROTOCOLS = {
  histogram: ["One randomized answer", "Each device sends its answer, changed at random, as one small number."],
  tree: ["A tree of ranges", "Each device sends one or a few randomized bits about a random part of the scale."],
  projection: [
    "In two rounds",
    "A first group gives a rough picture; the others send a randomized answer about how they compare with it.",
  ],
  pairwise: [
    "Computing in pairs",
    "Two devices compute together under encryption; neither learns anything about the other. Needs the Python client.",
  ],
  sites: ["Whole sites", "Each site adds noise once for all the records that it holds. Needs the Python client."],
};

/** "round 1" and the like, for people. */
export function stepWords(study) {
  if (study.state === "closed") return "closed";
  if (study.state === "pairing") return "pairs are computing";
  if (study.step === "enrolment") return "people enrol";
  return study.rounds > 1 ? `${study.step} of ${study.rounds}` : "open";
}

/** A number with as many digits as say something. */
export function short(number, digits = 3) {
  if (number === null || number === undefined || !Number.isFinite(number)) return "–";
  if (number !== 0 && (Math.abs(number) >= 1e7 || Math.abs(number) < 1e-4)) return number.toExponential(digits - 1);
  return number.toLocaleString("en", { maximumSignificantDigits: digits });
}

/** An estimate, to the decimals that its error allows. */
export function measured(value, error) {
  if (value === null || value === undefined) return "–";
  if (!error || !Number.isFinite(error)) return short(value, 4);
  const decimals = Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(error))));
  if (Math.abs(value) >= 1e7) return short(value, 4);
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

/** A whole number with separators. */
export function count(number) {
  return Number(number).toLocaleString("en");
}

/** "1 person", "2 people". */
export function many(number, one, several) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** A share in per cent. */
export function percent(share) {
  const digits = share < 0.0995 || share > 0.9005 ? 1 : 0;
  return `${(100 * share).toFixed(digits)}%`;
}

/** "a, b and c". */
export function list(words, last = "and") {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}

const COLUMN_WORDS = { score: "Score", value: "Question", x: "First question", y: "Second question", label: "Group" };

/** How a column is called in a form. */
export function columnWords(name) {
  return COLUMN_WORDS[name] ?? name;
}
