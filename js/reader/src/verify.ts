// What docs/format.md, section 9, marks with "verify": rules that need payload or both copies of the TOC.
import { alignUp, equal, isZero, type Bytes } from "./bytes.js";
import type { Container } from "./container.js";
import { parseDescription } from "./description.js";
import { FatctxError, refuse } from "./error.js";
import { headerPadding } from "./header.js";
import { HEAD_START } from "./header.js";
import { PAGE_SIZE } from "./limits.js";
import type { Budget, LeafKind } from "./payload.js";
import { DESCRIPTION, TENSOR_TABLE, type RecordRow } from "./tables.js";

export interface Problem {
  /** The record, or null for the file as a whole. */
  readonly record: string | null;
  readonly error: FatctxError;
}

const CHUNK = 1 << 22;

export async function verifyContainer(
  container: Container,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const attempt = async (record: string | null, check: () => Promise<void>): Promise<void> => {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof FatctxError)) throw error;
      problems.push({ record, error });
    }
  };
  const { segments, records } = container.tables;
  const signed = container.place.signature !== null;
  const kinds: LeafKind[] = signed ? ["xxh3", "sha256"] : ["xxh3"];
  const live = segments.filter((segment) => segment.kind === "payload" || segment.kind === "packed");
  const total = live.reduce((sum, segment) => sum + segment.size, 0) + records.reduce((sum, record) => sum + record.logicalSize, 0);
  let done = 0;
  const advance = (bytes: number) => progress((done += bytes), total);

  await attempt(null, () => checkCopies(container));
  for (const segment of segments) {
    if (segment.kind !== "leaves") continue;
    await attempt(null, async () => {
      const bytes = await container.source.read(segment.offset, segment.size);
      if (!equal(container.hashes.hash(bytes), segment.leavesHash)) {
        refuse("F26", `the leaves of segment ${segment.index} do not match their hash`, "checksum_mismatch");
      }
    });
  }
  for (const segment of live) {
    for (const kind of kinds) {
      await attempt(null, async () => {
        for await (const bytes of container.payload.ofSegment(segment, 0, segment.size, kind)) {
          if (kind === "xxh3") advance(bytes.length);
        }
      });
    }
  }
  const budget = container.budget();
  for (const record of records) {
    await attempt(record.name, () => checkRecord(container, record, kinds, budget));
    advance(record.logicalSize);
  }
  await attempt(null, () => checkPadding(container));
  return problems;
}

async function checkRecord(container: Container, record: RecordRow, kinds: readonly LeafKind[], budget: Budget): Promise<void> {
  // A record of a newer version is listed only: its leaves have been compared with those of its segments.
  if (record.codec > 1 || record.typeName.startsWith("type ")) return;
  for (const kind of kinds) await container.payload.whole(record, kind, budget);
  if (record.type === DESCRIPTION) parseDescription(await container.bytes(record));
  if (record.type === TENSOR_TABLE) await container.tensorsOfTable(record);
}

/** Both copies of the TOC are equal, and SHA-256 of head and pages match where they are (F13, F14). */
async function checkCopies({ source, place, toc, hashes }: Container): Promise<void> {
  const [first, second] = [
    await source.read(place.tocOffset[0], place.tocSize),
    await source.read(place.tocOffset[1], place.tocSize),
  ] as const;
  if (!equal(first, second)) refuse("F14", "the two copies of the TOC differ");
  const head = first.subarray(0, place.headSize);
  if (place.signature !== null && !equal(hashes.sha256(head), place.signature.tocSha256)) {
    refuse("F13", "the head of the TOC does not match its SHA-256", "checksum_mismatch");
  }
  if (!toc.hasSha256) return;
  const body = first.subarray(place.headSize);
  const pages = Math.ceil(body.length / PAGE_SIZE);
  for (let i = 0; i < pages; i++) {
    const page = body.subarray(i * PAGE_SIZE, (i + 1) * PAGE_SIZE);
    const at = HEAD_START + 16 * pages + 32 * i;
    if (!equal(hashes.sha256(page), head.subarray(at, at + 32))) {
      refuse("F13", `page ${i} of the TOC does not match its SHA-256`, "checksum_mismatch");
    }
  }
}

/** Padding is zero (F35): in the header, behind extents, inside packed segments, behind a short last granule. */
async function checkPadding(container: Container): Promise<void> {
  const { header, place, tables, source } = container;
  const zero = (bytes: Bytes, where: string): void => {
    if (!isZero(bytes)) refuse("F35", `padding ${where} is not zero`);
  };
  for (const [from, to] of headerPadding(header)) zero(header.bytes.subarray(from, to), `at ${from} of the header`);
  const zeroRange = async (from: number, to: number, where: string): Promise<void> => {
    for (let at = from; at < to; at += CHUNK) zero(await source.read(at, Math.min(CHUNK, to - at)), where);
  };
  const extents = [
    ...tables.segments.map(({ offset, size }) => [offset, size] as const),
    ...place.tocOffset.map((offset) => [offset, place.tocSize] as const),
  ].sort((a, b) => a[0] - b[0]);
  let end = header.prologue.form.headerSize;
  for (const [offset, size] of extents) {
    await zeroRange(end, offset, `before ${offset}`);
    end = offset + size;
  }
  for (const segment of tables.segments) {
    if (segment.kind !== "packed" || segment.generation !== place.generation) continue;
    const slices = tables.records
      .flatMap((record) => record.slices)
      .filter((slice) => slice.segment === segment)
      .sort((a, b) => a.offset - b.offset);
    let at = 0;
    for (const slice of slices) {
      await zeroRange(segment.offset + at, segment.offset + slice.offset, `inside segment ${segment.index}`);
      at = Math.max(at, slice.offset + slice.size);
    }
    await zeroRange(segment.offset + at, segment.offset + segment.size, `inside segment ${segment.index}`);
  }
  const granule = 2 ** header.prologue.granuleLog2;
  for (const record of tables.records) {
    const last = record.slices.at(-1);
    if (record.recipe || record.slices.length < 2 || last === undefined) continue;
    const from = last.segment.offset + last.offset + last.size;
    const to = alignUp(from, granule);
    if (from < to && to <= place.committedEnd) await zeroRange(from, to, `behind the last granule of ${record.name}`);
  }
}
