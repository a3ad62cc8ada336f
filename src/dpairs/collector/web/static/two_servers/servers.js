/** Requests to the two servers of a task. */

import { BadFile } from "/dpairs/index.js";
import { readConfigs } from "/dpairs/dap/index.js";
import { Refused, sentence } from "../shared/api.js";

const KIND = "application/ppm-dap;message=";
/** Why the leader did not take a report, by its number in the draft. */
const REFUSED = {
  1: "The study takes no more reports.",
  2: "Another report with the same name was taken before.",
  9: "This device's clock is ahead, so the report was not taken. Set the clock and send it again.",
  11: "The server has changed its key since this page was loaded, so the report was not taken.",
};

/** @param {string} url @param {RequestInit} [options] */
async function ask(url, options = {}) {
  let answer;
  try {
    answer = await fetch(url, { cache: "no-store", credentials: "omit", ...options });
  } catch {
    throw new Refused(`${new URL(url).host} cannot be reached.`, 0, "Unreachable");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(sentence(problem.detail ?? "the server could not do that"), answer.status, problem.error);
}

const bytes = async (answer) => new Uint8Array(await answer.arrayBuffer());

export async function taskFile(id) {
  return (await ask(`/two-servers/${id}/task.json`)).text();
}

/** The key of each server, asked of each server itself. */
export async function serverKeys(task) {
  const lists = await Promise.all([task.leader, task.helper].map(async ({ url }) => bytes(await ask(`${url}/hpke_config`))));
  return lists.map(readConfigs);
}

/** What each server says about the task; null for one that cannot be reached. */
export function states(task) {
  return Promise.all(
    [task.leader, task.helper].map(({ url }) =>
      ask(`${url}/tasks/${task.name}/state`)
        .then((answer) => answer.json())
        .catch(() => null),
    ),
  );
}

/** Send a report to the leader; a refusal is thrown in words. */
export async function upload(task, report) {
  const headers = { "content-type": `${KIND}upload-req` };
  const answer = await bytes(await ask(`${task.leader.url}/tasks/${task.name}/reports`, { method: "POST", headers, body: report }));
  if (answer.length === 17) throw new Refused(REFUSED[answer[16]] ?? "The leader refuses the report.", 400, "Refused");
  if (answer.length) throw new BadFile("the leader answers in a way that is not understood");
}

/** Ask for the result until it is there. */
export async function collect(task, token, request, waiting) {
  const path = `${task.leader.url}/tasks/${task.name}/collection_jobs`;
  const authorization = `Bearer ${token}`;
  let answer = await ask(path, { method: "POST", headers: { authorization, "content-type": `${KIND}collection-job-req` }, body: request });
  const where = answer.headers.get("location") ?? "";
  for (;;) {
    const wire = await bytes(answer);
    if (wire.length) return wire;
    if (!where.startsWith(`${path}/`)) throw new BadFile("the leader does not say where the result will be");
    waiting();
    await new Promise((resume) => setTimeout(resume, 500));
    answer = await ask(where, { headers: { authorization } });
  }
}
