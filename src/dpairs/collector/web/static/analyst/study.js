/** A study's page: what it says so far, how far it is, what it promises, and what comes next. */

import { Refused } from "../shared/api.js";
import { copyable } from "../shared/copy.js";
import { alertLine, element, fill, say } from "../shared/dom.js";
import { linkOf } from "../shared/link.js";
import { titleOf } from "../shared/statistics.js";
import { PROTOCOLS, short, stepWords } from "../shared/words.js";
import { asAnalyst } from "./session.js";
import { actionsCard, downloadsCard } from "./study_actions.js";
import { estimateCard } from "./study_estimate.js";
import { invitationsCard } from "./study_invitations.js";
import { peopleCard } from "./study_people.js";
import { privacyCard } from "./study_privacy.js";

/** Milliseconds between looks, while somebody looks. */
const EVERY = 2000;

/** Resolves after a while, and not before the page is visible. @returns {Promise<void>} */
function pause() {
  return new Promise((resume) => {
    setTimeout(() => {
      if (document.visibilityState === "visible") return resume();
      document.addEventListener("visibilitychange", () => resume(), { once: true });
    }, EVERY);
  });
}

function headOf(study) {
  const badge = element("span", { class: "badge" });
  const where = element(
    "header",
    {},
    element("div", { class: "heading" }, element("h1", {}, study.title), badge),
    study.question ? element("p", { class: "lead" }, study.question) : null,
    element(
      "p",
      { class: "soft" },
      `${titleOf(study.statistic)} · ${PROTOCOLS[study.protocol]?.[0].toLowerCase() ?? study.protocol} · epsilon ${short(study.claim.epsilon_asked)}`,
    ),
  );
  const update = ({ study: now }) => (badge.textContent = stepWords(now));
  return { where, update };
}

function linkWords({ state, enrolment }) {
  if (state === "closed") return "The study is closed: nobody can take part any more.";
  if (state === "pairing") return "Nobody can enrol any more; those who have enrolled can still compute with their partners.";
  return enrolment === "open" ? "Anybody with this link can take part." : "Taking part needs this link and an invitation.";
}

const HERE = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];

function linkCard(study) {
  const local = HERE.includes(new URL(linkOf(study)).hostname);
  const code = element("img", { id: "qr", src: `/take-part/${study.id}/code.svg`, alt: "QR code of the link", width: "200", height: "200" });
  code.addEventListener("error", () => code.remove());
  const words = element("p", { class: "soft" });
  const where = element(
    "section",
    { class: "card", "aria-labelledby": "link" },
    element("h2", { id: "link" }, "For participants"),
    copyable("Link", linkOf(study)),
    words,
    local ? element("p", { class: "notice", id: "local" }, "This link works on this computer only. Start the collector with --public-url to get one that works elsewhere.") : null,
    code,
  );
  return { where, update: ({ study: now }) => (words.textContent = linkWords(now)) };
}

export async function showStudy(view, id) {
  const path = `/studies/${id}`;
  const progress = await asAnalyst("GET", `${path}/progress`);
  const { study } = progress;
  document.title = study.title;
  const line = alertLine();
  const refresh = async () => update(await asAnalyst("GET", `${path}/progress`));
  const [head, estimate, people] = [headOf(study), estimateCard(study), peopleCard()];
  const [actions, link, downloads] = [actionsCard(path, refresh), linkCard(study), downloadsCard(path, id)];
  const parts = [head, estimate, people, actions, link, downloads];

  function update(now) {
    for (const part of parts) part.update(now);
  }

  fill(
    view,
    head.where,
    line,
    element(
      "div",
      { class: "columns study" },
      element("div", {}, estimate.where, people.where, privacyCard(progress)),
      element(
        "div",
        {},
        actions.where,
        link.where,
        study.enrolment === "invited" ? invitationsCard(path, study) : null,
        downloads.where,
      ),
    ),
  );
  update(progress);
  watch(refresh, line);
}

async function watch(refresh, line) {
  for (;;) {
    await pause();
    try {
      await refresh();
      say(line, null);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 401 || error.status === 404) return say(line, error.message);
      say(line, `${error.message} The page keeps trying.`);
    }
  }
}
