/**
 * HPKE in base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM: one message to whoever has the secret key.
 *
 * The primitives are those of WebCrypto, which pages have over HTTPS only; the random bytes are ours.
 */

import { BadParameter, DpairsError } from "../errors.js";
import { randomBytes } from "./random_bytes.js";
import { concat } from "./xof.js";

const text = (letters) => Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
const number = (value) => Uint8Array.of(value >> 8, value & 0xff);

const [KEM, KDF, AEAD] = [0x0020, 0x0001, 0x0001];
const KEM_SUITE = concat(text("KEM"), number(KEM));
const SUITE = concat(text("HPKE"), number(KEM), number(KDF), number(AEAD));
const BASE_MODE = Uint8Array.of(0);
const EMPTY = new Uint8Array(0);
/** What comes before the 32 bytes of a secret key of X25519 in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = Uint8Array.of(0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20);
const [HASH_SIZE, KEY_SIZE, NONCE_SIZE, POINT_SIZE] = [32, 16, 12, 32];

function subtle() {
  if (globalThis.crypto?.subtle === undefined) {
    throw new DpairsError("there is no crypto.subtle here, which pages have over HTTPS only, so nothing can be sealed");
  }
  return globalThis.crypto.subtle;
}

async function hmac(key, message) {
  const imported = await subtle().importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle().sign("HMAC", imported, message));
}

function extract(suite, salt, label, secret) {
  // HMAC fills a short key up with zeros, and WebCrypto refuses an empty one.
  const key = salt.length ? salt : new Uint8Array(HASH_SIZE);
  return hmac(key, concat(text("HPKE-v1"), suite, text(label), secret));
}

/** At most one block of output, which is all that HPKE asks of this suite. */
async function expand(suite, secret, label, info, length) {
  const labeled = concat(number(length), text("HPKE-v1"), suite, text(label), info, Uint8Array.of(1));
  return (await hmac(secret, labeled)).slice(0, length);
}

/** The secret key that those bytes are, for one message, and its public key. */
async function keysOf(rand) {
  let secret;
  try {
    secret = await subtle().importKey("pkcs8", concat(PKCS8_HEAD, rand), { name: "X25519" }, true, ["deriveBits"]);
  } catch (error) {
    if (error instanceof DpairsError) throw error;
    throw new DpairsError("this browser's WebCrypto has no X25519, so nothing can be sealed: a newer one is needed");
  }
  const { x } = await subtle().exportKey("jwk", secret);
  const letters = atob(x.replaceAll("-", "+").replaceAll("_", "/"));
  return { secret, encapsulated: Uint8Array.from(letters, (letter) => letter.charCodeAt(0)) };
}

/** What both sides compute from the two keys. */
async function sharedSecret({ secret, encapsulated }, publicKey) {
  const point = await subtle().importKey("raw", publicKey, { name: "X25519" }, false, []);
  let agreed;
  try {
    agreed = new Uint8Array(await subtle().deriveBits({ name: "X25519", public: point }, secret, 256));
  } catch {
    agreed = EMPTY;
  }
  if (agreed.every((byte) => byte === 0)) throw new BadParameter("publicKey must be a point of large order on X25519");
  const extracted = await extract(KEM_SUITE, EMPTY, "eae_prk", agreed);
  return expand(KEM_SUITE, extracted, "shared_secret", concat(encapsulated, publicKey), HASH_SIZE);
}

/**
 * Encrypt to a public key.
 *
 * @param {Uint8Array} publicKey 32 bytes
 * @param {Uint8Array} plaintext
 * @param {{ info?: Uint8Array, aad?: Uint8Array, rand?: Uint8Array }} [options] what both sides know; and 32 private
 *   random bytes, drawn here unless given
 * @returns {Promise<{ encapsulated: Uint8Array, ciphertext: Uint8Array }>}
 */
export async function seal(publicKey, plaintext, { info = EMPTY, aad = EMPTY, rand = randomBytes(POINT_SIZE) } = {}) {
  for (const [name, value] of Object.entries({ publicKey, plaintext, info, aad, rand })) {
    if (!(value instanceof Uint8Array)) throw new BadParameter(`${name} must be a Uint8Array`);
  }
  for (const [name, { length }] of Object.entries({ publicKey, rand })) {
    if (length !== POINT_SIZE) throw new BadParameter(`${name} must have ${POINT_SIZE} bytes, not ${length}`);
  }
  const keys = await keysOf(rand);
  const shared = await sharedSecret(keys, publicKey);
  const hashes = [await extract(SUITE, EMPTY, "psk_id_hash", EMPTY), await extract(SUITE, EMPTY, "info_hash", info)];
  const schedule = concat(BASE_MODE, ...hashes);
  const secret = await extract(SUITE, shared, "secret", EMPTY);
  const key = await expand(SUITE, secret, "key", schedule, KEY_SIZE);
  const iv = await expand(SUITE, secret, "base_nonce", schedule, NONCE_SIZE);
  const imported = await subtle().importKey("raw", key, { name: "AES-GCM" }, false, ["encrypt"]);
  const algorithm = { name: "AES-GCM", iv, additionalData: aad };
  const ciphertext = new Uint8Array(await subtle().encrypt(algorithm, imported, plaintext));
  return { encapsulated: keys.encapsulated, ciphertext };
}
