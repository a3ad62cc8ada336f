/** The analyst's pages: sign in, then the page that the address names. */

import { Refused } from "../shared/api.js";
import { element, fill } from "../shared/dom.js";
import { showList } from "./list.js";
import { showPlan } from "./plan.js";
import { signOut, token } from "./session.js";
import { showSignIn } from "./sign_in.js";
import { showStudy } from "./study.js";

const view = document.getElementById("view");
const menu = document.getElementById("menu");

function pageOf(path) {
  const study = /^\/studies\/([0-9a-f]{64})$/.exec(path);
  if (study) return () => showStudy(view, study[1]);
  if (path === "/new") return () => showPlan(view);
  if (path === "/") return () => showList(view);
  return () => fill(view, element("h1", {}, "There is no such page"));
}

async function begin() {
  if (!token()) return showSignIn(view, begin);
  menu.hidden = false;
  try {
    await pageOf(location.pathname)();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) {
      leave();
      return showSignIn(view, begin, error.message);
    }
    fill(view, element("h1", {}, "That did not work"), element("p", { role: "alert" }, error.message));
  }
  view.focus({ preventScroll: true });
}

function leave() {
  signOut();
  menu.hidden = true;
}

for (const link of menu.querySelectorAll("a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}
document.getElementById("sign-out").addEventListener("click", () => {
  leave();
  // What was on the page is forgotten with it.
  location.assign("/");
});
begin();
