/**
 * Taking part in a task of two servers, and opening its result: messages of DAP (draft 18) as bytes, no requests.
 *
 *     const task = Task.fromJson(text, id);                                  // checks everything, or throws
 *     const wire = await makeReport(task, [leaderKey, helperKey], { stratum: "positive", values: { score: 0.73 }, seconds });
 */

export { makeReport, readConfigs } from "./report.js";
export { REQUEST, Result, analystToken, openResult, readSecret } from "./result.js";
export { Task } from "./task.js";
