/** What a person sees at each step; each step is a card with a heading. */

import { sentence } from "../shared/api.js";
import { alertLine, element, field, freshId, select } from "../shared/dom.js";
import { naming } from "../shared/naming.js";
import { save } from "../shared/save.js";
import { count, list, short } from "../shared/words.js";
import { valueFields } from "./fields.js";
import { likelihoods } from "./likelihood.js";

/** A card whose heading gets the focus when the step begins. */
export function card(title, ...children) {
  const id = freshId("step");
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id, tabindex: "-1" }, title), ...children);
}

export function note(title, ...paragraphs) {
  return card(title, ...paragraphs.map((text) => (typeof text === "string" ? element("p", {}, text) : text)));
}

const SEVERAL = "several studies of the same value add up to no more than one";
const SERVED = "that this page does what it should: it comes from the organisation that runs the study; if you do not want to trust it, use the program dpairs on your own computer";

/** A promise that is not made, in a participant's words: here a public class is the group that was asked for. */
function notPromised(study) {
  const group = study.strata.length > 1 ? ", or your group," : "";
  const inWords = (each) => each.replace(", or a public class,", group).replace(SEVERAL, "several studies that ask you the same tell no more about you than one");
  return [...study.privacy.notPromised.map(inWords), SERVED];
}

/** Who asks, what for, and whom to ask back. @param {{ words?: Record<string, any> }} study */
function whoAsks({ words = {} }) {
  const rows = [["Who asks", words.organisation], ["What for", words.purpose], ["Questions about it", words.contact]].filter(([, text]) => text);
  return rows.length ? element("dl", { id: "who" }, ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)])) : null;
}

/** All questions, with a full stop after one that has no mark of its own. */
function questionsOf(study, names) {
  const questions = study.columns.map(({ name }) => names.question(name));
  return list(questions.map((each) => `“${each}”`)) + (/[.!?]$/.test(questions.at(-1)) ? "" : ".");
}

/** Before enrolment: what is asked, what is promised; a group and a code where they are needed. */
export function invitation({ study, about, link, submit }) {
  const line = alertLine();
  const grouped = study.strata.length > 1 && !link.group;
  const names = naming(about);
  const group = select([["", "Please choose"], ...study.strata.map((name) => [name, names.group(name)])]);
  const code = element("input", { autocomplete: "off", spellcheck: "false", value: link.code ?? "" });
  const coded = about.enrolment === "invited" && !link.code;
  const rounds = study.rounds > 1 ? "The study has two rounds. You are asked once, in one of them; you will see in which when you begin." : null;
  const button = element("button", { type: "submit" }, "Take part");
  return card(
    "What happens if you take part",
    whoAsks(about),
    element("p", {}, `You are asked: ${questionsOf(study, names)} Your answer stays on this device.`),
    element("p", {}, study.privacy.plainWords),
    rounds ? element("p", {}, rounds) : null,
    element(
      "details",
      {},
      element("summary", {}, "What is not promised"),
      element("ul", {}, ...notPromised(study).map((each) => element("li", {}, sentence(each)))),
    ),
    element(
      "form",
      { novalidate: true, onsubmit: (event) => submit(event, { line, button, group: grouped ? group : null, code: coded ? code : null }) },
      grouped ? field(names.groupQuestion, group, "This one answer is not secret: it is sent as it is.") : null,
      coded ? field("Invitation code", code) : null,
      line,
      button,
    ),
  );
}

/** The person's values. */
export function answerForm({ study, about, enrolled, submit }) {
  const line = alertLine();
  const names = naming(about);
  const fields = valueFields(study, names);
  const said = study.strata.length > 1 ? `${names.groupQuestion} You said: ${names.group(enrolled.stratum)}. ` : "";
  return card(
    "Your answer",
    element("p", { class: "soft" }, `${said}Your answer is never sent as it is.`),
    element(
      "form",
      { novalidate: true, onsubmit: (event) => submit(event, { line, fields }) },
      ...fields.elements,
      line,
      element("button", { type: "submit" }, "Randomize on this device"),
      element("p", { class: "hint" }, "You see the result before anything is sent. It is drawn once and stays the same."),
    ),
  );
}

function symbolWords(study, symbol) {
  if (study.symbols === 2n) return `One digit, 0 or 1: ${symbol}`;
  return `One number from 0 to ${(study.symbols - 1n).toLocaleString("en")}: ${symbol}`;
}

/** All that a message says, in words. */
function contents(report, about) {
  const { study, stratum, index, symbol } = JSON.parse(report);
  const names = naming(about);
  const rows = [["Which study it belongs to", study]];
  if (about.strata.length > 1) rows.push([names.groupQuestion, names.group(stratum)]);
  rows.push(["Your place among those who take part", count(index + 1)], ["Your answer, changed at random on this device", String(symbol)]);
  return element("dl", { id: "message" }, ...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
}

/** What would be sent, and how little it says. */
export function preview({ participant, about, report, submit }) {
  const line = alertLine();
  const status = element("p", { class: "soft", role: "status" });
  const button = element("button", { type: "button", id: "send", onclick: () => submit({ line, status, button }) }, "Send this");
  return card(
    "This would leave your device",
    element("p", { class: "symbol", id: "symbol" }, symbolWords(report.study, report.symbol)),
    element("details", {}, element("summary", {}, "The whole message"), contents(report.toJson(), about)),
    participant ? likelihoods(participant, report.symbol, naming(about)) : null,
    line,
    status,
    button,
  );
}

/** It was counted. */
export function receipt({ about, record }) {
  const { report, sent } = record;
  const when = new Date(sent.at);
  const kept = { title: about.title, ...JSON.parse(report), sent: when.toISOString(), outcome: sent.outcome };
  const text = `${JSON.stringify(kept, null, 1)}\n`;
  const again = sent.outcome === "again" ? " It had already arrived, and was counted once." : "";
  return card(
    "Thank you: your report was counted",
    element("p", { id: "receipt" }, `Sent on ${when.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}.${again}`),
    element("p", {}, "This is all that was sent. Your answer itself was not kept, not even on this device."),
    contents(report, about),
    element("button", { type: "button", class: "second", onclick: () => save(new Blob([text], { type: "application/json" }), "receipt.json") }, "Save the receipt"),
  );
}

/** The promise to somebody in a pair, without the names of what it rests on. */
function pairsPromise({ epsilon, delta }) {
  const but = delta > 0 ? `, except with a chance of ${short(delta)}` : "";
  return (
    `Whatever your true answer is, what is learned from your device would have been at most ${short(Math.exp(epsilon))} times as likely with ` +
    `any other answer${but}. That holds as long as your partner's device does what it should, and your partner and those who run the ` +
    "study neither work together against you nor break the encryption."
  );
}

/** Who holds many records has them in files, not in a browser. */
export function sitesNote({ about, link }) {
  const code = about.enrolment === "invited" ? ` --code ${link.code ?? "CODE"}` : "";
  const address = location.href.replace(/#.*/, "");
  return note(
    "This study asks sites that hold many records",
    "A hospital, a bank or a company answers for all its records at once, with the program dpairs on a computer of its own. Without --send the program only shows what would leave:",
    element("pre", {}, `pip install "dpairs[cli,client]"\ndpairs site ${address} records.parquet --name NAME${code} --send`),
    about.promise,
  );
}

/** A browser cannot compute in pairs. */
export function pairsNote({ about, link }) {
  const names = naming(about);
  const asked = about.strata.length > 1 && !link.group;
  // By number: what the study calls its groups is not for participants.
  const group = asked ? ` --group ${about.strata.map((_, place) => place + 1).join("|")}` : "";
  const groups = about.strata.map((name, place) => element("li", {}, `${place + 1}: ${names.group(name)}`));
  const code = about.enrolment === "invited" ? ` --code ${link.code ?? "CODE"}` : "";
  const address = location.href.replace(/#.*/, "");
  return note(
    "This study needs a program on your computer",
    "In this study two devices compute together under encryption, and neither learns anything about the other. A browser cannot do that, but the program dpairs on your own computer can:",
    element("pre", {}, `pip install "dpairs[cli,client]"\ndpairs join ${address}${group}${code}`),
    ...(asked ? [`${names.groupQuestion} Give the number of your answer:`, element("ul", { id: "groups" }, ...groups)] : []),
    "It asks for your answer, which stays on your computer, and tells you when to run it again: first you enrol, and when everybody has a partner you compute with yours.",
    pairsPromise(about.claim),
  );
}
