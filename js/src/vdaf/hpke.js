/**
 * HPKE in base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM: one message to whoever has the secret key.
 *
 * The primitives are those of WebCrypto, which pages have over HTTPS only; the random bytes are ours.
 */

import { BadFile, BadParameter, DpairsError } from "../errors.js";
import { randomBytes } from "./random_bytes.js";
import { concat } from "./xof.js";

const ascii = (letters) => Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
const number = (value) => Uint8Array.of(value >> 8, value & 0xff);

const [KEM, KDF, AEAD] = [0x0020, 0x0001, 0x0001];
const KEM_SUITE = concat(ascii("KEM"), number(KEM));
const SUITE = concat(ascii("HPKE"), number(KEM), number(KDF), number(AEAD));
const BASE_MODE = Uint8Array.of(0);
const EMPTY = new Uint8Array(0);
/** What comes before the 32 bytes of a secret key of X25519 in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20);
const [HASH_SIZE, KEY_SIZE, AEAD_KEY_SIZE, AEAD_NONCE_SIZE] = [32, 32, 16, 12];

function subtle() {
  if (globalThis.crypto?.subtle === undefined) {
    throw new DpairsError("there is no crypto.subtle here, which pages have over HTTPS only, so nothing can be sealed");
  }
  return globalThis.crypto.subtle;
}

/** HMAC-SHA256. @param {any} key @param {any} message */
export async function hmac(key, message) {
  const imported = await subtle().importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", imported, message));
}

function extract(suite, salt, label, secret) {
  // HMAC fills a short key up with zeros, and WebCrypto refuses an empty one.
  const key = salt.length ? salt : new Uint8Array(HASH_SIZE);
  return hmac(key, concat(ascii("HPKE-v1"), suite, ascii(label), secret));
}

/** At most one block of output, which is all that HPKE asks of this suite. */
async function expand(suite, secret, label, info, length) {
  const labeled = concat(number(length), ascii("HPKE-v1"), suite, ascii(label), info, Uint8Array.of(1));
  return (await hmac(secret, labeled)).slice(0, length);
}

/** The keys that follow from random bytes (DeriveKeyPair). @param {Uint8Array} material */
export async function deriveKeys(material) {
  const pseudorandom = await extract(KEM_SUITE, EMPTY, "dkp_prk", material);
  const scalar = await expand(KEM_SUITE, pseudorandom, "sk", EMPTY, KEY_SIZE);
  let secret;
  try {
    secret = await subtle().importKey("pkcs8", /** @type {any} */ (concat(PKCS8_HEAD, scalar)), { name: "X25519" }, true, ["deriveBits"]);
  } catch {
    throw new DpairsError("this browser's WebCrypto has no X25519, so nothing can be sealed: a newer one is needed");
  }
  const { x } = await subtle().exportKey("jwk", secret);
  const letters = atob(x.replaceAll("-", "+").replaceAll("_", "/"));
  return { secret, encapsulated: Uint8Array.from(letters, (letter) => letter.charCodeAt(0)) };
}

/** What both sides compute from one's secret key and the other's point. */
async function sharedSecret(secret, other, context) {
  const point = await subtle().importKey("raw", other, { name: "X25519" }, false, []);
  let agreed;
  try {
    agreed = new Uint8Array(await subtle().deriveBits({ name: "X25519", public: point }, secret, 256));
  } catch {
    agreed = EMPTY;
  }
  if (agreed.every((byte) => byte === 0)) throw new BadParameter("recipient must not be a point of small order");
  const extracted = await extract(KEM_SUITE, EMPTY, "eae_prk", agreed);
  return expand(KEM_SUITE, extracted, "shared_secret", context, HASH_SIZE);
}

/** Key and nonce of the one message (KeySchedule in mode_base). */
async function schedule(shared, info, use) {
  const hashes = [await extract(SUITE, EMPTY, "psk_id_hash", EMPTY), await extract(SUITE, EMPTY, "info_hash", info)];
  const context = concat(BASE_MODE, ...hashes);
  const secret = await extract(SUITE, shared, "secret", EMPTY);
  const key = await expand(SUITE, secret, "key", context, AEAD_KEY_SIZE);
  const iv = await expand(SUITE, secret, "base_nonce", context, AEAD_NONCE_SIZE);
  return { iv, key: await subtle().importKey("raw", key, { name: "AES-GCM" }, false, [use]) };
}

/**
 * Encrypt to a public key.
 *
 * @param {Uint8Array} recipient the public key, 32 bytes
 * @param {Uint8Array} text
 * @param {{ info?: Uint8Array, associated?: Uint8Array, material?: Uint8Array }} [options] what both sides know, and
 *   32 private random bytes for this message alone, drawn here unless given
 * @returns {Promise<Uint8Array>} the encapsulated key and the ciphertext, 48 bytes longer than the text
 */
export async function seal(recipient, text, options) {
  const { info = EMPTY, associated = EMPTY, material = randomBytes(KEY_SIZE) } = options ?? {};
  for (const [name, value] of Object.entries({ recipient, text, info, associated, material })) {
    if (!(value instanceof Uint8Array)) throw new BadParameter(`${name} must be a Uint8Array`);
  }
  // Copies, taken at once: a caller may erase its own while this waits.
  const [key, copy, purpose, tied, random] = [recipient, text, info, associated, material].map((given) => new Uint8Array(given));
  return sealCopies(key, copy, purpose, tied, random);
}

async function sealCopies(recipient, text, info, associated, material) {
  for (const [name, { length }] of Object.entries({ recipient, material })) {
    if (length !== KEY_SIZE) throw new BadParameter(`${name} must have ${KEY_SIZE} bytes, not ${length}`);
  }
  const keys = await deriveKeys(material);
  const shared = await sharedSecret(keys.secret, recipient, concat(keys.encapsulated, recipient));
  const { key, iv } = await schedule(shared, info, "encrypt");
  const algorithm = { name: "AES-GCM", iv, additionalData: associated };
  return concat(keys.encapsulated, new Uint8Array(await subtle().encrypt(algorithm, key, /** @type {any} */ (text))));
}

/**
 * Decrypt what was sealed for these keys, or throw `BadFile` if anything of it was altered or belongs elsewhere.
 *
 * @param {{ secret: any, encapsulated: Uint8Array }} keys as `deriveKeys` gives them
 * @param {Uint8Array} sealed @param {{ info?: Uint8Array, associated?: Uint8Array }} [options]
 */
export async function open(keys, sealed, { info = EMPTY, associated = EMPTY } = {}) {
  if (sealed.length < KEY_SIZE + 16) throw new BadFile("a sealed message is too short");
  const encapsulated = sealed.slice(0, KEY_SIZE);
  const shared = await sharedSecret(keys.secret, encapsulated, concat(encapsulated, keys.encapsulated));
  const { key, iv } = await schedule(shared, info, "decrypt");
  try {
    const algorithm = { name: "AES-GCM", iv, additionalData: associated };
    return new Uint8Array(await subtle().decrypt(algorithm, key, sealed.slice(KEY_SIZE)));
  } catch {
    throw new BadFile("a sealed message was altered, or is for another key, purpose or occasion");
  }
}
