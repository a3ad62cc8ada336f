/** What is to be found out, from how many people, under which promise: the planner's inputs. */

import { element, field, fill, select } from "../shared/dom.js";
import { STATISTICS, groupsOf } from "../shared/statistics.js";
import { short } from "../shared/words.js";
import { domainEditor } from "./plan_domain.js";

const EPSILONS = [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 6, 8];

/** What an epsilon means to a person. */
function epsilonWords(epsilon) {
  const times = short(Math.exp(epsilon), epsilon < 3 ? 2 : 3);
  return `Whatever somebody answers, what leaves their device is at most ${times} times as likely as under any other answer.`;
}

function epsilonSlider(changed) {
  const slider = element("input", { type: "range", id: "epsilon", min: "0", max: String(EPSILONS.length - 1), step: "1", value: "5" });
  const shown = element("output", { for: "epsilon" });
  const words = element("p", { class: "hint", id: "epsilon-words" });
  slider.setAttribute("aria-describedby", words.id);
  const value = () => EPSILONS[Number(slider.value)];
  function show() {
    shown.textContent = String(value());
    slider.setAttribute("aria-valuetext", `epsilon ${value()}`);
    words.textContent = epsilonWords(value());
  }
  slider.addEventListener("input", () => {
    show();
    changed();
  });
  show();
  const label = element("label", { for: "epsilon" }, "Privacy (epsilon ", shown, ")");
  const scale = element("p", { class: "hint ends", "aria-hidden": "true" }, element("span", {}, "more private"), element("span", {}, "more exact"));
  return { where: element("div", { class: "field" }, label, slider, scale, words), value };
}

function checkbox(label, checked, changed) {
  const box = element("input", { type: "checkbox", checked, onchange: changed });
  return { where: element("label", { class: "choice" }, box, label), value: () => box.checked };
}

/** The form, and `read()`: a request to the planner, or a sentence on what is missing. */
export function planForm(changed) {
  const names = Object.entries(STATISTICS).map(([name, { title }]) => [name, title]);
  const statistic = select(names, { id: "statistic", onchange: showStatistic });
  const about = element("p", { class: "hint", id: "about" });
  statistic.setAttribute("aria-describedby", "about");
  const [options, domains, people] = [element("div"), element("div"), element("div", { class: "fields" })];
  const epsilon = epsilonSlider(changed);
  const rounds = checkbox("Ask in two rounds if that is better (everybody still answers once)", true, changed);
  const peers = checkbox("People may compute in pairs (with the Python client, not in the browser)", false, changed);
  /** @type {Record<string, string>} */
  let chosen = {};
  /** @type {Record<string, HTMLInputElement>} */
  let counts = {};
  let editors = [];

  function showStatistic() {
    const { about: words, columns, kinds, options: own = [] } = STATISTICS[statistic.value];
    about.textContent = words;
    chosen = {};
    const selects = own.map(({ name, label, choices }) => {
      const control = select(choices, {
        onchange: () => {
          chosen[name] = control.value;
          showPeople();
          changed();
        },
      });
      chosen[name] = control.value;
      return field(label, control);
    });
    fill(options, ...selects);
    editors = columns.map((column) => domainEditor(column, kinds, changed));
    fill(domains, ...editors.map(({ where }) => where));
    showPeople();
    changed();
  }

  function showPeople() {
    const groups = groupsOf(statistic.value, chosen);
    const strata = groups.length ? groups : ["people"];
    counts = Object.fromEntries(
      strata.map((name) => [name, element("input", { type: "number", min: "2", step: "1", value: groups.length ? "10000" : "20000", inputmode: "numeric", oninput: changed })]),
    );
    const label = (name) => (name === "people" ? "People you expect" : `People you expect: ${name}`);
    fill(people, ...strata.map((name) => field(label(name), counts[name])));
  }

  function read() {
    const readings = editors.map((editor) => editor.read());
    /** @type {[string, number][]} */
    const numbers = Object.entries(counts).map(([name, input]) => [name, Number(input.value)]);
    const few = numbers.find(([, number]) => !Number.isSafeInteger(number) || number < 2 || number > 1e12);
    const problem = readings.find((each) => each.problem)?.problem;
    if (problem) return { problem };
    if (few) return { problem: "Please give a whole number of people, at least 2." };
    const request = {
      statistic: statistic.value,
      options: { ...chosen },
      domain: readings.map(({ domain }) => domain),
      people: counts.people ? numbers[0][1] : Object.fromEntries(numbers),
      epsilon: epsilon.value(),
      rounds: rounds.value() ? 2 : 1,
      peers: peers.value(),
    };
    return { request, total: numbers.reduce((sum, [, number]) => sum + number, 0) };
  }

  const where = element(
    "section",
    { class: "card", "aria-labelledby": "asked" },
    element("h2", { id: "asked" }, "What do you want to know?"),
    element("div", { class: "field" }, element("label", { for: "statistic" }, "Statistic"), statistic, about),
    options,
    domains,
    people,
    epsilon.where,
    element("div", { class: "field" }, rounds.where, peers.where),
  );
  showStatistic();
  return { where, read };
}
