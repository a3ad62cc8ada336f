/** The statistics a study can ask for: their names, what is asked of people, and their options. */

const TIES = {
  name: "ties",
  label: "Two people with equal scores",
  choices: [
    ["half", "count as one half"],
    ["zero", "count as nothing"],
  ],
};
const LABELS = {
  name: "labels",
  label: "Which group somebody is in",
  choices: [
    ["public", "is known (or not secret)"],
    ["private", "is also secret"],
  ],
};
const VARIANT = {
  name: "variant",
  label: "Ties",
  choices: [
    ["a", "are not corrected for (tau-a)"],
    ["b", "are corrected for (tau-b)"],
  ],
};
const TWO = ["positive", "negative"];

/** By name: title, explanation, columns, options, groups, and the domain it begins with. */
export const STATISTICS = {
  auc: {
    title: "AUC",
    about: "How well does a score tell two groups apart? 0.5 means not at all, 1 means perfectly.",
    columns: ["score"],
    options: [LABELS, TIES],
    groups: TWO,
    kinds: ["interval", "integers", "levels"],
  },
  mann_whitney: {
    title: "Mann-Whitney U",
    about: "Does one group tend to have higher scores than the other?",
    columns: ["score"],
    options: [LABELS],
    groups: TWO,
    kinds: ["interval", "integers", "levels"],
  },
  kendall_tau: {
    title: "Kendall's tau",
    about: "Do a person's two answers go together? From -1 (opposite) to 1 (always together).",
    columns: ["x", "y"],
    options: [VARIANT],
    kinds: ["levels", "integers", "interval"],
  },
  gini_mean_difference: {
    title: "Gini mean difference",
    about: "How far apart are two people, on average?",
    columns: ["value"],
    kinds: ["interval", "integers", "levels"],
  },
  gini_coefficient: {
    title: "Gini coefficient",
    about: "How unequally is something shared? 0 means equally; close to 1, one person has it all.",
    columns: ["value"],
    kinds: ["interval", "integers", "levels"],
  },
  variance: {
    title: "Variance",
    about: "How much do the answers vary?",
    columns: ["value"],
    kinds: ["interval", "integers", "levels"],
  },
  collision_entropy: {
    title: "Collision entropy",
    about: "How varied are the answers: how rarely do two people give the same one?",
    columns: ["value"],
    kinds: ["categories", "levels", "integers"],
  },
  vus: {
    title: "Volume under the surface",
    about: "How well does a score order three groups?",
    columns: ["score"],
    options: [TIES],
    groups: ["low", "middle", "high"],
    kinds: ["interval", "integers", "levels"],
  },
};

/** A statistic's title; a kernel of somebody's own has its own. */
export function titleOf(name) {
  return STATISTICS[name]?.title ?? name;
}

/** The public groups that people are counted by, if any. */
export function groupsOf(name, options) {
  const groups = STATISTICS[name]?.groups ?? [];
  return options.labels === "private" ? [] : groups;
}
