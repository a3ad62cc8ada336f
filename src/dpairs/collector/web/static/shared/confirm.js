/** Ask before something that cannot be undone. */

import { element } from "./dom.js";

/** Whether the person said yes. @returns {Promise<boolean>} */
export function confirmed({ title, words, yes, danger = false }) {
  return new Promise((resolve) => {
    const answer = (given) => () => dialog.close(given);
    const dialog = element(
      "dialog",
      { "aria-labelledby": "dialog-title", "aria-describedby": "dialog-words" },
      element("h2", { id: "dialog-title" }, title),
      element("p", { id: "dialog-words" }, words),
      element(
        "div",
        { class: "buttons" },
        element("button", { type: "button", class: danger ? "danger" : "", id: "dialog-yes", onclick: answer("yes") }, yes),
        element("button", { type: "button", class: "second", id: "dialog-no", autofocus: true, onclick: answer("") }, "Cancel"),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
