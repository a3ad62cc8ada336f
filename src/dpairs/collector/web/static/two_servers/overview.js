/** Who runs the two servers, what each can see, and how far each is. */

import { sentence } from "../shared/api.js";
import { element, table } from "../shared/dom.js";
import { count } from "../shared/words.js";
import { states } from "./servers.js";

const SEES = [
  "sees when your report arrives and your public group, opens the part that is sealed for it, and passes the other part on",
  "gets reports from the other server, and opens the part that is sealed for it",
];
const WORDS = { open: "takes reports", closing: "verifies the last reports", closed: "computes the result", released: "has released the result" };
/** Milliseconds between looks at the servers. */
const LOOK = 3000;

/** The honest sentence about this page. */
const PAGE =
  "If one of the two servers hosts this page, it protects you only against a curious server: that server could serve a page that sends more. If you do not want to trust it, take part with the program dpairs join, or on a page that somebody else hosts.";

const sum = (counts) => Object.values(counts).reduce((total, each) => total + each, 0);

function rows(task, answers) {
  return [task.leader, task.helper].map(({ name, url }, place) => {
    const state = answers?.[place];
    const numbers = state ? [WORDS[state.state] ?? state.state, count(sum(state.verified)), count(sum(state.refused))] : [answers ? "cannot be reached" : "…", "–", "–"];
    return [element("span", {}, name, element("br"), element("span", { class: "soft" }, new URL(url).host)), ...numbers];
  });
}

/** @param {import("/dpairs/dap/index.js").Task} task @param {(leader: any) => void} tell is told what the leader says, at each look */
export function overview(task, tell) {
  const place = element("div", {});
  const draw = (answers) =>
    place.replaceChildren(table("Reports at the two servers", ["Run by", "State", "Verified", "Refused"], rows(task, answers)));
  draw(null);
  async function look() {
    const answers = await states(task);
    draw(answers);
    tell(answers[0]);
    setTimeout(look, LOOK);
  }
  look();
  const sees = [task.leader, task.helper].map(({ name }, server) => element("li", {}, element("strong", {}, name), ` ${SEES[server]}.`));
  return element(
    "section",
    { class: "card", id: "servers" },
    element("h2", {}, "Who computes"),
    place,
    element("ul", {}, ...sees, element("li", {}, `${sentence(task.study.privacy.trust)} Only the analyst can open the result.`)),
    element("p", { class: "soft", id: "honest" }, PAGE),
  );
}
