/** What participants read: who asks, the questions, the answers and the groups, in the analyst's own words. */

import { element, field, fill, freshId } from "../shared/dom.js";
import { groupsOf } from "../shared/statistics.js";

const GROUP_HINTS = { positive: "For example: yes", negative: "For example: no" };

/** Answers of a list that are named one by one; of a longer list, its ends are. */
const MOST_ANSWERS = 20;

function line(label, hint, id) {
  const input = element("input", { maxlength: "300", id });
  return { input, where: field(label, input, hint) };
}

/** What each answer of a list is called; what was typed for a value stays while the list changes. */
function answerFields(column) {
  const where = element("div");
  const typed = new Map();
  let values = [];

  function update(domain) {
    values = domain?.values?.length <= MOST_ANSWERS ? domain.values.map(String) : [];
    for (const value of values) {
      if (!typed.has(value)) typed.set(value, line(`What the answer ${value} is called`, null, freshId(`answer-${column}`)));
    }
    fill(where, ...values.map((value) => typed.get(value).where));
  }

  const read = () => Object.fromEntries(values.map((value) => [value, typed.get(value).input.value.trim()]).filter(([, text]) => text));
  return { where, update, read };
}

/** One question: its words, its unit, the ends of its scale, and its answers. */
function questionFields(column, domain, number) {
  const listed = domain && "values" in domain;
  const question = line(number ? `Question ${number}` : "Question", "As you would ask it: How much do you earn a month?", `ask-${column}`);
  const unit = listed ? null : line("Unit", "What the number counts: euros, points", `unit-${column}`);
  const low = line(listed ? "The first answer means" : "The lowest number means", "For example: never");
  const high = line(listed ? "The last answer means" : "The highest number means", "For example: always");
  const answers = answerFields(column);
  const read = () => ({
    question: question.input.value.trim(),
    unit: unit?.input.value.trim() ?? "",
    low: low.input.value.trim(),
    high: high.input.value.trim(),
    answers: answers.read(),
  });
  const legend = element("legend", {}, number ? `Question ${number}` : "The question");
  const where = element("fieldset", { class: "boxed" }, legend, question.where, unit?.where ?? null, answers.where, low.where, high.where);
  return { where, read, update: answers.update };
}

/** Fields that follow the plan's request; `read()` gives the words of the study. */
export function planWords() {
  const organisation = line("Who asks", "Your organisation", "organisation");
  const purpose = element("textarea", { maxlength: "2000", id: "purpose" });
  const contact = line("Whom people can ask", "An address or a telephone number", "contact");
  const own = element("div");
  let [shown, questions, groups, asked] = ["", [], {}, null];

  function update({ statistic, options, domain }) {
    const columns = domain.map((each, place) => [["x", "y"][place], each]);
    const single = { auc: "score", mann_whitney: "score", vus: "score" }[statistic] ?? "value";
    const named = domain.length > 1 ? columns : [[single, domain[0]]];
    const strata = groupsOf(statistic, options);
    const secret = options.labels === "private" ? ["positive", "negative"] : [];
    const key = JSON.stringify([named.map(([name, each]) => [name, each.kind]), strata, secret]);
    if (key !== shown) rebuild(named, strata.length ? strata : secret);
    shown = key;
    questions.forEach(([, { update: follow }], place) => follow(named[place][1]));
  }

  function rebuild(named, strata) {
    questions = named.map(([name, each], place) => [name, questionFields(name, each, named.length > 1 ? place + 1 : 0)]);
    asked = strata.length ? line("The question that tells the groups apart", "For example: Did the test find diabetes?", "ask-group") : null;
    groups = Object.fromEntries(strata.map((name) => [name, line(`What people of the group ${name} answer`, GROUP_HINTS[name], `group-${name}`)]));
    fill(own, ...questions.map(([, { where }]) => where), asked?.where ?? null, ...Object.values(groups).map(({ where }) => where));
  }

  function read() {
    const words = { organisation: organisation.input.value.trim(), purpose: purpose.value.trim(), contact: contact.input.value.trim() };
    const called = Object.entries(groups).map(([name, { input }]) => [name, input.value.trim()]);
    return {
      ...words,
      group_question: asked?.input.value.trim() ?? "",
      groups: Object.fromEntries(called.filter(([, text]) => text)),
      columns: Object.fromEntries(questions.map(([name, { read: one }]) => [name, one()])),
    };
  }

  return { elements: [organisation.where, field("What for", purpose, "What the result is used for."), contact.where, own], update, read };
}
