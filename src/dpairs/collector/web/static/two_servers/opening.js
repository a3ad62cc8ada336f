/** The analyst's part: ask for the result and open it, with a key that stays in this browser. */

import { REQUEST, analystToken, openResult, readSecret } from "/dpairs/dap/index.js";
import { sentence } from "../shared/api.js";
import { alertLine, element, field, say, table } from "../shared/dom.js";
import { save } from "../shared/save.js";
import { count, measured } from "../shared/words.js";
import { collect } from "./servers.js";

function shown(task, result) {
  const people = Object.entries(result.people).map(([name, number]) => [name, count(number)]);
  const parts = [element("hr"), element("h3", { tabindex: "-1" }, "The result"), table("People", ["Group", "People"], people)];
  const { auc } = result;
  if (auc) {
    const [low, high] = [auc.value - 1.96 * auc.noise, auc.value + 1.96 * auc.noise];
    const words = `${measured(low, auc.noise)} to ${measured(high, auc.noise)}`;
    parts.push(
      element("p", { class: "lead", id: "value" }, `AUC ${measured(auc.value, auc.noise)}`),
      element("p", { id: "interval" }, `For this sample, the servers' noise leaves ${words} (95%). dpairs estimate computes the interval for the population, and the effect of bins, from the saved file.`),
    );
  } else {
    parts.push(element("p", {}, "dpairs estimate computes the estimate and its interval from the saved file."));
  }
  const button = element("button", { type: "button", class: "second", onclick: () => save(new Blob([`${result.toJson()}\n`], { type: "application/json" }), "release.json") }, "Save the release");
  return element("section", { id: "result" }, ...parts, element("div", { class: "buttons" }, button));
}

/** @param {import("/dpairs/dap/index.js").Task} task */
export function opening(task, told) {
  const [line, status] = [alertLine(), element("p", { role: "status", class: "soft" })];
  const key = element("input", { type: "password", autocomplete: "off", spellcheck: "false", class: "mono" });
  const button = element("button", { type: "submit" }, "Open the result");
  const place = element("div", {});

  async function submit(event) {
    event.preventDefault();
    say(line, null);
    button.disabled = true;
    try {
      const secret = readSecret(key.value);
      const wire = await collect(task, await analystToken(secret), REQUEST, () => say(status, "The two servers are computing the result …"));
      const result = shown(task, await openResult(task, secret, wire));
      key.value = "";
      say(status, null);
      place.replaceChildren(result);
      result.querySelector("h3").focus();
    } catch (error) {
      if (!told(error)) throw error;
      say(status, null);
      say(line, sentence(error.message));
    }
    button.disabled = false;
  }

  return element(
    "details",
    { class: "card", id: "analyst" },
    element("summary", {}, "For the analyst"),
    element("p", {}, "The result is sealed for your key. This browser opens it: neither the key nor the result is sent to anybody. Once you ask for it, nobody else can take part."),
    element(
      "form",
      { novalidate: true, onsubmit: submit },
      field("The analyst's key", key, "The 64 digits of the key file that dpairs server task made."),
      line,
      status,
      element("div", { class: "buttons" }, button),
    ),
    place,
  );
}
