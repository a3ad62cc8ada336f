/**
 * What this device remembers of a study: its enrolment, and its randomized report, never the answer.
 *
 * It is written before anything is sent. Whoever comes back, after a lost connection or a closed tab,
 * sends the same report again; a second randomization would reveal more.
 */

const nameOf = (study) => `dpairs:${study}`;

/** This browser forgets; taking part once, and only once, cannot be made sure. */
export class Forgetful extends Error {
  constructor() {
    super("This browser does not let the page remember your report, so it could not be sent safely: please allow storage for this page, or use another browser.");
  }
}

/** What is known, or an empty record. */
export function recall(study) {
  try {
    return JSON.parse(localStorage.getItem(nameOf(study)) ?? "{}");
  } catch {
    return {};
  }
}

/** Add to what is known, and make sure that it was kept. */
export function remember(study, more) {
  const record = JSON.stringify({ ...recall(study), ...more });
  try {
    localStorage.setItem(nameOf(study), record);
    if (localStorage.getItem(nameOf(study)) === record) return JSON.parse(record);
  } catch {
    // Full, or not allowed.
  }
  throw new Forgetful();
}

/** This browser cannot keep two tabs apart. */
export class Unlocked extends Error {
  constructor() {
    super("This browser cannot make sure that only one tab answers, so nothing was answered: please use another browser, or open the page over https.");
  }
}

/** One tab at a time: two must not randomize the same answer. */
export async function alone(study, work) {
  if (!navigator.locks) throw new Unlocked();
  return navigator.locks.request(nameOf(study), work);
}
