/** The number theoretic transform: a polynomial's values at roots of unity, and twice as many of them. */

/** @typedef {import("./field.js").Field} Field */

/** Tables of a field, by how many values a polynomial has. @type {WeakMap<Field, Map<number, any>>} */
const tables = new WeakMap();

/** The first `count` powers of a public base, times `scale`, in Montgomery form.
 *
 * @param {Field} field @param {bigint} base @param {number} count
 */
function powers(field, base, count, scale = 1n) {
  const list = [];
  for (let value = scale; list.length < count; value = (value * base) % field.modulus) list.push(value);
  return field.constants(list);
}

/** @param {Field} field @param {bigint} value @returns {bigint} */
function inverse(field, value) {
  /** @type {bigint[]} */
  let [a, b, x, y] = [field.modulus, value, 0n, 1n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % field.modulus) + field.modulus) % field.modulus;
}

function tableOf(field, size) {
  if (!tables.has(field)) tables.set(field, new Map());
  const known = tables.get(field);
  if (!known.has(size)) {
    const root = field.root(size);
    known.set(size, {
      forward: powers(field, root, Math.max(1, size / 2)),
      backward: powers(field, inverse(field, root), Math.max(1, size / 2)),
      // From coefficients times `size` to those of p(s x), where s is a root of unity of order 2 size.
      shift: powers(field, field.root(2 * size), size, inverse(field, BigInt(size))),
    });
  }
  return known.get(size);
}

function reverseBits(field, vector, size) {
  const { words } = field;
  for (let i = 0, j = 0; i < size; i += 1) {
    if (i < j) {
      for (let r = 0; r < words; r += 1) {
        const kept = vector[i * words + r];
        vector[i * words + r] = vector[j * words + r];
        vector[j * words + r] = kept;
      }
    }
    let bit = size >> 1;
    for (; bit && j & bit; bit >>= 1) j ^= bit;
    j |= bit;
  }
}

/** In place, from coefficients to values at the powers of the root whose powers are given. */
function transform(field, vector, size, roots) {
  reverseBits(field, vector, size);
  const product = field.zeros(1);
  for (let width = 2; width <= size; width *= 2) {
    const [half, step] = [width / 2, size / width];
    for (let start = 0; start < size; start += width) {
      for (let i = 0; i < half; i += 1) {
        const [upper, lower] = [start + i, start + i + half];
        field.multiply(product, 0, vector, lower, roots, i * step);
        field.subtract(vector, lower, vector, upper, product, 0);
        field.add(vector, upper, vector, upper, product, 0);
      }
    }
  }
}

/**
 * The values of a polynomial at the 2 n powers of the 2 n-th root of unity, from its n values at those of the n-th.
 *
 * @param {Field} field @param {Uint32Array} values n of them, a power of two, in Montgomery form
 * @returns {Uint32Array}
 */
export function doubled(field, values) {
  const { words } = field;
  const size = values.length / words;
  const { forward, backward, shift } = tableOf(field, size);
  const odd = values.slice();
  transform(field, odd, size, backward);
  for (let i = 0; i < size; i += 1) field.multiply(odd, i, odd, i, shift, i);
  transform(field, odd, size, forward);
  const out = field.zeros(2 * size);
  for (let i = 0; i < size; i += 1) {
    for (let r = 0; r < words; r += 1) {
      out[2 * i * words + r] = values[i * words + r];
      out[(2 * i + 1) * words + r] = odd[i * words + r];
    }
  }
  return out;
}
