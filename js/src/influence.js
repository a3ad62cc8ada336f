/** A function of one person's values, small enough for a study: linear between the vertices of cells. */

import { fromBase64 } from "./bytes.js";
import { CutAxis } from "./cut_axis.js";
import { BadFile } from "./errors.js";

/** Heights are whole numbers from 0 to STEPS: two bytes each, the higher first. */
const STEPS = 2 ** 16 - 1;

/** For each bin its first and its last vertex: the same one where it holds a single value. */
function vertices(axis) {
  const wide = axis instanceof CutAxis ? axis.wide : new Array(axis.bins).fill(false);
  let next = 0;
  return wide.map((several) => {
    const first = next;
    next += several ? 2 : 1;
    return [first, next - 1];
  });
}

/** v in [0, 1], given at every vertex of the cells of `grid`. */
export class Influence {
  /** @param {import("./axes.js").Grid} grid @param {unknown} heights */
  constructor(grid, heights) {
    this.grid = grid;
    this.vertices = grid.axes.map(vertices);
    const count = this.vertices.reduce((product, ends) => product * (ends[ends.length - 1][1] + 1), 1);
    this.text = heights;
    const words = fromBase64(this.text, "a function's heights are 16-bit numbers in base64");
    if (words.length !== 2 * count) throw new BadFile(`a function on these cells has ${count} heights`);
    this.heights = Array.from({ length: count }, (_, place) => words[2 * place] * 256 + words[2 * place + 1]);
  }

  /** v at a person's values. @returns {number} */
  at(columns, names) {
    // Vertices with their weights, the last column fastest, and summed in that order.
    let weights = [[0, 1]];
    this.grid.axes.forEach((axis, place) => {
      const [value, name, ends] = [columns[place], names[place], this.vertices[place]];
      const [bin, through] = axis instanceof CutAxis ? axis.locate(value, name) : [axis.place(value, name), 0];
      const size = ends[ends.length - 1][1] + 1;
      const [first, last] = ends[bin];
      weights = weights.flatMap(([vertex, weight]) => [
        [vertex * size + first, weight * (1 - through)],
        [vertex * size + last, weight * through],
      ]);
    });
    const total = weights.reduce((sum, [vertex, weight]) => sum + weight * this.heights[vertex], 0);
    return Math.min(Math.max(total / STEPS, 0), 1);
  }

  toSpec() {
    return this.text;
  }
}
