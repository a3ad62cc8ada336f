/** Who is enrolled, who answered, and how pairs and sites stand. */

import { element, fill, table } from "../shared/dom.js";
import { count, many } from "../shared/words.js";

function bar(done, of, label) {
  return element("progress", { max: Math.max(1, of), value: Math.min(done, Math.max(1, of)), "aria-label": label });
}

/** A group in the analyst's words; else by its name in the study. */
export const called = (study, name) => study.words?.groups?.[name] || name;

function roundTable({ number, reports, asked }, study) {
  const rows = Object.keys(reports).map((name) => [
    called(study, name),
    element("span", {}, count(reports[name]), bar(reports[name], asked[name] ?? 0, `${called(study, name)}: reports of those asked`)),
    count(asked[name] ?? 0),
  ]);
  const which = study.rounds > 1 ? `Round ${number} of ${study.rounds}` : "Reports";
  const now = study.rounds > 1 && study.state === "open" && study.round === number ? ", asked now" : "";
  return table(`${which}${now}`, ["Group", "Reports", "Asked so far"], rows);
}

const PAIR_WORDS = {
  done: "Done",
  "waiting for the garbler": "Waiting for the first partner",
  "waiting for the evaluator": "Waiting for the second partner",
  expired: "Dropped out: a partner did not come back in time",
  refused: "Dropped out: the messages did not fit together",
};

function pairsTable(pairs) {
  const rows = Object.entries(PAIR_WORDS).map(([name, words]) => [
    words,
    element("span", {}, count(pairs[name] ?? 0), bar(pairs[name] ?? 0, pairs.pairs, words)),
  ]);
  return table(`${many(pairs.pairs, "pair", "pairs")} in all`, ["State", "Pairs"], rows);
}

const SITE_WORDS = { answered: "Answered", waiting: "Not yet", "dropped out": "Dropped out", "not asked": "Not asked" };

/** Every site by its name: a second answer that was refused is a site that was set up twice, or that cheats. */
function sitesTable(sites, study, stages) {
  const head = stages.map(({ number }) => (study.rounds > 1 ? `Round ${number}` : "Answer"));
  const rows = sites.map(({ name, fingerprint, records, rounds, refused }) => [
    name,
    ...stages.map((_, place) => SITE_WORDS[rounds[place]] ?? ""),
    records ? study.strata.map((each) => (study.strata.length > 1 ? `${count(records[each])} ${called(study, each)}` : count(records[each]))).join(", ") : "–",
    refused ? count(refused) : "–",
    element("span", { class: "mono" }, fingerprint),
  ]);
  return table("Sites", ["Site", ...head, "Records", "Other answers, refused", "Key"], rows);
}

function enrolledWords({ enrolled, expected, study, sites }) {
  const total = Object.values(enrolled).reduce((sum, each) => sum + each, 0);
  if (sites) return `${many(total, "site has", "sites have")} enrolled.`;
  const quoted = (name) => (called(study, name) === name ? name : `“${called(study, name)}”`);
  const groups = study.strata.length > 1 ? ` (${study.strata.map((name) => `${count(enrolled[name])} ${quoted(name)}`).join(", ")})` : "";
  return `${many(total, "person has", "people have")} enrolled${groups}${expected ? `; ${count(expected)} expected` : ""}.`;
}

export function peopleCard() {
  const place = element("div");
  const where = element("section", { class: "card", "aria-labelledby": "people" }, element("h2", { id: "people" }, "Who took part"), place);
  let last = "";

  function update(progress) {
    const { stages, pairs, sites, study } = progress;
    // Only what has changed is drawn anew, so that nobody loses their place in a table.
    const now = JSON.stringify([progress.enrolled, stages.map(({ reports, asked }) => [reports, asked]), pairs, sites, study.step]);
    if (now === last) return;
    last = now;
    const tables = study.protocol === "pairwise" || sites ? [] : stages.map((stage) => roundTable(stage, study));
    if (sites) tables.push(sitesTable(sites, study, stages));
    fill(place, element("p", { id: "enrolled" }, enrolledWords(progress)), ...tables, pairs ? pairsTable(pairs) : null);
  }

  return { where, update };
}
