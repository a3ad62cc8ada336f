/**
 * Gadgets: the parts of a validity circuit that multiply. `arity` wires go in and one value comes out.
 *
 * A gadget works on whole wires: `evaluate` asks for the values of wire j at `points` points, in Montgomery form, one
 * wire after the other, and gives the gadget's value at each point.
 */

/** @typedef {import("./field.js").Field} Field */
/**
 * @typedef {object} Gadget
 * @property {number} arity
 * @property {number} degree of the polynomial that it computes
 * @property {(field: Field, wire: (j: number) => Uint32Array, points: number) => Uint32Array} evaluate
 */

/** x_0 x_1 + x_2 x_3 + ... of `count` products. @param {number} count @returns {Gadget} */
export function sumOfProducts(count) {
  return {
    arity: 2 * count,
    degree: 2,
    evaluate(field, wire, points) {
      const out = field.zeros(points);
      const product = field.zeros(1);
      for (let pair = 0; pair < count; pair += 1) {
        const [left, right] = [wire(2 * pair), wire(2 * pair + 1)];
        for (let point = 0; point < points; point += 1) {
          field.multiply(product, 0, left, point, right, point);
          field.add(out, point, out, point, product, 0);
        }
      }
      return out;
    },
  };
}

/** A polynomial of one wire. @param {bigint[]} coefficients the constant one first @returns {Gadget} */
export function polynomial(coefficients) {
  const degree = coefficients.length - 1;
  return {
    arity: 1,
    degree,
    evaluate(field, wire, points) {
      const constants = field.constants(coefficients);
      const values = wire(0);
      const out = field.zeros(points);
      for (let point = 0; point < points; point += 1) {
        for (let place = degree; place >= 0; place -= 1) {
          field.multiply(out, point, out, point, values, point);
          field.add(out, point, out, point, constants, place);
        }
      }
      return out;
    },
  };
}
