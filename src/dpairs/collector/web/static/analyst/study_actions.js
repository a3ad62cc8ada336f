/** What comes next: advance, close, delete; and files to keep. */

import { Refused } from "../shared/api.js";
import { confirmed } from "../shared/confirm.js";
import { alertLine, element, say } from "../shared/dom.js";
import { save } from "../shared/save.js";
import { asAnalyst, fetchFile } from "./session.js";

function nextWords(next, protocol) {
  if (next === "form pairs") {
    return {
      button: "Form the pairs",
      about: "When enough people have enrolled, form the pairs: everybody gets partners, and nobody can enrol any more.",
      title: "Form the pairs now?",
      words: "Nobody can enrol after that.",
    };
  }
  if (protocol === "sites") {
    return {
      button: "Begin round 2",
      about: "When the sites have answered this round, begin the next: this publishes the rough picture, and the same sites are asked once more.",
      title: "End this round and begin the next?",
      words: "A site that has not answered by now is not asked any more. The rough picture from this round becomes public.",
    };
  }
  return {
    button: "Begin round 2",
    about: "When enough people have answered this round, begin the next: this publishes the rough picture, and the others are asked.",
    title: "End this round and begin the next?",
    words: "Later reports of this round are not counted. The rough picture from this round becomes public.",
  };
}

const CLOSED = "This study is closed: it takes no more reports. You can still download its results.";
const LAST = "People are answering. Close the study when you have what you need.";
const PAIRING = "The pairs are computing. Close the study when enough of them are done.";

/** Run what a button does; a refusal is one sentence below it. */
async function attempt(line, work) {
  say(line, null);
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(line, error.message);
  }
}

export function actionsCard(path, refresh) {
  const [line, about] = [alertLine(), element("p", { id: "next-words" })];
  const next = element("button", { type: "button", id: "advance", onclick: advance });
  const close = element("button", { type: "button", class: "second", id: "close", onclick: end }, "Close the study");
  const forget = element("button", { type: "button", class: "danger", id: "delete", onclick: remove }, "Delete the study");
  let now = null;

  async function advance() {
    const { title, words, button } = nextWords(now.next_step, now.study.protocol);
    const seen = now.study.step;
    if (!(await confirmed({ title, words, yes: button }))) return;
    await attempt(line, async () => {
      await asAnalyst("POST", `${path}/advance`, { content: { seen } });
      await refresh();
    });
    // The button may be gone; whoever uses the keyboard goes on from here.
    heading.focus();
  }

  async function end() {
    const words = "It takes no more reports after that, and you cannot open it again. The results stay.";
    if (!(await confirmed({ title: "Close the study?", words, yes: "Close the study" }))) return;
    await attempt(line, async () => {
      await asAnalyst("POST", `${path}/close`);
      await refresh();
    });
    heading.focus();
  }

  async function remove() {
    const words = "All its reports, counts and results are deleted from the collector. This cannot be undone.";
    if (!(await confirmed({ title: "Delete the study?", words, yes: "Delete for good", danger: true }))) return;
    await attempt(line, async () => {
      await asAnalyst("DELETE", path);
      location.assign("/");
    });
  }

  function update(progress) {
    now = progress;
    const { next_step: following, study } = progress;
    next.hidden = following === null;
    close.hidden = study.state === "closed";
    if (following !== null) {
      const words = nextWords(following, study.protocol);
      // Before anybody has answered there is nothing to go on from.
      const some = progress.stages.some(({ reports }) => Object.values(reports).some((number) => number > 0));
      next.classList.toggle("second", !some && following !== "form pairs");
      next.textContent = words.button;
      about.textContent = words.about;
    } else about.textContent = { closed: CLOSED, pairing: PAIRING }[study.state] ?? LAST;
  }

  const heading = element("h2", { id: "next", tabindex: "-1" }, "What comes next");
  const where = element(
    "section",
    { class: "card", "aria-labelledby": "next" },
    heading,
    about,
    line,
    element("div", { class: "buttons" }, next, close, forget),
  );
  return { where, update };
}

export function downloadsCard(path, id) {
  const line = alertLine();
  const rounds = element("div", { class: "buttons" });
  const fetched = (words, from, name) =>
    element(
      "button",
      { type: "button", class: "second", onclick: () => attempt(line, async () => save(await fetchFile(path + from), `${id.slice(0, 16)}-${name}`)) },
      words,
    );
  const estimates = [fetched("Estimate (JSON)", "/estimate", "estimate.json"), fetched("Estimate (CSV)", "/estimate?format=csv", "estimate.csv")];
  let shown = 0;

  function update({ stages }) {
    if (stages.length === shown) return;
    shown = stages.length;
    const of = (number) => (shown > 1 ? ` of round ${number}` : "");
    const files = stages.flatMap(({ number }) => [
      fetched(`Counts${of(number)} (JSON)`, `/tally?round=${number}`, `tally-${number}.json`),
      fetched(`Study${of(number)} (JSON)`, `/rounds/${number}`, `study-${number}.json`),
    ]);
    // A second round is estimated with what the analyst knows of the first.
    if (shown > 1) files.push(fetched(`Analysis${of(shown)} (JSON)`, "/analysis", `study-${shown}.analysis.json`));
    rounds.replaceChildren(...estimates, ...files);
  }

  const where = element(
    "section",
    { class: "card", "aria-labelledby": "files" },
    element("h2", { id: "files" }, "Download"),
    element("p", { class: "soft" }, "dpairs estimate computes the estimate again from the counts, the study and, in a second round, its analysis."),
    line,
    rounds,
  );
  return { where, update };
}
