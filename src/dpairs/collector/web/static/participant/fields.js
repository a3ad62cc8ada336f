/** The form for a person's values: one field for each column, made from its domain. */

import { BadValue } from "/dpairs/index.js";
import { sentence } from "../shared/api.js";
import { element, field, select } from "../shared/dom.js";
import { scaleWords } from "../shared/naming.js";

const CHOOSE = ["", "Please choose"];

function numberInput(whole, { low, high }, unit) {
  const mode = whole ? { step: "1", inputmode: "numeric" } : { step: "any", inputmode: "decimal" };
  const input = element("input", { type: "number", min: String(low), max: String(high), ...mode, autocomplete: "off" });
  const read = () => {
    if (input.value.trim() === "") return null;
    return whole && /^-?\d+$/.test(input.value.trim()) ? BigInt(input.value.trim()) : Number(input.value);
  };
  const wanted = `${whole ? "a whole number" : "a number"} from ${low} to ${high}${unit ? ` ${unit}` : ""}`;
  const fits = (value) => value >= low && value <= high && (!whole || typeof value === "bigint");
  return { input, hint: sentence(wanted), read, fits, wanted };
}

function listInput(values, words = values.map(String)) {
  const input = select([CHOOSE, ...words.map((text, place) => [String(place), text])]);
  return { input, hint: null, read: () => (input.value === "" ? null : values[Number(input.value)]) };
}

function inputOf({ name, domain }, names) {
  const list = (values) => listInput(values, values.map((value) => names.answer(name, value)));
  if (name === "label") return list(["positive", "negative"]);
  const scale = scaleWords(names, name, domain);
  const made = ["interval", "integers"].includes(domain.kind) ? numberInput(domain.kind === "integers", domain, names.unit(name)) : list(domain.values);
  return { ...made, hint: [made.hint, scale ? sentence(scale) : null].filter(Boolean).join(" ") || null };
}

/** Elements to show, and `read()`: the values by column, or a refusal that points at its field. */
export function valueFields(study, names) {
  const columns = study.columns.map((column) => ({ name: column.name, words: names.question(column.name), ...inputOf(column, names) }));
  const mark = (wrong) => columns.forEach(({ input }) => input.setAttribute("aria-invalid", String(input === wrong)));

  function refuse(input, words) {
    mark(input);
    input.focus();
    throw new BadValue(words);
  }

  function read() {
    const given = {};
    for (const { name, words, input, read: value, fits, wanted } of columns) {
      given[name] = value();
      if (given[name] === null) refuse(input, `${words} ${input.validity.badInput ? "is not a number" : "is missing"}`);
      if (fits && !fits(given[name])) refuse(input, `${words} must be ${wanted}, not ${input.value}`);
    }
    mark(null);
    return given;
  }

  return { elements: columns.map(({ words, input, hint }) => field(words, input, hint)), read };
}
