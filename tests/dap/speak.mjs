/** Reads one request of JSON on stdin: makes a report, or opens a result, with the library of the pages. */

import { readFileSync } from "node:fs";
import { Task, analystToken, makeReport, openResult, readConfigs, readSecret } from "../../js/src/dap/index.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const say = (found) => process.stdout.write(JSON.stringify(found));

try {
  const task = Task.fromJson(asked.task, asked.id);
  if (asked.people) {
    const configs = asked.configs.map((each) => readConfigs(bytes(each)));
    const reports = [];
    for (const { stratum, values } of asked.people) {
      reports.push(Buffer.from(await makeReport(task, configs, { stratum, values, seconds: asked.seconds })).toString("hex"));
    }
    say({ reports, configuration: Buffer.from(task.configuration).toString("hex"), name: task.name });
  } else {
    const secret = readSecret(asked.secret);
    const result = await openResult(task, secret, bytes(asked.result));
    say({ release: result.toJson(), auc: result.auc, token: await analystToken(secret) });
  }
} catch (error) {
  say({ error: error.name, message: error.message });
}
