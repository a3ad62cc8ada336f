/** Which answers are possible: a domain, as a study has it. */

import { element, field, select } from "../shared/dom.js";
import { columnWords } from "../shared/words.js";

const KINDS = {
  interval: "any number in a range",
  integers: "a whole number in a range",
  levels: "one of several ordered answers",
  categories: "one of several answers without order",
};
const FIRST = {
  levels: "1, 2, 3, 4, 5",
  categories: "red, green, blue",
};

/** Answers in a text: numbers when all of them are. */
function values(text) {
  const parts = text.split(/[\n,;]/).map((part) => part.trim()).filter(Boolean);
  const numbers = parts.map(Number);
  return numbers.every(Number.isFinite) ? numbers : parts;
}

const number = (input) => (input.value.trim() === "" ? null : Number(input.value));

/** A fieldset for one column, and `read()`, which gives its domain, or a sentence on what is missing. */
export function domainEditor(column, kinds, changed) {
  const words = columnWords(column);
  const kind = select(kinds.map((each) => [each, KINDS[each]]), { onchange: show });
  const low = element("input", { type: "number", step: "any", value: "0", inputmode: "decimal", oninput: changed });
  const high = element("input", { type: "number", step: "any", value: "1", inputmode: "decimal", oninput: changed });
  const listed = element("input", { value: FIRST.levels, oninput: changed });
  const ends = element("div", { class: "fields" }, field("From", low), field("To", high));
  const answers = field("Answers, with commas between them", listed);
  const where = element("fieldset", { class: "boxed" }, element("legend", {}, words), field("An answer is", kind), ends, answers);

  function show() {
    const range = kind.value === "interval" || kind.value === "integers";
    ends.hidden = !range;
    answers.hidden = range;
    if (Object.values(FIRST).includes(listed.value)) listed.value = FIRST[kind.value] ?? listed.value;
    if (kind.value === "integers" && high.value === "1") high.value = "100";
    changed();
  }

  function read() {
    if (!answers.hidden) {
      const listedValues = values(listed.value);
      if (listedValues.length < 2) return { problem: `${words}: please list at least two answers.` };
      return { domain: { kind: kind.value, values: listedValues } };
    }
    const [from, to] = [number(low), number(high)];
    if (from === null || to === null) return { problem: `${words}: please give both ends of the range.` };
    if (!(from < to)) return { problem: `${words}: the range must end above where it begins.` };
    if (kind.value === "integers" && !(Number.isSafeInteger(from) && Number.isSafeInteger(to))) {
      return { problem: `${words}: both ends must be whole numbers.` };
    }
    return { domain: { kind: kind.value, low: from, high: to } };
  }

  ends.hidden = !["interval", "integers"].includes(kinds[0]);
  answers.hidden = !ends.hidden;
  if (!answers.hidden) listed.value = FIRST[kinds[0]];
  return { where, read };
}
