/**
 * HPKE in base mode (RFC 9180) with X25519, HKDF-SHA256 and AES-128-GCM: one message to whoever has the secret key.
 *
 * The primitives are those of WebCrypto, which pages have over HTTPS only.
 */

import { BadParameter, DpairsError } from "../errors.js";
import { concat } from "./xof.js";

const text = (letters) => Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
const number = (value) => Uint8Array.of(value >> 8, value & 0xff);

const [KEM, KDF, AEAD] = [0x0020, 0x0001, 0x0001];
const KEM_SUITE = concat(text("KEM"), number(KEM));
const SUITE = concat(text("HPKE"), number(KEM), number(KDF), number(AEAD));
const BASE_MODE = Uint8Array.of(0);
const EMPTY = new Uint8Array(0);
const [HASH_SIZE, KEY_SIZE, NONCE_SIZE, PUBLIC_KEY_SIZE] = [32, 16, 12, 32];

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

/** A key pair for one message. @returns {Promise<CryptoKeyPair>} */
async function freshKeys() {
  try {
    return await subtle().generateKey({ name: "X25519" }, false, ["deriveBits"]);
  } catch (error) {
    if (error instanceof DpairsError) throw error;
    throw new DpairsError("this browser's WebCrypto has no X25519, so nothing can be sealed: a newer one is needed");
  }
}

/** What both sides compute from the two keys. */
async function sharedSecret(ephemeral, encapsulated, publicKey) {
  const point = await subtle().importKey("raw", publicKey, { name: "X25519" }, false, []);
  let agreed;
  try {
    agreed = new Uint8Array(await subtle().deriveBits({ name: "X25519", public: point }, ephemeral.privateKey, 256));
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
 * @param {{ info?: Uint8Array, aad?: Uint8Array, ephemeral?: CryptoKeyPair }} [options] what both sides know; a key
 *   pair is given in test vectors only
 * @returns {Promise<{ encapsulated: Uint8Array, ciphertext: Uint8Array }>}
 */
export async function seal(publicKey, plaintext, { info = EMPTY, aad = EMPTY, ephemeral } = {}) {
  for (const [name, value] of Object.entries({ publicKey, plaintext, info, aad })) {
    if (!(value instanceof Uint8Array)) throw new BadParameter(`${name} must be a Uint8Array`);
  }
  if (publicKey.length !== PUBLIC_KEY_SIZE) {
    throw new BadParameter(`publicKey must have ${PUBLIC_KEY_SIZE} bytes, not ${publicKey.length}`);
  }
  const keys = ephemeral ?? (await freshKeys());
  const encapsulated = new Uint8Array(await subtle().exportKey("raw", keys.publicKey));
  const shared = await sharedSecret(keys, encapsulated, publicKey);
  const hashes = [await extract(SUITE, EMPTY, "psk_id_hash", EMPTY), await extract(SUITE, EMPTY, "info_hash", info)];
  const schedule = concat(BASE_MODE, ...hashes);
  const secret = await extract(SUITE, shared, "secret", EMPTY);
  const key = await expand(SUITE, secret, "key", schedule, KEY_SIZE);
  const iv = await expand(SUITE, secret, "base_nonce", schedule, NONCE_SIZE);
  const imported = await subtle().importKey("raw", key, { name: "AES-GCM" }, false, ["encrypt"]);
  const algorithm = { name: "AES-GCM", iv, additionalData: aad };
  return { encapsulated, ciphertext: new Uint8Array(await subtle().encrypt(algorithm, imported, plaintext)) };
}
