/** The token that `dpairs serve` printed. */

import { Refused } from "../shared/api.js";
import { alertLine, element, field, fill, say } from "../shared/dom.js";
import { asAnalyst, signIn, signOut } from "./session.js";

export function showSignIn(view, then, problem) {
  document.title = "Sign in";
  const line = alertLine();
  say(line, problem);
  const input = element("input", { type: "password", id: "token", autocomplete: "current-password", spellcheck: "false" });

  async function submit(event) {
    event.preventDefault();
    const given = input.value.trim();
    if (!given) {
      say(line, "Please give the analyst's token.");
      return input.focus();
    }
    signIn(given);
    try {
      await asAnalyst("GET", "/studies");
    } catch (error) {
      signOut();
      if (!(error instanceof Refused)) throw error;
      say(line, error.message);
      return input.select();
    }
    then();
  }

  fill(
    view,
    element(
      "form",
      { class: "card sign-in", novalidate: true, onsubmit: submit },
      element("h1", {}, "Sign in"),
      element("p", {}, "Run studies in which people's answers stay on their own devices."),
      field(
        "Analyst's token",
        input,
        "The collector printed it at its first start. Only this tab keeps it, and forgets it when you close it.",
      ),
      line,
      element("button", { type: "submit" }, "Sign in"),
    ),
  );
  input.focus();
}
