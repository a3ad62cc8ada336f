/** How likely other answers would have given the very same message. */

import { sentence } from "../shared/api.js";
import { chart } from "../shared/chart.js";
import { element, table } from "../shared/dom.js";
import { percent, short } from "../shared/words.js";

/** More rows than this are drawn as a curve. */
const FEW = 10;

function partWords({ value, low, high }, name, names) {
  if (name === "label") return names.group(Number(value) === 1 ? "positive" : "negative");
  if (low === undefined || low === high) return names.answer(name, value) === String(value) && typeof value === "number" ? short(value, 4) : names.answer(name, value);
  return `${short(Number(low), 3)} to ${short(Number(high), 3)}`;
}

function bar(chance, most) {
  return element("progress", { max: most, value: chance, "aria-hidden": "true" });
}

const mostOf = (rows) => Math.max(...rows.map(({ chance }) => chance));

function oneColumn(name, rows, names) {
  const cells = rows.map(({ parts, chance }) => [partWords(parts[name], name, names), element("span", {}, percent(chance), bar(chance, mostOf(rows)))]);
  return table("Chance of the same message, by answer", [names.question(name), "Chance"], cells);
}

function curve(name, rows, names) {
  const wanted = {
    x: { label: names.question(name) },
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
  const numbers = element("details", {}, element("summary", {}, "The numbers"), oneColumn(name, rows, names));
  return element("div", {}, drawn.where, numbers);
}

function grid([first, second], rows, names) {
  const keys = (name) => [...new Set(rows.map(({ parts }) => partWords(parts[name], name, names)))];
  const [down, across] = [keys(first), keys(second)];
  const chances = new Map(rows.map(({ parts, chance }) => [`${partWords(parts[first], first, names)}|${partWords(parts[second], second, names)}`, chance]));
  const cells = down.map((one) => [one, ...across.map((other) => (100 * chances.get(`${one}|${other}`)).toFixed(1))]);
  const caption = `Chance of the same message in per cent. Down: ${sentence(names.question(first))} Across: ${sentence(names.question(second))}`;
  return table(caption, ["", ...across], cells, { class: "grid" });
}

/** Where a message has only a few chances: which share of the answers has which. */
function shares(columns, rows, distinct, names) {
  const share = (chance) => rows.filter((row) => row.chance === chance).length / rows.length;
  const cells = distinct.map((chance) => [element("span", {}, percent(chance), bar(chance, mostOf(rows))), `${percent(share(chance))} of the answers`]);
  const summary = table("Chance of the same message", ["Chance", "It has that chance under"], cells);
  const numbers = element("details", {}, element("summary", {}, "Which answers"), oneColumn(columns[0], rows, names));
  return element("div", {}, summary, numbers);
}

/** How it is shown best. */
function picture(columns, rows, names) {
  const distinct = [...new Set(rows.map(({ chance }) => chance))].sort((one, other) => other - one);
  if (columns.length > 1) return grid(columns, rows, names);
  if (rows.length <= FEW) return oneColumn(columns[0], rows, names);
  if (distinct.length <= 3) return shares(columns, rows, distinct, names);
  return typeof rows[0].parts[columns[0]].value === "string" ? oneColumn(columns[0], rows, names) : curve(columns[0], rows, names);
}

/** A sentence, and a table or a curve. */
export function likelihoods(participant, symbol, names) {
  const rows = participant.likelihoods(symbol).map((row) => ({ ...row, chance: Number(row.probability) }));
  const chances = rows.map(({ chance }) => chance);
  const [least, most] = [Math.min(...chances), Math.max(...chances)];
  const columns = participant.study.columns.map(({ name }) => name);
  const between = least === most ? `a chance of ${percent(least)}` : `a chance between ${percent(least)} and ${percent(most)}`;
  const odds = least === most ? "It says nothing at all about your answer." : `It is at most ${short(most / least)} times as likely under one answer as under another.`;
  return element("div", {}, element("p", {}, `Whatever your answer, this message had ${between}. ${odds}`), picture(columns, rows, names));
}
