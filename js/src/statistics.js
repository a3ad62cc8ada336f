/**
 * What is computed, as far as a person's device has to know it: which columns are private, which classes
 * are public, and which domains make sense. The statistic itself is the analyst's.
 */

import { choice, equals, fields, real, required, text } from "./checks.js";
import { Interval, Listed, blurred, ends, extent } from "./domains.js";
import { BadFile, BadParameter } from "./errors.js";
import { placed } from "./positions.js";
import { kindOf, repr, short } from "./wording.js";

const EVERYBODY = ["everybody"];
const BOTH = ["positive", "negative"];
const COLUMNS = [["value"], ["x", "y"]];
/** The largest extent of a domain whose distances are taken. */
const WIDEST = 1e25;
/** A private label: negative, positive. */
export const LABELS = new Listed("levels", [0n, 1n]);

/**
 * @typedef {object} Statistic
 * @property {string} name
 * @property {string[]} domainColumns the columns for which a study gives a domain
 * @property {string[]} privateColumns the columns that a report protects
 * @property {string[]} strata the public classes people belong to
 * @property {"numeric" | "ordered" | "discrete" | "any"} needs what a domain must be
 * @property {Record<string, any>} options what makes up its JSON, with the name
 * @property {{ cells: number, kernel: string }} [table] of a custom kernel
 */

/** An option, or its default; the first of `allowed` is the default. */
function option(options, name, allowed) {
  return options.has(name) ? choice(name, options.get(name), allowed) : allowed[0];
}

function auc(name, options) {
  const ties = option(options, "ties", ["half", "zero"]);
  const labels = option(options, "labels", ["public", "private"]);
  if (name === "mann_whitney") choice("ties of mann_whitney", ties, ["half"]);
  const secret = labels === "private";
  return {
    domainColumns: ["score"],
    privateColumns: secret ? ["score", "label"] : ["score"],
    strata: secret ? EVERYBODY : BOTH,
    needs: "ordered",
    options: { ties, labels },
  };
}

function plain(columns, needs, options = {}) {
  return { domainColumns: columns, privateColumns: columns, strata: EVERYBODY, needs, options };
}

function kendall(options) {
  const variant = option(options, "variant", ["a", "b"]);
  return plain(["x", "y"], "ordered", { variant });
}

function vus(options) {
  const ties = option(options, "ties", ["half", "zero"]);
  return { ...plain(["score"], "ordered", { ties }), strata: ["low", "middle", "high"] };
}

/** Every statistic known by name: the options it takes, and how it is read. */
const STATISTICS = {
  auc: [["ties", "labels"], (options) => auc("auc", options)],
  mann_whitney: [["ties", "labels"], (options) => auc("mann_whitney", options)],
  kendall_tau: [["variant"], kendall],
  gini_mean_difference: [[], () => plain(["value"], "numeric")],
  gini_coefficient: [[], () => plain(["value"], "numeric")],
  variance: [[], () => plain(["value"], "numeric")],
  collision_entropy: [[], () => plain(["value"], "discrete")],
  vus: [["ties"], vus],
};

/**
 * Add a statistic of one's own: the options it takes, and what a device has to know of it, given them.
 *
 * @param {string} name @param {string[]} options @param {(given: Map<string, any>) => Omit<Statistic, "name">} read
 */
export function registerStatistic(name, options, read) {
  if (Object.hasOwn(STATISTICS, name)) throw new BadParameter(`there is a statistic named ${repr(name)} already`);
  STATISTICS[name] = [options, read];
}

function kernelColumns(given) {
  const columns = COLUMNS.find(
    (names) => Array.isArray(given) && names.length === given.length && names.every((name, i) => name === given[i]),
  );
  if (!columns) throw new BadFile(`statistic 'kernel' cannot have the columns ${repr(given)}`);
  return columns;
}

function kernelRange(given) {
  if (!Array.isArray(given) || given.length !== 2) {
    throw new BadParameter(`range must be two numbers (low, high), not ${repr(given)}`);
  }
  const [low, high] = [real("range low", given[0]), real("range high", given[1])];
  if (!(low < high)) throw new BadParameter(`range must have low < high, not ${repr(given)}`);
  if (Math.max(Math.abs(low), Math.abs(high)) > WIDEST ** 2) {
    throw new BadParameter(`range must lie within ${short(WIDEST ** 2)} of 0, not ${repr(given)}`);
  }
  return [low, high];
}

/** The numbers of a lower triangle, and how many rows it has. */
function triangle(given) {
  const numeric = (each) => typeof each === "number" || typeof each === "bigint";
  if (!Array.isArray(given) || !given.length || !given.every(numeric)) {
    throw new BadFile("a kernel's table must be a list of numbers");
  }
  const flat = given.map(Number);
  const cells = Math.floor((Math.sqrt(8 * flat.length + 1) - 1) / 2 + 1e-9);
  if ((cells * (cells + 1)) / 2 !== flat.length || !flat.every(Number.isFinite)) {
    throw new BadFile("a kernel's table must be the lower triangle of a square matrix of finite numbers");
  }
  return { flat, cells };
}

function tabulated(spec) {
  const names = ["name", "label", "kernel", "columns", "range", "lipschitz", "matrix", "spread"];
  fields("statistic 'kernel'", spec, names);
  required("statistic 'kernel'", spec, names);
  const [matrix, uncertainty] = [triangle(spec.get("matrix")), triangle(spec.get("spread"))];
  if (matrix.cells !== uncertainty.cells || uncertainty.flat.some((each) => each < 0)) {
    throw new BadFile("a kernel's spread must be as large as its matrix and nowhere below 0");
  }
  const slope = spec.get("lipschitz");
  const columns = kernelColumns(spec.get("columns"));
  const options = {
    label: text("label", spec.get("label")),
    kernel: choice("kernel", spec.get("kernel"), ["average", "midpoint"]),
    columns,
    range: kernelRange(spec.get("range")),
    lipschitz: slope === null ? null : real("lipschitz", slope),
    matrix: matrix.flat,
    spread: uncertainty.flat,
  };
  return { ...plain(columns, "any", options), table: { cells: matrix.cells, kernel: options.kernel } };
}

function named(spec) {
  const names = ["name", "label", "columns", "range"];
  fields("statistic 'named_kernel'", spec, names);
  required("statistic 'named_kernel'", spec, names);
  const columns = kernelColumns(spec.get("columns"));
  const range = kernelRange(spec.get("range"));
  return plain(columns, "any", { label: text("label", spec.get("label")), columns, range });
}

/** Read a statistic from a study. @param {unknown} spec @returns {Statistic} */
export function readStatistic(spec) {
  if (!(spec instanceof Map)) throw new BadFile(`a statistic must be a JSON object, not ${kindOf(spec)}`);
  const name = spec.get("name") ?? "";
  if (name === "kernel") return { name, ...tabulated(spec) };
  if (name === "named_kernel") return { name, ...named(spec) };
  const [allowed, read] = STATISTICS[choice("statistic", name, Object.keys(STATISTICS))];
  const options = new Map([...spec].filter(([key]) => key !== "name"));
  fields(`statistic ${repr(name)}`, options, allowed);
  return { name, ...read(options) };
}

/** Refuse the name of a kernel in a round that begins a study. @param {Statistic} statistic @param {unknown} round */
export function checkBegins({ name }, round) {
  if (name === "named_kernel" && (round === undefined || equals(round, 1))) {
    throw new BadParameter("this is only the name of a kernel, as second rounds carry it: give the Kernel");
  }
}

/** The JSON form. @param {Statistic} statistic */
export function statisticSpec(statistic) {
  return { name: statistic.name, ...statistic.options };
}

/** The JSON form without anything that only an analyst needs: what a second round carries. */
export function described(statistic) {
  if (statistic.name !== "kernel") return statisticSpec(statistic);
  const { label, columns, range } = statistic.options;
  return { name: "named_kernel", label, columns, range };
}

/** The domain of every private column. @param {Statistic} statistic */
export function cellDomains(statistic, domains) {
  return statistic.privateColumns.includes("label") ? [...domains, LABELS] : domains;
}

/**
 * The domains that a protocol works on: positions among edges, where only the order counts.
 *
 * @param {Statistic} statistic
 */
export function placedBy(statistic, domains) {
  return statistic.needs === "numeric" ? domains : placed(domains);
}

/**
 * Refuse domains on which the statistic has no meaning.
 *
 * @param {Statistic} statistic
 * @param {boolean} points whether values are rounded to points: only then an interval's edges say what distances are
 */
export function checkDomains(statistic, domains, points = false) {
  const { name, needs, domainColumns } = statistic;
  if (domains.length !== domainColumns.length) {
    const listed = domainColumns.join(", ");
    throw new BadParameter(`${name} needs ${domainColumns.length} domain(s), for ${listed}, not ${domains.length}`);
  }
  domains.forEach((domain, place) => {
    const column = domainColumns[place];
    if (needs === "numeric" && !domain.numeric) {
      throw new BadParameter(`${name} needs numbers, so ${column} cannot have the domain ${domain}`);
    }
    if (needs === "numeric" && extent(domain) > WIDEST) {
      throw new BadParameter(
        `${name} squares distances of ${column}, and ${domain} is too wide for that: its ends may lie ` +
          `${short(WIDEST)} apart at most`,
      );
    }
    if (needs === "numeric" && blurred(domain)) {
      throw new BadParameter(
        `${name} takes distances of ${column}, and doubles do not keep those of ${domain}: subtract its lowest value ` +
          "from all",
      );
    }
    if (needs === "ordered" && !domain.ordered) {
      throw new BadParameter(`${name} compares values, so ${column} needs an ordered domain, not ${domain}`);
    }
    const rounded = needs === "numeric";
    if (domain instanceof Interval && domain.scaled && needs !== "ordered" && !(rounded && points)) {
      const other = ", or take protocol='histogram' with rounding='random', for which edges are points";
      throw new BadParameter(
        `${name} needs the values of ${column}, of which edges keep only the order: give an Interval without a scale` +
          (rounded ? other : ""),
      );
    }
    if (needs === "discrete" && domain instanceof Interval) {
      throw new BadParameter(
        `${name} counts equal values, so ${column} needs Categories, Levels or Integers, not ${domain}`,
      );
    }
  });
  if (name === "gini_coefficient") {
    const [lowest] = ends(domains[0]);
    if (lowest < 0) {
      throw new BadParameter(`${name} needs values of at least 0, but the domain begins at ${short(lowest)}`);
    }
  }
}

/** Refuse cells for which the statistic has no average over pairs. @param {Statistic} statistic */
export function checkGrid(statistic, grid, kernel) {
  if (statistic.name === "vus") {
    throw new BadParameter("vus is a statistic over triples, which only the projection protocol computes");
  }
  const { table } = statistic;
  if (table && table.cells !== grid.cells) {
    throw new BadParameter(`the kernel's table has ${table.cells} cells and the study ${grid.cells}`);
  }
  if (table && table.kernel !== kernel) {
    throw new BadParameter(`the kernel's table has kind ${repr(table.kernel)}, not ${repr(kernel)}`);
  }
}
