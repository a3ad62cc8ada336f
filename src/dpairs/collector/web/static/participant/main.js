/** Taking part: enrol, answer, see what leaves the device, send it, get a receipt; come back at any time. */

import { DpairsError, Participant, Report, Study } from "/dpairs/index.js";
import { Refused, ask, askJson, sentence } from "../shared/api.js";
import { element, fill, say } from "../shared/dom.js";
import { Forgetful, Unlocked, alone, recall, remember } from "./memory.js";
import { answerForm, invitation, note, pairsNote, preview, receipt, sitesNote } from "./steps.js";

/** Milliseconds between looks at whether the other round has begun. */
const LOOK = 10_000;
const view = document.getElementById("view");
const id = location.pathname.split("/").at(-1);
const path = `/studies/${id}`;
/** What the link says behind its #: an invitation's code, and the group that it is for. */
const link = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
/** What this device remembers belongs to the invitation: several people may use one device. */
const mine = link.code ? `${id}:${link.code}` : id;
/** What a browser cannot answer, and how to do it with the program. */
const PROGRAMS = { pairwise: pairsNote, sites: sitesNote };
/** The study as the collector shows it, and as this device has checked it. */
let [about, study] = [null, null];

/** Errors that are told to the person; others are mistakes of the page. */
const told = (error) => error instanceof Refused || error instanceof DpairsError || error instanceof Forgetful || error instanceof Unlocked;

function show(step, focus = true) {
  const head = element(
    "header",
    {},
    element("h1", {}, about.title),
    about.question ? element("p", { class: "lead" }, about.question) : null,
  );
  fill(view, head, step);
  if (focus) step.querySelector("h2").focus();
}

async function load(waiting) {
  if (!/^[0-9a-f]{64}$/.test(id)) throw new Refused("There is no such study.", 404);
  about = await askJson("GET", path, { patience: true, waiting });
  document.title = about.title;
  if (about.protocol in PROGRAMS) return;
  study = Study.fromJson(JSON.stringify(about.study));
  // A link names a first round by its hash: a second must follow from that one, whatever it says of itself.
  const first = study.round === 1 ? study : Study.fromJson(JSON.stringify(await askJson("GET", `${path}/rounds/1`, { patience: true, waiting })));
  if (first.id !== id) throw new Refused("The collector shows a different study from the one in the link, so this device does not answer it.", 409);
  study = Study.fromJson(JSON.stringify(about.study), { first });
}

/** The step that this device is at. */
function next(focus = true) {
  if (about.protocol in PROGRAMS) return show(PROGRAMS[about.protocol]({ about, link }), focus);
  const record = recall(mine);
  if (record.sent) return show(receipt({ about, record }), focus);
  if (record.report) return showPreview(record, focus);
  if (about.state === "closed") return show(note("This study is closed", "It takes no more answers. Nothing was sent from this device."), focus);
  if (!record.enrolled) return show(invitation({ study, about, link, submit: enrol }), focus);
  const { stratum, index } = record.enrolled;
  if (study.asks(stratum, index)) return show(answerForm({ study, about, enrolled: record.enrolled, submit: answer }), focus);
  return study.round < study.rounds ? wait(focus) : show(note("Your round is over", "You were asked in the first round, which has ended. Nothing was sent from this device, and you need not do anything more."), focus);
}

function wait(focus) {
  const status = element("p", { role: "status", class: "soft" });
  const button = element("button", { type: "button", class: "second", onclick: () => look(true) }, "Check now");
  show(
    note(
      "You are asked in the second round",
      "The first round is still running, and other people are answering. Come back to this page later, in this browser on this device: it remembers your place. Until then you need not do anything, and nothing was sent.",
      status,
      button,
    ),
    focus,
  );
  async function look(asked) {
    if (!button.isConnected) return;
    try {
      await load();
      if (study.round === study.rounds || about.state === "closed") return next();
      if (asked) say(status, "The first round is still running.");
    } catch (error) {
      if (!told(error)) throw error;
      if (asked) say(status, error.message);
    }
    if (!asked) later();
  }
  const later = () => setTimeout(() => (document.visibilityState === "visible" ? look(false) : later()), LOOK);
  later();
}

function fresh() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Wait in words. */
const patiently = (line) => ({
  patience: true,
  waiting: (seconds) => say(line, `No connection. Trying again in ${Math.max(1, Math.round(seconds))} s.`),
});

async function enrol(event, { line, button, group, code }) {
  event.preventDefault();
  for (const [input, words] of [[group, "Please answer this first."], [code, "Please give the code of your invitation."]]) {
    if (!input || input.value.trim()) continue;
    say(line, words);
    input.setAttribute("aria-invalid", "true");
    return input.focus();
  }
  button.disabled = true;
  try {
    await alone(mine, async () => {
      // The same request again gets the same place: a lost answer does not enrol anybody twice.
      const { request, enrolled } = remember(mine, { request: recall(mine).request ?? fresh() });
      if (enrolled) return;
      const content = { request };
      if (group) content.stratum = group.value;
      if (about.enrolment === "invited") content.code = code?.value.trim() ?? link.code;
      const { index, stratum, secret } = await askJson("POST", `${path}/people`, { content, ...patiently(line) });
      remember(mine, { enrolled: { index, stratum, secret } });
    });
    next();
  } catch (error) {
    if (!told(error)) throw error;
    say(line, error.message);
  }
  button.disabled = false;
}

async function answer(event, { line, fields }) {
  event.preventDefault();
  try {
    const values = fields.read();
    await alone(mine, () => {
      const { report, enrolled } = recall(mine);
      if (report) return;
      const { stratum, index } = enrolled;
      const made = new Participant(study, { stratum, index, maxDelta: study.delta }).report(values);
      // Kept before it is shown: reloading the page draws no second one.
      remember(mine, { report: made.toJson(), study: study.toJson(), first: study.first?.toJson() });
    });
    next();
  } catch (error) {
    if (!told(error)) throw error;
    say(line, sentence(error.message));
  }
}

function showPreview(record, focus) {
  const of = Study.fromJson(record.study, { first: record.first ? Study.fromJson(record.first) : null });
  const report = Report.fromJson(record.report, of);
  const { stratum, index } = record.enrolled;
  show(preview({ participant: new Participant(of, { stratum, index, maxDelta: of.delta }), about, report, submit: send }), focus);
}

async function send({ line, status, button }) {
  button.disabled = true;
  say(line, null);
  try {
    const { report, enrolled } = recall(mine);
    const answered = await ask("POST", `${path}/reports`, { body: report, token: enrolled.secret, ...patiently(status) });
    const { outcome } = await answered.json();
    remember(mine, { sent: { outcome, at: Date.now() }, study: undefined, first: undefined });
    next();
  } catch (error) {
    if (!told(error)) throw error;
    say(status, null);
    say(line, error instanceof Refused && error.status === 0 ? `${error.message} Your report is kept on this device; you can send it later.` : error.message);
    button.disabled = false;
  }
}

async function begin() {
  const status = element("p", { role: "status" }, "Loading the study …");
  fill(view, status);
  try {
    await load((seconds) => say(status, `No connection. Trying again in ${Math.max(1, Math.round(seconds))} s.`));
    next(false);
  } catch (error) {
    if (!told(error)) throw error;
    const missing = error instanceof Refused && error.status === 404;
    const title = missing ? "There is no such study" : "This study cannot be answered here";
    const words = missing ? "It may have been deleted, or the link may be incomplete." : sentence(error.message);
    fill(view, element("h1", {}, title), element("p", { role: "alert" }, words));
  }
}

begin();
// Another invitation in the same tab is another person.
addEventListener("hashchange", () => location.reload());
