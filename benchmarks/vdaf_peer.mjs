// npm's @divviup/prio3: processor seconds of sharding and of verification by both servers.
// node vdaf_peer.mjs FOLDER KIND SIZE REPORTS, where FOLDER has the package installed.
import { randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, kind, size, count] = process.argv.slice(2);
const from = createRequire(pathToFileURL(`${folder}/package.json`));
const { Prio3Histogram, Prio3Sum } = await import(pathToFileURL(from.resolve("@divviup/prio3")));
const vdaf =
  kind === "histogram"
    ? new Prio3Histogram({ shares: 2, length: Number(size), chunkLength: Math.round(Math.sqrt(Number(size))) })
    : new Prio3Sum({ shares: 2, bits: Number(size) });
const key = randomBytes(vdaf.verifyKeySize);

function seconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

async function run(reports) {
  const made = [];
  const start = seconds();
  for (let i = 0; i < reports; i++) {
    const nonce = randomBytes(vdaf.nonceSize);
    made.push({ nonce, ...(await vdaf.shard(3, nonce, randomBytes(vdaf.randSize))) });
  }
  const sharded = seconds();
  for (const { nonce, publicShare, inputShares } of made) {
    const begun = [];
    for (const server of [0, 1]) {
      begun.push(await vdaf.prepareInit(key, server, null, nonce, publicShare, inputShares[server]));
    }
    const shares = begun.map(({ preparationShare }) => preparationShare);
    const message = await vdaf.unshardPreparationShares(null, shares);
    for (const { preparationState } of begun) vdaf.prepareNext(preparationState, message);
  }
  return { shard: (sharded - start) / reports, verify: (seconds() - sharded) / reports };
}

await run(2);
console.log(JSON.stringify(await run(Number(count))));
