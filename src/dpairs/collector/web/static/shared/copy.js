/** A link to hand on: shown, selectable, and copied at a click. */

import { element, freshId } from "./dom.js";

export function copyable(label, text) {
  const id = freshId("copy");
  const shown = element("input", { id, value: text, readonly: true, class: "mono", onfocus: () => shown.select() });
  const said = element("span", { class: "unseen", role: "status" });
  const button = element("button", { type: "button", class: "second", onclick: copy }, "Copy");

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Only pages with TLS may use the clipboard; the selected text can be copied by hand.
      shown.select();
      document.execCommand("copy");
    }
    button.textContent = said.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  }

  return element(
    "div",
    { class: "field" },
    element("label", { for: id }, label),
    element("div", { class: "beside" }, shown, button, said),
  );
}
