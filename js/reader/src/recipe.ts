// Section 5.9 of docs/format.md: the program that builds a record out of segments.
import { Fields, equal, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import { LIMITS } from "./limits.js";

const MAGIC = Uint8Array.of(0x43, 0x54, 0x58, 0x52);
const HEADER_SIZE = 32;
const STEP_SIZE = 64;
const FREE_STEPS = 16;
const U64 = 1n << 64n;

export type Step =
  | { readonly kind: "copy"; readonly count: number; readonly source: number; readonly offset: number }
  | { readonly kind: "literal"; readonly count: number; readonly bytes: Bytes }
  | { readonly kind: "fill"; readonly count: number; readonly byte: number };

class Numbers {
  at = 0;

  constructor(private readonly bytes: Bytes) {}

  get done(): boolean {
    return this.at === this.bytes.length;
  }

  byte(): number {
    const byte = this.bytes[this.at++];
    return byte === undefined ? refuse("F42", "the steps of a recipe end inside a step") : byte;
  }

  next(): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (value >= U64 || shift > 63n) refuse("F42", "a number of a recipe is above 2^64");
      if ((byte & 0x80) === 0) {
        if (byte === 0 && shift !== 0n) refuse("F42", "a number of a recipe has not its shortest form");
        return value;
      }
    }
  }
}

/** Reads a program; `sources` are the sizes of the segments that it may copy from. */
export function parseProgram(program: Bytes, logicalSize: number, sources: readonly number[]): Step[] {
  if (program.length < HEADER_SIZE) refuse("F42", "a program ends inside its header");
  const fields = new Fields(program);
  if (!equal(fields.cut(0, 4), MAGIC)) refuse("F42", "a program has no magic");
  if (fields.u16(4) !== 1) refuse("F42", `a program has the version ${fields.u16(4)}`, "unsupported");
  if (fields.u16(6) !== 0) refuse("F20", "reserved bytes of a program are not zero");
  const count = fields.u64(8);
  if (count > LIMITS.programSteps || count > Math.floor(logicalSize / STEP_SIZE) + FREE_STEPS) {
    refuse("F42", `a program has ${count} steps`, "limit_exceeded");
  }
  const stepsSize = fields.u64(16);
  const literalsSize = fields.u64(24);
  if (stepsSize > program.length || HEADER_SIZE + stepsSize + literalsSize !== program.length) {
    refuse("F42", "the sizes of a program do not fill it");
  }
  const numbers = new Numbers(fields.cut(HEADER_SIZE, stepsSize));
  const literals = fields.cut(HEADER_SIZE + stepsSize, literalsSize);
  const starts = startsOf(sources);
  const total = starts.at(-1) as number;
  const read = new Set<number>();
  const steps: Step[] = [];
  let position = 0n;
  let literalAt = 0;
  let made = 0;
  for (let i = 0; i < count; i++) {
    const head = numbers.next();
    const kind = Number(head & 3n);
    const size = Number(head >> 2n);
    if (size === 0) refuse("F42", "a step of a recipe is empty");
    if (kind === 3) refuse("F42", "a step of a recipe has an unknown kind");
    made += size;
    if (made > logicalSize) refuse("F39", "a recipe makes more than its record");
    const before = steps.at(-1);
    if (kind === 0) {
      const coded = numbers.next();
      const difference = (coded & 1n) === 0n ? coded >> 1n : -((coded + 1n) >> 1n);
      position = (((position + difference) % U64) + U64) % U64;
      if (position >= BigInt(total)) refuse("F39", "a copy of a recipe is in no source");
      const from = Number(position);
      const source = sourceAt(starts, from);
      const offset = from - (starts[source] as number);
      if (size > (sources[source] as number) - offset) refuse("F39", "a copy of a recipe goes beyond its source");
      if (before?.kind === "copy" && before.source === source && before.offset + before.count === offset) {
        refuse("F42", "a copy of a recipe goes on where the one before ended");
      }
      read.add(source);
      position += BigInt(size);
      steps.push({ kind: "copy", count: size, source, offset });
    } else if (kind === 1) {
      if (before?.kind === "literal") refuse("F42", "two literals of a recipe are neighbours");
      if (size > literals.length - literalAt) refuse("F39", "a recipe uses more literals than it has");
      steps.push({ kind: "literal", count: size, bytes: literals.subarray(literalAt, literalAt + size) });
      literalAt += size;
    } else {
      const byte = numbers.byte();
      if (before?.kind === "fill" && before.byte === byte) refuse("F42", "two fills of a recipe with one byte are neighbours");
      steps.push({ kind: "fill", count: size, byte });
    }
  }
  if (!numbers.done) refuse("F42", "bytes follow the steps of a recipe");
  if (made !== logicalSize) refuse("F39", `a recipe makes ${made} bytes of ${logicalSize}`);
  if (literalAt !== literals.length) refuse("F39", "a recipe does not use all of its literals");
  if (read.size !== sources.length) refuse("F39", "a recipe does not read all of its sources");
  return steps;
}

/** Where each source begins in the sequence of all, and where the last one ends. */
function startsOf(sizes: readonly number[]): number[] {
  const starts = [0];
  for (const size of sizes) starts.push((starts.at(-1) as number) + size);
  return starts;
}

function sourceAt(starts: readonly number[], position: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] as number) <= position) low = middle;
    else high = middle;
  }
  return low;
}
