// Plays the sessions that test_hostile.py writes: node hostile.mjs sessions.json > answers.json

import { readFileSync } from "node:fs";

import { Device, DpairsError } from "../../js/src/index.js";

/** Locks of one process that takes one step after another. */
const locks = { request: async (name, work) => work() };

async function play({ limit, delta, served }) {
  const kept = new Map();
  const store = { getItem: (name) => kept.get(name) ?? null, setItem: (name, words) => kept.set(name, words) };
  const device = new Device(store, locks);
  await device.allow({ limit, delta });
  const sent = [];
  for (const { link, now, first, index, stratum, values } of served) {
    const texts = { first: Buffer.from(first, "hex"), now: Buffer.from(now, "hex") };
    try {
      // A device asks for the first round only if the open one is another.
      const honest = await device.answer(link, { ...texts, first: texts.now, index, stratum, values, maxDelta: delta }).catch((error) => {
        if (!(error instanceof DpairsError)) throw error;
        return device.answer(link, { ...texts, index, stratum, values, maxDelta: delta });
      });
      sent.push(Buffer.from(honest.toBytes()).toString("hex"));
    } catch (error) {
      if (!(error instanceof DpairsError) || error.message.includes("\n")) throw error;
      sent.push(null);
    }
  }
  return { sent, total: device.ledger.total, size: device.ledger.size };
}

const sessions = JSON.parse(readFileSync(process.argv[2], "utf8"));
const answers = [];
for (const session of sessions) answers.push(await play(session));
process.stdout.write(JSON.stringify(answers));
