/** The form for a person's values: one field for each column, made from its domain. */

import { BadValue } from "/dpairs/index.js";
import { sentence } from "../shared/api.js";
import { element, field, select } from "../shared/dom.js";
import { columnWords } from "../shared/words.js";

const CHOOSE = ["", "Please choose"];

function numberInput(whole, { low, high }) {
  const mode = whole ? { step: "1", inputmode: "numeric" } : { step: "any", inputmode: "decimal" };
  const input = element("input", { type: "number", min: String(low), max: String(high), ...mode, autocomplete: "off" });
  const read = () => {
    if (input.value.trim() === "") return null;
    return whole && /^-?\d+$/.test(input.value.trim()) ? BigInt(input.value.trim()) : Number(input.value);
  };
  const wanted = `${whole ? "a whole number" : "a number"} from ${low} to ${high}`;
  const fits = (value) => value >= low && value <= high && (!whole || typeof value === "bigint");
  return { input, hint: sentence(wanted), read, fits, wanted };
}

function listInput(values, words = values.map(String)) {
  const input = select([CHOOSE, ...words.map((text, place) => [String(place), text])]);
  return { input, hint: null, read: () => (input.value === "" ? null : values[Number(input.value)]) };
}

function inputOf({ name, domain }) {
  if (name === "label") return listInput(["positive", "negative"]);
  if (domain.kind === "interval") return numberInput(false, domain);
  if (domain.kind === "integers") return numberInput(true, domain);
  return listInput(domain.values);
}

/** Elements to show, and `read()`: the values by column, or a refusal that points at its field. */
export function valueFields(study) {
  const columns = study.columns.map((column) => ({ name: column.name, words: columnWords(column.name), ...inputOf(column) }));
  const mark = (wrong) => columns.forEach(({ input }) => input.setAttribute("aria-invalid", String(input === wrong)));

  function refuse(input, words) {
    mark(input);
    input.focus();
    throw new BadValue(words);
  }

  function read() {
    const found = {};
    for (const { name, words, input, read: value, fits, wanted } of columns) {
      found[name] = value();
      if (found[name] === null) refuse(input, `${words} ${input.validity.badInput ? "is not a number" : "is missing"}`);
      if (fits && !fits(found[name])) refuse(input, `${words} must be ${wanted}, not ${input.value}`);
    }
    mark(null);
    return found;
  }

  return { elements: columns.map(({ words, input, hint }) => field(words, input, hint)), read };
}
