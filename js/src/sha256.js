/** SHA-256 (FIPS 180-4). The browser's own is asynchronous and absent from pages without HTTPS. */

function firstPrimes(count) {
  const primes = [];
  for (let number = 2; primes.length < count; number += 1) {
    if (primes.every((prime) => number % prime)) primes.push(number);
  }
  return primes;
}

/** The first 32 bits behind the point of a root of `number`, exactly. */
function rootBits(number, degree) {
  const scaled = BigInt(number) << BigInt(32 * degree);
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(degree) <= scaled) low = middle;
    else high = middle;
  }
  return Number(low & 0xffffffffn);
}

const PRIMES = firstPrimes(64);
const START = PRIMES.slice(0, 8).map((prime) => rootBits(prime, 2));
const STEPS = Int32Array.from(PRIMES, (prime) => rootBits(prime, 3));

const turn = (word, places) => (word >>> places) | (word << (32 - places));

/** @param {Uint8Array} message @returns {Uint8Array} the 32 bytes of its hash */
export function sha256(message) {
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) << 6);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(message.length) * 8n);
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const [a, b] = [words[i - 15], words[i - 2]];
      const first = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
      const second = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      words[i] = words[i - 16] + first + words[i - 7] + second;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const choose = (e & f) ^ (~e & g);
      const most = (a & b) ^ (a & c) ^ (b & c);
      const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choose + STEPS[i] + words[i]) | 0;
      const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + most) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, place) => (state[place] += word));
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, place) => out.setInt32(4 * place, word));
  return new Uint8Array(out.buffer);
}
