// HPKE against RFC 9180, appendix A.1.1, and against an opener made of Node's own primitives.

import assert from "node:assert/strict";
import { createDecipheriv, createHmac, createPrivateKey, createPublicKey, diffieHellman } from "node:crypto";
import { test } from "node:test";

import { seal } from "../src/vdaf/index.js";

const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));
const hex = (array) => Buffer.from(array).toString("hex");

const RFC = {
  info: "4f6465206f6e2061204772656369616e2055726e",
  pkEm: "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
  ikmE: "7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234",
  pkRm: "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
  skRm: "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
  pt: "4265617574792069732074727574682c20747275746820626561757479",
  aad: "436f756e742d30",
  ct: "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
};
const PKCS8 = "302e020100300506032b656e04220420";
const SPKI = "302a300506032b656e032100";

test("the RFC's vector", async () => {
  const options = { info: bytes(RFC.info), associated: bytes(RFC.aad), material: bytes(RFC.ikmE) };
  assert.equal(hex(await seal(bytes(RFC.pkRm), bytes(RFC.pt), options)), RFC.pkEm + RFC.ct);
});

/** The other side, written from the RFC with other functions. */
function open(sealed, info, associated) {
  const [encapsulated, ciphertext] = [sealed.subarray(0, 32), sealed.subarray(32)];
  const secretKey = createPrivateKey({ key: Buffer.from(PKCS8 + RFC.skRm, "hex"), format: "der", type: "pkcs8" });
  const point = createPublicKey({ key: Buffer.from(SPKI + hex(encapsulated), "hex"), format: "der", type: "spki" });
  const agreed = diffieHellman({ privateKey: secretKey, publicKey: point });
  const labeled = (suite, label, rest) => Buffer.concat([Buffer.from("HPKE-v1"), suite, Buffer.from(label), rest]);
  const [kem, all] = ["4b454d0020", "48504b45002000010001"].map((text) => Buffer.from(text, "hex"));
  const none = Buffer.alloc(0);
  const extract = (salt, message) => createHmac("sha256", salt).update(message).digest();
  const expand = (suite, secret, label, rest, length) => {
    const context = Buffer.concat([Buffer.of(0, length), labeled(suite, label, rest)]);
    const block = createHmac("sha256", secret).update(context).update(Buffer.of(1)).digest();
    return block.subarray(0, length);
  };
  const shared = expand(
    kem,
    extract(none, labeled(kem, "eae_prk", agreed)),
    "shared_secret",
    Buffer.concat([encapsulated, bytes(RFC.pkRm)]),
    32,
  );
  const schedule = Buffer.concat([
    Buffer.of(0),
    extract(none, labeled(all, "psk_id_hash", none)),
    extract(none, labeled(all, "info_hash", Buffer.from(info))),
  ]);
  const secret = extract(shared, labeled(all, "secret", none));
  const [key, nonce] = [expand(all, secret, "key", schedule, 16), expand(all, secret, "base_nonce", schedule, 12)];
  const decipher = createDecipheriv("aes-128-gcm", key, nonce);
  decipher.setAAD(associated);
  decipher.setAuthTag(ciphertext.subarray(-16));
  return Buffer.concat([decipher.update(ciphertext.subarray(0, -16)), decipher.final()]);
}

test("what is sealed opens, with the same info and associated data only", async () => {
  const [info, associated] = [Uint8Array.of(1, 2), Uint8Array.of(3)];
  for (const length of [0, 1, 5000]) {
    const text = new Uint8Array(length).fill(7);
    const sealed = await seal(bytes(RFC.pkRm), text, { info, associated });
    assert.equal(sealed.length, length + 48);
    assert.deepEqual(Uint8Array.from(open(sealed, info, associated)), text);
    assert.throws(() => open(sealed, associated, associated));
    assert.throws(() => open(sealed, info, info));
    const again = await seal(bytes(RFC.pkRm), text, { info, associated });
    assert.notDeepEqual(again.subarray(0, 32), sealed.subarray(0, 32));
    assert.notDeepEqual(again.subarray(32), sealed.subarray(32));
  }
});

const refused = (name, message) => (error) => {
  assert.equal(error.name, name);
  assert.match(error.message, message);
  return true;
};

test("keys that cannot be used are refused", async () => {
  const message = new Uint8Array(1);
  await assert.rejects(seal(new Uint8Array(31), message), refused("BadParameter", /32 bytes, not 31$/));
  await assert.rejects(seal("key", message), refused("BadParameter", /^recipient must be a Uint8Array$/));
  await assert.rejects(seal(bytes(RFC.pkRm), "text"), refused("BadParameter", /^text must be a Uint8Array$/));
  const unbound = seal(bytes(RFC.pkRm), message, { associated: 1 });
  await assert.rejects(unbound, refused("BadParameter", /^associated must be/));
  const short = seal(bytes(RFC.pkRm), message, { material: new Uint8Array(16) });
  await assert.rejects(short, refused("BadParameter", /^material must have 32 bytes, not 16$/));
  const small = ["", "01", "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"];
  for (const point of small) {
    await assert.rejects(seal(bytes(point.padEnd(64, "0")), message), refused("BadParameter", /of small order/));
  }
});

test("where the browser cannot, it says so", async (context) => {
  const original = globalThis.crypto;
  const as = (value) => Object.defineProperty(globalThis, "crypto", { value, configurable: true, writable: true });
  context.after(() => as(original));
  const getRandomValues = (array) => original.getRandomValues(array);
  as({ getRandomValues });
  await assert.rejects(seal(bytes(RFC.pkRm), new Uint8Array(1)), refused("DpairsError", /no crypto\.subtle here/));
  const { subtle } = original;
  const importKey = async (format, key, algorithm, ...rest) => {
    if (algorithm.name === "X25519") throw new DOMException("Unrecognized name.", "NotSupportedError");
    return subtle.importKey(format, key, algorithm, ...rest);
  };
  const sign = (...given) => subtle.sign(...given);
  as({ getRandomValues, subtle: { importKey, sign } });
  await assert.rejects(seal(bytes(RFC.pkRm), new Uint8Array(1)), refused("DpairsError", /has no X25519/));
});

test("what the caller does with its bytes afterwards changes nothing", async () => {
  const given = () => ({
    recipient: bytes(RFC.pkRm),
    text: Buffer.from(RFC.pt, "hex"),
    options: { info: bytes(RFC.info), associated: bytes(RFC.aad), material: bytes("17".repeat(32)) },
  });
  const kept = given();
  const expected = await seal(kept.recipient, kept.text, kept.options);
  const { recipient, text, options } = given();
  const promise = seal(recipient, text, options);
  for (const part of [recipient, text, ...Object.values(options)]) part.fill(0);
  assert.equal(hex(await promise), hex(expected));
});

test("bytes that threads share are sealed as others are", async () => {
  const shared = (given) => {
    const view = new Uint8Array(new SharedArrayBuffer(given.length));
    view.set(given);
    return view;
  };
  const [recipient, text, material] = [bytes(RFC.pkRm), bytes(RFC.pt), bytes("17".repeat(32))];
  const sealed = await seal(shared(recipient), shared(text), { material: shared(material) });
  assert.equal(hex(sealed), hex(await seal(recipient, text, { material })));
});

test("every point of small order is refused", async () => {
  const [zeros, ones] = ["00".repeat(30), "ff".repeat(30)];
  const points = [
    `00${zeros}00`,
    `01${zeros}00`,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    `ec${ones}7f`,
    `ed${ones}7f`,
    `ee${ones}7f`,
    `00${zeros}80`,
    `01${zeros}80`,
  ];
  for (const point of points) {
    await assert.rejects(seal(bytes(point), bytes(RFC.pt)), {
      name: "BadParameter",
      message: "recipient must not be a point of small order",
    });
  }
});
