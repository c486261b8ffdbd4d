// Who shares what with whom: which stored bytes several records show.
import type { Container } from "./container.js";
import type { LeafKind } from "./payload.js";
import type { RecordRow, Segment } from "./tables.js";

export interface RecordSharing {
  readonly record: RecordRow;
  /** Stored bytes that only this record shows. */
  readonly own: number;
  /** Stored bytes that other records show as well. */
  readonly shared: number;
}

export interface Sharing {
  readonly records: readonly RecordSharing[];
  /** Bytes that two records both show: `pairs[i][j]` of the records `i` and `j`. */
  readonly pairs: readonly (readonly number[])[];
  /** Sum of what consumers see, and what is stored for it. */
  readonly logical: number;
  readonly stored: number;
}

interface Use {
  readonly start: number;
  readonly end: number;
  readonly record: number;
}

export async function measureSharing(container: Container, kind: LeafKind): Promise<Sharing> {
  const uses = new Map<Segment, Use[]>();
  const add = (segment: Segment, offset: number, size: number, record: number): void => {
    const list = uses.get(segment) ?? [];
    list.push({ start: offset, end: offset + size, record });
    uses.set(segment, list);
  };
  const budget = container.budget();
  for (const record of container.records) {
    if (!record.recipe || record.codec > 1) {
      for (const slice of record.slices) add(slice.segment, slice.offset, slice.size, record.index);
      continue;
    }
    const [program, ...sources] = record.slices;
    if (program !== undefined) add(program.segment, program.offset, program.size, record.index);
    for (const step of await container.payload.steps(record, kind, budget)) {
      const source = step.kind === "copy" ? sources[step.source] : undefined;
      if (source !== undefined && step.kind === "copy") add(source.segment, step.offset, step.count, record.index);
    }
  }
  const count = container.records.length;
  const own = new Array<number>(count).fill(0);
  const shared = new Array<number>(count).fill(0);
  const pairs = Array.from({ length: count }, () => new Array<number>(count).fill(0));
  for (const list of uses.values()) {
    for (const { size, users } of pieces(list)) {
      for (const user of users) {
        const sums = users.length === 1 ? own : shared;
        sums[user] = (sums[user] as number) + size;
        const row = pairs[user] as number[];
        for (const other of users) row[other] = (row[other] as number) + size;
      }
    }
  }
  return {
    records: container.records.map((record, i) => ({ record, own: own[i] as number, shared: shared[i] as number })),
    pairs,
    logical: container.records.reduce((sum, record) => sum + record.logicalSize, 0),
    stored: container.tables.segments
      .filter((segment) => segment.kind === "payload" || segment.kind === "packed")
      .reduce((sum, segment) => sum + segment.size, 0),
  };
}

/** Cuts uses of one segment into pieces that one set of records shows. */
function* pieces(list: readonly Use[]): Generator<{ size: number; users: number[] }> {
  const events = list
    .flatMap((use) => [
      { at: use.start, change: 1, record: use.record },
      { at: use.end, change: -1, record: use.record },
    ])
    .sort((a, b) => a.at - b.at);
  const open = new Map<number, number>();
  let before = 0;
  for (const { at, change, record } of events) {
    if (at > before && open.size > 0) yield { size: at - before, users: [...open.keys()] };
    before = at;
    const times = (open.get(record) ?? 0) + change;
    if (times === 0) open.delete(record);
    else open.set(record, times);
  }
}
