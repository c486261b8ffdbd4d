// Section 5.8 of docs/format.md: bytes of records. Nothing is handed out before the leaves under it match.
import { Fields, equal, isZero, join, type Bytes } from "./bytes.js";
import { FatctxError, refuse } from "./error.js";
import { Hashes } from "./hash.js";
import { LEAF_SIZE, LEAVES_IN_PAGE, LIMITS, NONE } from "./limits.js";
import { contentSize, unpack } from "./lz4.js";
import { parseProgram, type Step } from "./recipe.js";
import type { Source } from "./source.js";
import { leafCount, rangeLength, type RecordRow, type Segment, type Slice } from "./tables.js";

/** Leaves that one read takes. */
const LEAVES_AT_ONCE = 64;
const FILL_CHUNK = 1 << 20;
const BLOCK_OF_STEPS = 64;

/** Bounds the bytes that a call makes (8.1). */
export class Budget {
  constructor(private left: number) {}

  take(bytes: number, what: string): void {
    this.left -= bytes;
    if (this.left < 0) {
      throw new FatctxError("limit_exceeded", null, `${what}: reading it would make more bytes than the file is worth`);
    }
  }
}

export type LeafKind = "xxh3" | "sha256";

export class Payload {
  private readonly ranges = new Map<string, Promise<Bytes>>();
  /** For each segment one byte a leaf: 1 once it has matched. */
  private readonly checked = new Map<string, Uint8Array>();

  constructor(
    private readonly source: Source,
    private readonly segments: readonly Segment[],
    private readonly hashes: Hashes,
  ) {}

  /** The leaves of a segment, themselves checked with the hash in its row (F26). */
  private leaves(segment: Segment, kind: LeafKind): Promise<Bytes> {
    const id = `${kind} ${segment.index}`;
    let range = this.ranges.get(id);
    if (range === undefined) {
      range = this.readLeaves(segment, kind);
      this.ranges.set(id, range);
    }
    return range;
  }

  private async readLeaves(segment: Segment, kind: LeafKind): Promise<Bytes> {
    const row = kind === "xxh3" ? segment : segment.sha256;
    const size = kind === "xxh3" ? 16 : 32;
    if (row === null) return refuse("F26", `segment ${segment.index} has no SHA-256 leaves`, "checksum_mismatch");
    const count = leafCount(segment.size);
    if (count === 1) return row.leavesHash;
    if (row.leavesSegment === NONE) return refuse("F26", `segment ${segment.index} has no leaf range`);
    const from = this.segments[row.leavesSegment] as Segment;
    const range = await this.source.read(from.offset + row.firstLeaf * size, rangeLength(count) * size);
    const hashOf = (bytes: Bytes) => (kind === "xxh3" ? this.hashes.hash(bytes) : this.hashes.sha256(bytes));
    const bad = (what: string, bytes: Bytes): never =>
      isZero(bytes)
        ? refuse("F26", `${what} of segment ${segment.index} is not present`, "not_present")
        : refuse("F26", `${what} of segment ${segment.index} does not match its hash`, "checksum_mismatch");
    const leaves = range.subarray(0, count * size);
    const pages = range.subarray(count * size);
    if (pages.length === 0) {
      if (!equal(hashOf(leaves), row.leavesHash)) bad("the leaf range", leaves);
      return leaves;
    }
    if (!equal(hashOf(pages), row.leavesHash)) bad("the range of leaf pages", pages);
    const pageBytes = LEAVES_IN_PAGE * size;
    for (let i = 0; i * size < pages.length; i++) {
      const page = leaves.subarray(i * pageBytes, (i + 1) * pageBytes);
      if (!equal(hashOf(page), pages.subarray(i * size, (i + 1) * size))) bad(`leaf page ${i}`, page);
    }
    return leaves;
  }

  /** Bytes of a segment, in pieces, each of which has matched its leaves. */
  async *ofSegment(segment: Segment, offset: number, size: number, kind: LeafKind): AsyncGenerator<Bytes> {
    if (size === 0) return;
    const leaves = await this.leaves(segment, kind);
    const id = `${kind} ${segment.index}`;
    let checked = this.checked.get(id);
    if (checked === undefined) {
      checked = new Uint8Array(leafCount(segment.size));
      this.checked.set(id, checked);
    }
    const hashSize = kind === "xxh3" ? 16 : 32;
    const end = offset + size;
    const lastLeaf = Math.ceil(end / LEAF_SIZE);
    for (let leaf = Math.floor(offset / LEAF_SIZE); leaf < lastLeaf; leaf += LEAVES_AT_ONCE) {
      const start = leaf * LEAF_SIZE;
      const stop = Math.min((Math.min(leaf + LEAVES_AT_ONCE, lastLeaf)) * LEAF_SIZE, segment.size);
      const bytes = await this.source.read(segment.offset + start, stop - start);
      for (let i = leaf; i * LEAF_SIZE < stop; i++) {
        if (checked[i] === 1) continue;
        const piece = bytes.subarray((i - leaf) * LEAF_SIZE, (i - leaf + 1) * LEAF_SIZE);
        const hash = kind === "xxh3" ? this.hashes.hash(piece) : this.hashes.sha256(piece);
        if (!equal(hash, leaves.subarray(i * hashSize, (i + 1) * hashSize))) {
          const place = `byte ${segment.offset + i * LEAF_SIZE} and behind`;
          if (isZero(piece)) refuse("F26", `${place}: the leaf is not present`, "not_present");
          refuse("F26", `${place}: the leaf does not match`, "checksum_mismatch");
        }
        checked[i] = 1;
      }
      yield bytes.subarray(Math.max(offset - start, 0), Math.min(end, stop) - start);
    }
  }

  private async ofSlice(slice: Slice, kind: LeafKind): Promise<Bytes> {
    return gather(this.ofSegment(slice.segment, slice.offset, slice.size, kind));
  }

  /** The bytes that a consumer sees, in pieces. Their hash is the caller's to compare: `checkedBytes` does. */
  async *ofRecord(record: RecordRow, kind: LeafKind, budget: Budget): AsyncGenerator<Bytes> {
    budget.take(record.logicalSize, record.name);
    if (record.codec > 1 || record.typeName.startsWith("type ")) {
      throw new FatctxError("unsupported", null, `${record.name}: this reader lists the record and hands nothing out`);
    }
    if (record.recipe) {
      yield* this.ofRecipe(record, kind, budget);
    } else if (record.codec === 1) {
      const frames: Bytes[] = [];
      for (const slice of record.slices) frames.push(await this.ofSlice(slice, kind));
      yield unpack(join(frames), record.logicalSize, this.hashes);
    } else {
      for (const slice of record.slices) yield* this.ofSegment(slice.segment, slice.offset, slice.size, kind);
    }
  }

  private async *ofRecipe(record: RecordRow, kind: LeafKind, budget: Budget): AsyncGenerator<Bytes> {
    const sources = record.slices.slice(1).map((slice) => slice.segment);
    for (const step of await this.steps(record, kind, budget)) {
      if (step.kind === "copy") {
        yield* this.ofSegment(sources[step.source] as Segment, step.offset, step.count, kind);
      } else if (step.kind === "literal") {
        yield step.bytes;
      } else {
        const chunk = new Uint8Array(Math.min(step.count, FILL_CHUNK)).fill(step.byte);
        for (let left = step.count; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length));
      }
    }
  }

  /** The steps of a recipe, read and checked (F39, F42). */
  async steps(record: RecordRow, kind: LeafKind, budget: Budget): Promise<Step[]> {
    const slice = record.slices[0] as Slice;
    let program = await this.ofSlice(slice, kind);
    if (record.codec === 1) {
      const size = contentSize(program);
      const most = Math.min(LIMITS.programBytes, LIMITS.codecExpansion * slice.size + LIMITS.codecExtra);
      if (size > most) refuse("F42", `the program of ${record.name} has ${size} bytes; at most ${most}`, "limit_exceeded");
      program = unpack(program, size, this.hashes);
    } else if (program.length > LIMITS.programBytes) {
      refuse("F42", `the program of ${record.name} has ${program.length} bytes`, "limit_exceeded");
    }
    const count = program.length >= 16 ? new Fields(program).u64(8) : 0;
    budget.take(program.length + BLOCK_OF_STEPS * Math.min(count, LIMITS.programSteps), record.name);
    return parseProgram(program, record.logicalSize, record.slices.slice(1).map((source) => source.size));
  }

  /** Reads all pieces of a record and compares its own hash (F37); `each` gets the pieces, before the comparison. */
  async whole(record: RecordRow, kind: LeafKind, budget: Budget, each?: (bytes: Bytes) => void): Promise<void> {
    const hash = await Hashes.running();
    const sha256 = record.logicalSha256 !== null && kind === "sha256" ? await Hashes.runningSha256() : null;
    for await (const bytes of this.ofRecord(record, kind, budget)) {
      hash.update(bytes);
      sha256?.update(bytes);
      each?.(bytes);
    }
    if (!equal(hash.digest(), record.logicalHash)) {
      refuse("F37", `${record.name} is not the record that its hash says`, "checksum_mismatch");
    }
    if (sha256 !== null && !equal(sha256.digest(), record.logicalSha256 as Bytes)) {
      refuse("F37", `${record.name} is not the record that its SHA-256 says`, "checksum_mismatch");
    }
  }

  /**
   * The bytes of a record for the reader itself, which has another hash for them: leaves are compared only if the
   * record has a codec or is a recipe (5.8).
   */
  async forReader(record: RecordRow, kind: LeafKind, budget: Budget): Promise<Bytes> {
    if (record.codec !== 0 || record.recipe || kind === "sha256") return gather(this.ofRecord(record, kind, budget));
    budget.take(record.logicalSize, record.name);
    const parts: Bytes[] = [];
    for (const { segment, offset, size } of record.slices) parts.push(await this.source.read(segment.offset + offset, size));
    return join(parts);
  }

  async checkedBytes(record: RecordRow, kind: LeafKind, budget: Budget): Promise<Bytes> {
    const pieces: Bytes[] = [];
    await this.whole(record, kind, budget, (bytes) => void pieces.push(bytes));
    return join(pieces);
  }
}

export async function gather(pieces: AsyncGenerator<Bytes>): Promise<Bytes> {
  const parts: Bytes[] = [];
  for await (const piece of pieces) parts.push(piece);
  return parts.length === 1 ? (parts[0] as Bytes) : join(parts);
}
