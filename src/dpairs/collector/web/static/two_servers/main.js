/** The page of a task of two servers: for whoever takes part, for the operators, and for the analyst. */

import { DpairsError } from "/dpairs/index.js";
import { Task } from "/dpairs/dap/index.js";
import { Refused, sentence } from "../shared/api.js";
import { element, fill } from "../shared/dom.js";
import { answering } from "./answer.js";
import { opening } from "./opening.js";
import { overview } from "./overview.js";
import { taskFile } from "./servers.js";

const view = document.getElementById("view");
const id = location.pathname.split("/").filter(Boolean).at(-1);
/** Errors that are told to the person; others are mistakes of the page. */
const told = (error) => error instanceof Refused || error instanceof DpairsError || error.told === true;

async function begin() {
  fill(view, element("p", { role: "status" }, "Loading the study …"));
  try {
    const task = Task.fromJson(await taskFile(id), id);
    document.title = task.title;
    const head = element("header", {}, element("h1", {}, task.title));
    const part = answering(task, told);
    fill(view, head, overview(task, part.tell), part.element, opening(task, told));
  } catch (error) {
    if (!told(error)) throw error;
    fill(view, element("h1", {}, "This study cannot be answered here"), element("p", { role: "alert" }, sentence(error.message)));
  }
}

begin();
