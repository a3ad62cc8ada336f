/** How likely other answers would have given the very same message. */

import { chart } from "../shared/chart.js";
import { element, table } from "../shared/dom.js";
import { columnWords, percent, short } from "../shared/words.js";

/** More rows than this are drawn as a curve. */
const FEW = 10;

function partWords({ value, low, high }, name) {
  if (name === "label") return Number(value) === 1 ? "positive" : "negative";
  if (low === undefined || low === high) return typeof value === "number" ? short(value, 4) : String(value);
  return `${short(Number(low), 3)} to ${short(Number(high), 3)}`;
}

const nameOf = (column) => (column === "label" ? "group" : column);

function bar(chance, most) {
  return element("progress", { max: most, value: chance, "aria-hidden": "true" });
}

const mostOf = (rows) => Math.max(...rows.map(({ chance }) => chance));

function oneColumn(name, rows) {
  const cells = rows.map(({ parts, chance }) => [partWords(parts[name], name), element("span", {}, percent(chance), bar(chance, mostOf(rows)))]);
  return table("Chance of the same message, by answer", [columnWords(name), "Chance"], cells);
}

function curve(name, rows) {
  const wanted = {
    x: { label: columnWords(name) },
    y: { label: "chance" },
    lines: [["chance", 0]],
    stepped: true,
    range: [0, 1],
  };
  const drawn = chart(wanted);
  const starts = rows.map(({ parts }) => Number(parts[name].low ?? parts[name].value));
  const last = rows.at(-1);
  const data = [
    [...starts, Number(last.parts[name].high ?? last.parts[name].value)],
    [...rows.map(({ chance }) => chance), last.chance],
  ];
  // A chart has a width only once it is on the page.
  requestAnimationFrame(() => drawn.show(data, "Chance of the same message for every possible answer; the table below has the numbers."));
  const numbers = element("details", {}, element("summary", {}, "The numbers"), oneColumn(name, rows));
  return element("div", {}, drawn.where, numbers);
}

function grid([first, second], rows) {
  const keys = (name) => [...new Set(rows.map(({ parts }) => partWords(parts[name], name)))];
  const [down, across] = [keys(first), keys(second)];
  const chances = new Map(rows.map(({ parts, chance }) => [`${partWords(parts[first], first)}|${partWords(parts[second], second)}`, chance]));
  const cells = down.map((one) => [one, ...across.map((other) => (100 * chances.get(`${one}|${other}`)).toFixed(1))]);
  const caption = `Chance of the same message in per cent: ${nameOf(first)} down, ${nameOf(second)} across`;
  return table(caption, [`${nameOf(first)}, ${nameOf(second)}`, ...across], cells, { class: "grid" });
}

/** Where a message has only a few chances: which share of the answers has which. */
function shares(names, rows, distinct) {
  const share = (chance) => rows.filter((row) => row.chance === chance).length / rows.length;
  const cells = distinct.map((chance) => [element("span", {}, percent(chance), bar(chance, mostOf(rows))), `${percent(share(chance))} of the answers`]);
  const summary = table("Chance of the same message", ["Chance", "It has that chance under"], cells);
  const numbers = element("details", {}, element("summary", {}, "Which answers"), oneColumn(names[0], rows));
  return element("div", {}, summary, numbers);
}

/** How it is shown best. */
function picture(names, rows) {
  const distinct = [...new Set(rows.map(({ chance }) => chance))].sort((one, other) => other - one);
  if (names.length > 1) return grid(names, rows);
  if (rows.length <= FEW) return oneColumn(names[0], rows);
  if (distinct.length <= 3) return shares(names, rows, distinct);
  return typeof rows[0].parts[names[0]].value === "string" ? oneColumn(names[0], rows) : curve(names[0], rows);
}

/** A sentence, and a table or a curve. */
export function likelihoods(participant, symbol) {
  const rows = participant.likelihoods(symbol).map((row) => ({ ...row, chance: Number(row.probability) }));
  const chances = rows.map(({ chance }) => chance);
  const [least, most] = [Math.min(...chances), Math.max(...chances)];
  const names = participant.study.columns.map(({ name }) => name);
  const between = least === most ? `a chance of ${percent(least)}` : `a chance between ${percent(least)} and ${percent(most)}`;
  const odds = least === most ? "It says nothing at all about your answer." : `It is at most ${short(most / least)} times as likely under one answer as under another.`;
  return element("div", {}, element("p", {}, `Whatever you had answered, this very message had ${between}. ${odds}`), picture(names, rows));
}
