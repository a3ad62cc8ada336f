/** Invitations: codes for one person each, with their links; the collector shows them this once. */

import { Refused } from "../shared/api.js";
import { alertLine, element, field, fill, say, select } from "../shared/dom.js";
import { linkOf } from "../shared/link.js";
import { naming } from "../shared/naming.js";
import { save } from "../shared/save.js";
import { many } from "../shared/words.js";
import { asAnalyst } from "./session.js";

/** The code stays behind the #, which a browser sends to nobody. */
function invitationOf(study, code, group) {
  const parts = new URLSearchParams(group ? { code, group } : { code });
  return `${linkOf(study)}#${parts}`;
}

export function invitationsCard(path, study) {
  const [line, made] = [alertLine(), element("div", { "aria-live": "polite" })];
  const number = element("input", { type: "number", min: "1", max: "10000", value: "10", id: "invited", inputmode: "numeric" });
  const group = select([["", "They choose it themselves"], ...study.strata.map((name) => [name, naming(study).group(name)])]);
  const grouped = study.strata.length > 1;

  async function make(event) {
    event.preventDefault();
    const wanted = Number(number.value);
    if (!Number.isInteger(wanted) || wanted < 1 || wanted > 10000) {
      say(line, "Please give a whole number from 1 to 10,000.");
      return number.focus();
    }
    const stratum = (grouped && group.value) || null;
    say(line, null);
    try {
      const { codes } = await asAnalyst("POST", `${path}/invitations`, { content: { count: wanted, stratum } });
      show(codes.map((code) => invitationOf(study, code, stratum)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      say(line, error.message);
    }
  }

  function show(links) {
    const text = element("textarea", { readonly: true, class: "mono", rows: "6", id: "links" });
    text.value = links.join("\n");
    const keep = () => save(new Blob([`${text.value}\n`], { type: "text/plain" }), "invitations.txt");
    fill(
      made,
      field(`${many(links.length, "link", "links")}: each is for one person`, text, "They are shown only once: save them now."),
      element("button", { type: "button", class: "second", onclick: keep }, "Save as a file"),
    );
  }

  return element(
    "section",
    { class: "card", "aria-labelledby": "invite" },
    element("h2", { id: "invite" }, "Invitations"),
    element(
      "form",
      { novalidate: true, onsubmit: make },
      field("How many", number),
      grouped ? field("Their group", group) : null,
      line,
      element("div", { class: "field" }, element("button", { type: "submit" }, "Make invitations")),
    ),
    made,
  );
}
