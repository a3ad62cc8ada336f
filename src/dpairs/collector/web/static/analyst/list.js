/** All studies of the collector. */

import { sentence } from "../shared/api.js";
import { element, fill } from "../shared/dom.js";
import { titleOf } from "../shared/statistics.js";
import { PROTOCOLS, count, short, stepWords } from "../shared/words.js";
import { asAnalyst } from "./session.js";

function numbers(pairs) {
  const parts = pairs.map(([name, number]) => element("div", {}, element("dt", {}, name), element("dd", {}, count(number))));
  return element("dl", { class: "numbers" }, ...parts);
}

function card(study) {
  const [way] = PROTOCOLS[study.protocol] ?? [study.protocol];
  return element(
    "li",
    { class: "card" },
    element(
      "div",
      {},
      element("h2", {}, element("a", { href: `/studies/${study.id}` }, study.title)),
      element(
        "p",
        { class: "soft" },
        `${titleOf(study.statistic)} · ${way.toLowerCase()} · epsilon ${short(study.epsilon)} `,
        element("span", { class: "badge" }, stepWords(study)),
      ),
    ),
    numbers([
      ["Enrolled", study.enrolled],
      [study.protocol === "pairwise" ? "Pairs done" : "Reports", study.reports],
    ]),
  );
}

/** What is stored but cannot be served: whoever runs the collector has to look. */
function unreadable(study) {
  const said = `${sentence(study.reason)} The collector neither serves nor changes it; the other studies are not affected.`;
  return element(
    "div",
    { class: "problem unreadable", role: "alert" },
    element("p", {}, element("strong", {}, `“${study.title}” cannot be read.`), ` ${said}`),
    element("p", {}, `Study ${study.id.slice(0, 16)}…`),
  );
}

export async function showList(view) {
  document.title = "Studies";
  const [studies, broken] = await Promise.all([asAnalyst("GET", "/studies"), asAnalyst("GET", "/unreadable")]);
  const begin = element("a", { class: "button", href: "/new" }, "New study");
  const none = element("div", { class: "card" }, element("p", {}, "There is no study yet. Plan one: you see how accurate it will be before you ask anybody."));
  fill(
    view,
    element("div", { class: "heading" }, element("h1", {}, "Studies"), begin),
    ...broken.map(unreadable),
    studies.length ? element("ul", { class: "studies" }, ...studies.map(card)) : none,
  );
}
