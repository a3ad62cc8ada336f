import type { Bits } from "./index.js";

/** Words read from given bytes, little-endian. For tests only: whoever knows the tape can undo the noise. */
export class TapeForTests implements Bits {
  constructor(tape: Uint8Array);
  word(): bigint;
  words(count: number): bigint[];
}
