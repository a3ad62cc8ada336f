/** How exact each way would be: a table to choose from, and curves over people and epsilon. */

import { chart } from "../shared/chart.js";
import { element, fill } from "../shared/dom.js";
import { PROTOCOLS, list, short } from "../shared/words.js";

const Z = 1.96;
const HEADS = ["Way", "95% interval", "Each sends", "Rounds", "Must trust"];

/** The interval to expect; and between which errors any people may lie, where nothing is known of them. */
function interval(option) {
  const [least, most] = option.range;
  const width = `± ${short(Z * option.standard_error)}`;
  const possible = `the error can be ${short(least)} to ${short(most)}`;
  return least === most ? width : element("span", {}, width, element("span", { class: "soft" }, possible));
}

function row(option, chosen, choose) {
  const [words, about] = PROTOCOLS[option.protocol];
  const id = `way-${option.protocol}`;
  const radio = element("input", { type: "radio", name: "way", id, checked: chosen, onchange: () => choose(option.protocol) });
  const name = element("span", {}, element("strong", {}, words), element("br"), element("span", { class: "soft" }, about));
  const cells = [
    interval(option),
    option.bits === 1 ? "1 bit" : `${option.bits} bits`,
    option.rounds === 1 ? "one" : "two",
    option.trust === "nobody" ? "nobody" : "the partner",
  ];
  return element(
    "tr",
    { class: chosen ? "chosen" : "" },
    element("th", { scope: "row" }, element("label", { class: "choice", for: id }, radio, name)),
    ...cells.map((cell, place) => element("td", { "data-head": HEADS[1 + place] }, cell)),
  );
}

function optionsTable(plan, chosen, choose) {
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ways to run the study" },
    element(
      "table",
      { class: "options" },
      element("caption", {}, "Ways to run the study, the most exact first"),
      element("thead", {}, element("tr", {}, ...HEADS.map((each) => element("th", { scope: "col" }, each)))),
      element("tbody", {}, ...plan.options.map((each) => row(each, each.protocol === chosen, choose))),
    ),
  );
}

/** Columns of a chart: x, then the half width of each protocol's interval. */
function columns(points, protocols) {
  const lines = protocols.map((name) => points.map(([, errors]) => (errors[name] > 0 ? Z * errors[name] : null)));
  return [points.map(([x]) => x), ...lines];
}

function describe(points, protocols, what) {
  const [first, last] = [points[0], points.at(-1)];
  const widths = protocols.map((name) => `${PROTOCOLS[name][0]}: ± ${short(Z * first[1][name])} to ± ${short(Z * last[1][name])}`);
  return `Half width of the 95% interval from ${short(first[0])} to ${short(last[0])} ${what}. ${list(widths)}.`;
}

/** Two charts over what an analyst can change. */
function curveCharts(protocols, at) {
  // A way keeps its colour, whichever others are compared with it.
  const lines = protocols.map((name) => [PROTOCOLS[name][0], Object.keys(PROTOCOLS).indexOf(name)]);
  const y = { label: "95% interval, ±", log: true };
  return {
    people: chart({ x: { label: "people", log: true }, y, lines, mark: () => at.people }),
    epsilon: chart({ x: { label: "epsilon: less private →", log: true }, y, lines, mark: () => at.epsilon }),
  };
}

/** A place for results; `show` replaces them, `showCurves` follows when the curves have been computed. */
export function planResults(choose) {
  const [ways, curves] = [element("div"), element("div")];
  const why = element("p", { class: "soft", "aria-live": "polite" });
  const where = element(
    "section",
    { class: "card", "aria-labelledby": "exact", "aria-busy": "true" },
    element("h2", { id: "exact" }, "How exact would it be?"),
    ways,
    why,
    curves,
  );
  const at = {};
  let [drawn, charts] = ["", null];

  return {
    where,
    busy(is) {
      where.setAttribute("aria-busy", String(is));
      // An answer to other inputs than those on the screen is none.
      if (is) {
        fill(ways, element("p", { class: "soft", role: "status" }, "Computing …"));
        why.textContent = "";
      }
      curves.hidden = is;
    },
    show(plan, request, total, chosen) {
      const held = document.activeElement?.id;
      fill(ways, optionsTable(plan, chosen, choose));
      if (held?.startsWith("way-")) document.getElementById(held)?.focus();
      why.textContent = `Without any privacy the interval would be ± ${short(Z * plan.error_without_privacy)}. The figures are for the worst of several shapes; your people may be easier.`;
      Object.assign(at, { people: total, epsilon: request.epsilon });
    },
    showCurves(plan) {
      const protocols = plan.options.map((each) => each.protocol).sort();
      if (drawn !== protocols.join()) {
        charts = curveCharts(protocols, at);
        const titles = ["More people", "More or less privacy"].map((text) => element("h3", {}, text));
        fill(curves, titles[0], charts.people.where, titles[1], charts.epsilon.where);
        drawn = protocols.join();
      }
      charts.people.show(columns(plan.curves.people, protocols), describe(plan.curves.people, protocols, "people"));
      charts.epsilon.show(columns(plan.curves.epsilon, protocols), describe(plan.curves.epsilon, protocols, "epsilon"));
    },
  };
}
