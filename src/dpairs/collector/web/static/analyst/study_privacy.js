/** What the study promises each person, what not, and who learns what. */

import { sentence } from "../shared/api.js";
import { element, table } from "../shared/dom.js";

export function privacyCard({ study, learns }) {
  const rows = learns.map(([who, what]) => [sentence(who).slice(0, -1), sentence(what)]);
  if (study.protocol !== "sites") rows.unshift(["The person alone", "The true answer: it stays on their device."]);
  return element(
    "section",
    { class: "card", "aria-labelledby": "promise" },
    element("h2", { id: "promise" }, "What is promised to each person"),
    element("p", {}, study.promise),
    element("p", { class: "soft" }, `It covers ${study.claim.neighbours}. The proof: ${study.claim.theorem}.`),
    element("h3", {}, "What is not promised"),
    element("ul", {}, ...study.claim.not_promised.map((each) => element("li", {}, sentence(each)))),
    table("Who learns what", ["Who", "What"], rows, { class: "plain" }),
  );
}
