/** What the analyst calls things; where nothing was given, words that anybody understands. */

const GROUPS = { positive: "Yes", negative: "No" };
const QUESTIONS = { score: "Your score", value: "Your answer", x: "Your first answer", y: "Your second answer" };

/** The names of a study's groups, questions and answers, as its participants read them.
 *
 * @param {{ words?: Record<string, any>, strata?: string[] }} study
 */
export function naming({ words = {}, strata = [] } = {}) {
  const { groups = {}, columns = {} } = words;
  const group = (name) => groups[name] || GROUPS[name] || name;
  const groupQuestion = words.group_question || (strata.includes("positive") || !strata.length ? "Are you in the group that this study is about?" : "Which group are you in?");
  return {
    group,
    groupQuestion,
    question: (column) => columns[column]?.question || (column === "label" ? groupQuestion : (QUESTIONS[column] ?? column)),
    unit: (column) => columns[column]?.unit ?? "",
    ends: (column) => [columns[column]?.low ?? "", columns[column]?.high ?? ""],
    answer: (column, value) => (column === "label" ? group(value) : columns[column]?.answers?.[String(value)] || String(value)),
  };
}

/** "kg. 0 means never, 10 means always." */
export function scaleWords(names, column, { low, high, values }) {
  const [least, most] = names.ends(column);
  const [first, last] = values ? [names.answer(column, values[0]), names.answer(column, values.at(-1))] : [low, high];
  return [least ? `${first} means ${least}` : "", most ? `${last} means ${most}` : ""].filter(Boolean).join(", ");
}
