/** Requests to the collector: an answer, or an error that is one sentence. */

const API = "/api/v1";
/** Seconds between tries when nobody answers. */
const WAITS = [0.5, 1, 2, 4, 8];
const PASSING = [408, 429, 502, 503, 504];

/** The collector refused, or could not be reached (`status` 0). */
export class Refused extends Error {
  constructor(message, status, kind) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

/** What a person reads: a sentence with a capital letter and a full stop. */
export function sentence(text) {
  const trimmed = String(text).trim();
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

/** @typedef {{ body?: BodyInit, token?: string, signal?: AbortSignal }} Sent what goes with a request */
/** @typedef {Sent & { patience?: boolean, waiting?: (seconds: number) => void }} Asked */

/** @param {string} method @param {string} path @param {Sent} sent */
async function once(method, path, { body, token, signal }) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(API + path, { method, headers, body, signal, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The collector cannot be reached.", 0, "Unreachable");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Refused(sentence(problem.message ?? "the collector could not do that"), answer.status, problem.error);
}

/**
 * Ask; with `patience`, ask again after a while when the collector cannot be reached. `waiting` is told
 * how many seconds it will be.
 *
 * @param {string} method @param {string} path @param {Asked} [asked]
 */
export async function ask(method, path, { patience = false, waiting = () => {}, ...rest } = {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await once(method, path, rest);
    } catch (error) {
      const passing = error instanceof Refused && (error.status === 0 || PASSING.includes(error.status));
      if (!patience || !passing || tries >= WAITS.length) throw error;
      const seconds = WAITS[tries] * (0.75 + Math.random() / 2);
      waiting(seconds);
      await new Promise((resume) => setTimeout(resume, 1000 * seconds));
    }
  }
}

/** The same, with JSON both ways. @param {string} method @param {string} path @param {Asked & { content?: unknown }} [asked] */
export async function askJson(method, path, { content, ...rest } = {}) {
  const body = content === undefined ? rest.body : JSON.stringify(content);
  const answer = await ask(method, path, { ...rest, body });
  return answer.status === 204 ? null : answer.json();
}
