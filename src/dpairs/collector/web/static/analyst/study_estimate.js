/** The live estimate, and how its interval narrowed as reports came in. */

import { sentence } from "../shared/api.js";
import { chart } from "../shared/chart.js";
import { announcer, element, fill, table } from "../shared/dom.js";
import { titleOf } from "../shared/statistics.js";
import { count, list, many, measured, short } from "../shared/words.js";
import { called } from "./study_people.js";

/** Milliseconds between announcements to screen readers. */
const QUIET = 15_000;
/** Rows of the chart's table. */
const ROWS = 12;

function words(estimate, unit) {
  const [low, high] = estimate.confidence_interval_95;
  const error = estimate.standard_error;
  return `95% interval: ${measured(low, error)} to ${measured(high, error)}, from ${many(estimate.n, unit[0], unit[1])}.`;
}

function whyNot(why, stages, study) {
  const { round, rounds } = study;
  const reports = stages.at(-1)?.reports ?? {};
  const missing = Object.keys(reports).filter((name) => reports[name] === 0);
  if (round < rounds) return `The first round gives a rough picture only; the estimate comes with round ${rounds}.`;
  if (missing.length === Object.keys(reports).length) return "It comes with the first reports.";
  if (missing.length) return `It needs reports of every group: there is none yet of ${list(missing.map((name) => `“${called(study, name)}”`))}.`;
  return sentence(why ?? "it comes with more reports");
}

/** Points with a value, as columns: reports, value, upper and lower end. */
function grown(stages) {
  const stage = [...stages].reverse().find(({ history }) => history.some((point) => point[2] !== null));
  const points = (stage?.history ?? []).filter((point) => !point.includes(null));
  const columns = [
    points.map(([reports]) => reports),
    points.map(([, , value]) => value),
    points.map((point) => point[4]),
    points.map((point) => point[3]),
  ];
  return { stage, points, columns };
}

/** Half the length of a point's interval. */
const half = ([, , , low, high]) => (high - low) / 2;

/** Not all points: the last of each stretch. */
function thinned(points) {
  const step = Math.max(1, Math.ceil(points.length / ROWS));
  return points.filter((_, place) => (points.length - 1 - place) % step === 0);
}

function numbersTable(points) {
  const rows = thinned(points).map((point) => {
    const [reports, , value, low, high] = point;
    const error = half(point) / 2;
    return [count(reports), measured(value, error), `${measured(low, error)} to ${measured(high, error)}`];
  });
  return table("The estimate as reports came in", ["Reports", "Estimate", "95% interval"], rows);
}

export function estimateCard(study) {
  const value = element("p", { class: "estimate", id: "estimate" });
  const interval = element("p", { id: "interval" });
  const notes = element("ul", { class: "soft" });
  const [said, place, numbers] = [announcer(), element("div"), element("div")];
  const unit = study.protocol === "pairwise" ? ["pair", "pairs"] : ["report", "reports"];
  const wanted = { x: { label: unit[1] }, y: { label: titleOf(study.statistic) }, lines: [["estimate", 0]], band: true };
  const history = chart(wanted);
  const covers = element("details", {}, element("summary", {}, "What the interval covers, and what it does not"), notes);
  const details = element("details", {}, element("summary", {}, "The chart's numbers"), numbers);
  let [announced, shown] = [0, ""];

  function update({ estimate, why_not: why, stages, study: now }) {
    const known = estimate !== null && estimate.value !== null;
    value.textContent = known ? measured(estimate.value, estimate.standard_error) : "No estimate yet";
    value.classList.toggle("none", !known);
    interval.textContent = known ? words(estimate, unit) : whyNot(why, stages, now);
    covers.hidden = !known;
    notes.replaceChildren(...(estimate?.notes ?? []).map((note) => element("li", {}, sentence(note))));
    const text = `${titleOf(now.statistic)} ${value.textContent}. ${interval.textContent}`;
    if (known && text !== shown && Date.now() - announced > QUIET) {
      said.textContent = text;
      [announced, shown] = [Date.now(), text];
    }
    draw(stages, now);
  }

  function draw(stages, now) {
    const { stage, points, columns } = grown(stages);
    if (points.length < 2) return fill(place);
    if (!history.where.isConnected) {
      const which = element("h3", { id: "history" });
      fill(place, which, history.where, details);
    }
    place.firstChild.textContent = now.rounds > 1 ? `As reports came in: round ${stage.number}` : "As reports came in";
    const [first, last] = [points[0], points.at(-1)];
    history.show(
      columns,
      `The interval narrowed from ± ${short(half(first))} at ${count(first[0])} to ± ${short(half(last))} at ${many(last[0], ...unit)}.`,
    );
    fill(numbers, numbersTable(points));
  }

  const where = element(
    "section",
    { class: "card", "aria-labelledby": "what" },
    element("h2", { id: "what" }, `${titleOf(study.statistic)}, estimated`),
    value,
    interval,
    said,
    place,
    covers,
  );
  return { where, update };
}
