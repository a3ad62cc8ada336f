/** The analyst's token: for this tab only, forgotten when it is closed. */

import { ask, askJson } from "../shared/api.js";

const NAME = "dpairs:token";

export const token = () => sessionStorage.getItem(NAME);

export function signIn(given) {
  sessionStorage.setItem(NAME, given);
}

export function signOut() {
  sessionStorage.removeItem(NAME);
}

/** A request of the analyst's. */
export const asAnalyst = (method, path, options = {}) => askJson(method, path, { ...options, token: token() });

/** A file of the analyst's. @returns {Promise<Blob>} */
export async function fetchFile(path) {
  return (await ask("GET", path, { token: token() })).blob();
}
