/** Taking part: answer, see what leaves the device, send it; come back at any time. */

import { makeReport } from "/dpairs/dap/index.js";
import { sentence } from "../shared/api.js";
import { alertLine, element, field, say, select } from "../shared/dom.js";
import { naming } from "../shared/naming.js";
import { valueFields } from "../participant/fields.js";
import { serverKeys, upload } from "./servers.js";

const hex = (wire) => Array.from(wire, (byte) => byte.toString(16).padStart(2, "0")).join("");
const fromHex = (words) => Uint8Array.from(words.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** What this device has written down about the task. */
function memory(task) {
  const name = `dpairs:task:${task.id}`;
  const read = () => JSON.parse(localStorage.getItem(name) ?? "{}");
  return {
    read,
    keep(more) {
      const words = JSON.stringify({ ...read(), ...more });
      localStorage.setItem(name, words);
      if (localStorage.getItem(name) !== words) throw new Error("this browser does not keep what it is told to");
    },
  };
}

function receipt(wire) {
  return element(
    "section",
    { class: "card", id: "receipt" },
    element("h2", { tabindex: "-1" }, "Thank you"),
    element("p", {}, "Your report was taken. It is counted when both servers have verified it."),
    element("p", { class: "soft" }, `Its name is ${hex(wire.slice(0, 8))}…, drawn at random. This browser remembers that you took part, and sends no second report.`),
  );
}

function over() {
  const words = "It takes no more reports. Nothing was sent from this device.";
  return element("section", { class: "card", id: "over" }, element("h2", {}, "This study has ended"), element("p", {}, words));
}

/**
 * The person's part, and `tell`, which is to be told what the leader says about the task.
 *
 * @param {import("/dpairs/dap/index.js").Task} task
 */
export function answering(task, told) {
  const kept = memory(task);
  const { report, sent } = kept.read();
  const place = element("div", {});
  if (sent) place.append(receipt(fromHex(report)));
  else place.append(report ? sending(fromHex(report)) : form());

  function tell(leader) {
    if (leader && leader.state !== "open" && !kept.read().report && !place.querySelector("#over")) place.replaceChildren(over());
  }

  return { element: place, tell };

  function form() {
    const { study } = task;
    const names = naming({ strata: [...study.strata] });
    const fields = valueFields(study, names);
    const grouped = study.strata.length > 1;
    const group = select([["", "Please choose"], ...study.strata.map((name) => [name, names.group(name)])]);
    const [line, button] = [alertLine(), element("button", { type: "submit" }, "Split and seal my answer")];

    async function submit(event) {
      event.preventDefault();
      say(line, null);
      button.disabled = true;
      try {
        const values = fields.read();
        if (grouped && !group.value) throw Object.assign(new Error("Please choose a group first."), { told: true });
        const seconds = Math.floor(Date.now() / 1000);
        const wire = await makeReport(task, await serverKeys(task), { stratum: grouped ? group.value : undefined, values, seconds });
        // Another tab may have made one meanwhile, and perhaps sent it: two would count twice.
        const { report: before, sent: gone } = kept.read();
        // Kept before it is sent: reloading the page makes no second one.
        if (!before) kept.keep({ report: hex(wire) });
        const only = before ? fromHex(before) : wire;
        place.replaceChildren(gone ? receipt(only) : sending(only));
        place.querySelector("h2").focus();
      } catch (error) {
        if (!told(error)) throw error;
        say(line, sentence(error.message));
      }
      button.disabled = false;
    }

    return element(
      "section",
      { class: "card" },
      element("h2", {}, "Take part"),
      element("p", {}, study.privacy.plainWords),
      element("p", {}, `The result is released once, of at least ${task.minBatchSize} people, and only the analyst can open it.`),
      element(
        "details",
        {},
        element("summary", {}, "What is not promised"),
        element("ul", {}, ...study.privacy.notPromised.map((each) => element("li", {}, sentence(each)))),
      ),
      element(
        "form",
        { novalidate: true, onsubmit: submit },
        grouped ? field(names.groupQuestion, group, "This one answer is not secret: both servers see it.") : null,
        ...fields.elements,
        line,
        element("div", { class: "buttons" }, button),
      ),
    );
  }

  function sending(wire) {
    const [line, status] = [alertLine(), element("p", { role: "status", class: "soft" })];
    const button = element("button", { type: "button", onclick: send }, "Send");
    async function send() {
      button.disabled = true;
      say(line, null);
      try {
        await upload(task, wire);
        kept.keep({ sent: true });
        place.replaceChildren(receipt(wire));
        place.querySelector("h2").focus();
      } catch (error) {
        if (!told(error)) throw error;
        say(line, error.message);
        button.disabled = false;
      }
    }
    return element(
      "section",
      { class: "card", id: "sealed" },
      element("h2", { tabindex: "-1" }, "This is all that leaves your device"),
      element("p", {}, `${wire.length.toLocaleString("en")} bytes: one part that only ${task.leader.name} can open, one that only ${task.helper.name} can open, and a proof that they belong to one answer. Each part alone is random numbers.`),
      element("pre", { class: "mono", tabindex: "0", "aria-label": "The beginning of the sealed report" }, `${hex(wire.slice(0, 192)).replace(/(.{64})/g, "$1\n")}…`),
      line,
      status,
      element("div", { class: "buttons" }, button),
    );
  }
}
