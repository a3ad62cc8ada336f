// Answers the cases that test_javascript.py writes: node cases.mjs cases.json > answers.json

import { readFileSync } from "node:fs";

import { DpairsError, Participant, Report, Study } from "../../js/src/index.js";
import { TapeForTests } from "../../js/src/testing.js";

const FLOATS = { nan: NaN, inf: Infinity, "-inf": -Infinity };
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"));

/** A value as its owner's program may hold it: whole numbers also as a number, where it is exact. */
function forms([kind, text]) {
  if (kind === "int") {
    const whole = BigInt(text);
    return Number.isSafeInteger(Number(whole)) ? [whole, Number(whole)] : [whole];
  }
  if (kind === "float") return [text in FLOATS ? FLOATS[text] : Number(text)];
  return [kind === "none" ? null : kind === "bool" ? text === "True" : kind === "list" ? [0.5] : text];
}

function attempt(act) {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof DpairsError)) throw error;
    return { error: error.name, message: error.message };
  }
}

function answer(study, { index, stratum, values, tape, maxEpsilon }, pick) {
  const bits = new TapeForTests(bytes(tape));
  const me = new Participant(study, { index: pick(forms(index)), stratum, maxEpsilon, maxDelta: study.delta, bits });
  const mine = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, pick(forms(value))]));
  const report = me.report(mine);
  const wire = report.toBytes();
  const probability = me.probability(mine, report.symbol);
  return {
    coins: me.coins.map(({ level, row }) => ({ level, row: String(row) })),
    symbol: String(report.symbol),
    wide: typeof report.symbol === "bigint",
    wire: Buffer.from(wire).toString("hex"),
    json: report.toJson(),
    probability: [String(probability.numerator), String(probability.denominator)],
    again: [Report.fromBytes(wire, study).toJson(), Report.fromJson(report.toJson(), study).toJson()],
  };
}

function answerStudy({ text, first, people }) {
  const study = Study.fromJson(text, { first: first ? Study.fromJson(first) : null });
  return {
    id: study.id,
    firstId: study.firstId,
    same: study.toJson() === text,
    strata: study.strata,
    columns: study.columns.map(({ name }) => name),
    symbols: String(study.symbols),
    epsilon: study.privacy.epsilon,
    claim: String(study.privacy),
    asked: study.strata.map((stratum) => Array.from({ length: 70 }, (_, i) => study.asks(stratum, i))),
    people: people.map((person) => [
      attempt(() => answer(study, person, (found) => found[0])),
      attempt(() => answer(study, person, (found) => found[found.length - 1])),
    ]),
  };
}

const cases = JSON.parse(readFileSync(process.argv[2], "utf8"));
const answers = {
  studies: cases.studies.map(answerStudy),
  texts: cases.texts.map((hex) => attempt(() => ({ id: Study.fromJson(bytes(hex)).id }))),
  reports: cases.reports.map(([text, wires]) => {
    const study = Study.fromJson(text);
    return wires.map((wire) => attempt(() => ({ json: Report.fromBytes(bytes(wire), study).toJson() })));
  }),
  lines: cases.lines.map(([text, lines]) => {
    const study = Study.fromJson(text);
    return lines.map((line) => attempt(() => ({ json: Report.fromJson(line, study).toJson() })));
  }),
};
process.stdout.write(JSON.stringify(answers));
