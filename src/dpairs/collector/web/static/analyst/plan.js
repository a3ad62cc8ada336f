/** A new study: the planner answers while the inputs move; then it gets a title and begins. */

import { Refused } from "../shared/api.js";
import { alertLine, element, field, fill, say } from "../shared/dom.js";
import { planForm } from "./plan_form.js";
import { planResults } from "./plan_results.js";
import { planWords } from "./plan_words.js";
import { asAnalyst } from "./session.js";

/** Milliseconds without a change before the planner is asked. */
const PAUSE = 250;

/** Run `work` some time after the last call; while it runs, only the newest call waits. */
function latest(work) {
  let [busy, again] = [false, false];
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  async function go() {
    if (busy) return void (again = true);
    busy = true;
    try {
      await work();
    } finally {
      busy = false;
      if (again) {
        again = false;
        go();
      }
    }
  }
  return () => {
    clearTimeout(timer);
    timer = setTimeout(go, PAUSE);
  };
}

function enrolmentChoice() {
  const choice = (value, words, checked) =>
    element("label", { class: "choice" }, element("input", { type: "radio", name: "enrolment", value, checked }), words);
  return element(
    "fieldset",
    {},
    element("legend", {}, "Who may take part"),
    choice("open", "Anybody who has the link", true),
    choice("invited", "Only people with an invitation (one code for each)", false),
  );
}

export function showPlan(view) {
  document.title = "New study";
  const line = alertLine();
  const created = alertLine();
  const words = planWords();
  const button = element("button", { type: "submit", disabled: true }, "Begin the study");
  let [plan, request, total, preferred] = [null, null, 0, null];
  /** Counts changes of the inputs: a study begins only from the plan of what is on the screen. */
  let version = 0;
  const results = planResults((protocol) => {
    preferred = protocol;
    show();
  });
  const changed = latest(ask);
  const form = planForm(() => {
    version += 1;
    button.disabled = true;
    results.busy(true);
    changed();
  });

  const chosen = () => (plan.studies[preferred] ? preferred : plan.options[0].protocol);
  const show = () => results.show(plan, request, total, chosen());

  async function ask() {
    const asked = version;
    const given = form.read();
    say(line, given.problem);
    if (given.problem) return;
    words.update(given.request);
    try {
      const made = await asAnalyst("POST", "/plan", { content: given.request });
      [plan, request, total] = [made, given.request, given.total];
      show();
      if (asked !== version) return;
      button.disabled = false;
      results.showCurves(await asAnalyst("POST", "/plan", { content: { ...given.request, curves: true } }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(line, error.message);
    }
    if (asked === version) results.busy(false);
  }

  const title = element("input", { id: "title", maxlength: "200" });
  const question = element("textarea", { id: "question", maxlength: "2000" });

  async function begin(event) {
    event.preventDefault();
    if (!title.value.trim()) {
      say(created, "Please give the study a title.");
      return title.focus();
    }
    const enrolment = event.target.elements.enrolment.value;
    const content = { title: title.value.trim(), question: question.value.trim(), enrolment, people: total, words: words.read(), study: plan.studies[chosen()] };
    try {
      const made = await asAnalyst("POST", "/studies", { content });
      location.assign(`/studies/${made.id}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(created, error.message);
    }
  }

  fill(
    view,
    element("h1", {}, "New study"),
    line,
    element(
      "div",
      { class: "columns plan" },
      form.where,
      element(
        "div",
        {},
        results.where,
        element(
          "form",
          { class: "card", novalidate: true, onsubmit: begin, "aria-labelledby": "begin" },
          element("h2", { id: "begin" }, "Tell people what it is about"),
          field("Title", title),
          field("What it is about", question, "Participants read it first."),
          ...words.elements,
          enrolmentChoice(),
          created,
          button,
        ),
      ),
    ),
  );
}
