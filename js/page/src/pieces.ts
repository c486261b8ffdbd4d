// Which bytes of the file belong to whom: the file cut into pieces that one set of records uses.
import type { Info } from "./data.js";

export type PieceKind = "own" | "shared" | "dead" | "tables" | "padding" | "tail";

export interface Piece {
  readonly kind: PieceKind;
  readonly offset: number;
  readonly size: number;
  /** Ids of the records that use it, ascending. */
  readonly records: readonly number[];
  readonly label: string;
  readonly hash: string | null;
}

const EXTENT_KINDS: Readonly<Record<string, PieceKind>> = { dead: "dead", payload: "padding", packed: "padding" };
const EXTENT_LABELS: Readonly<Record<string, string>> = {
  header: "header",
  "toc copy 0": "table of contents",
  "toc copy 1": "table of contents, second copy",
  leaves: "hashes of 64 KiB pieces",
  "sha256 leaves": "SHA-256 of 64 KiB pieces",
  structure: "headers and directory",
  dead: "dead bytes of earlier generations",
  payload: "not used by a slice",
  packed: "padding between small records",
};

interface Edge {
  readonly at: number;
  readonly change: 1 | -1;
  readonly record: number;
}

/** Every byte of the file is in exactly one piece. Neighbours that belong to the same records are one. */
export function piecesOf(info: Info): Piece[] {
  const edges = new Map<number, Edge[]>();
  for (const { record, slices } of info.extents.records) {
    for (const { segment, offset, size } of slices) {
      const list = edges.get(segment) ?? [];
      list.push({ at: offset, change: 1, record }, { at: offset + size, change: -1, record });
      edges.set(segment, list);
    }
  }
  const pieces: Piece[] = [];
  const push = (piece: Piece): void => {
    const last = pieces.at(-1);
    const goesOn =
      last !== undefined &&
      last.kind === piece.kind &&
      last.label === piece.label &&
      last.offset + last.size === piece.offset &&
      String(last.records) === String(piece.records);
    if (goesOn) pieces[pieces.length - 1] = { ...last, size: last.size + piece.size };
    else if (piece.size > 0) pieces.push(piece);
  };
  let end = 0;
  for (const extent of info.extents.extents) {
    push({ kind: "padding", offset: end, size: extent.offset - end, records: [], label: "padding", hash: null });
    end = extent.offset + extent.size;
    const hash = extent.leaves?.xxh3_128 ?? null;
    const used = extent.segment === null ? undefined : edges.get(extent.segment);
    if (used === undefined) {
      const kind = EXTENT_KINDS[extent.kind] ?? "tables";
      push({ kind, offset: extent.offset, size: extent.size, records: [], label: EXTENT_LABELS[extent.kind] ?? extent.kind, hash });
      continue;
    }
    for (const piece of cut(used, extent.offset, end)) {
      const { length } = piece.records;
      const kind = length === 0 ? "padding" : length === 1 ? "own" : "shared";
      const label = length === 0 ? (EXTENT_LABELS[extent.kind] as string) : kind === "own" ? "own bytes" : "shared bytes";
      push({ ...piece, kind, label, hash });
    }
  }
  const tail = info.file_size - info.committed_end;
  push({ kind: "tail", offset: info.committed_end, size: tail, records: [], label: "tail of an unfinished append", hash: null });
  return pieces;
}

function* cut(edges: readonly Edge[], start: number, end: number): Generator<Pick<Piece, "offset" | "size" | "records">> {
  const open = new Map<number, number>();
  let at = start;
  const sorted = [...edges].sort((a, b) => a.at - b.at);
  for (const edge of [...sorted, { at: end, change: 1 as const, record: -1 }]) {
    if (edge.at > at) {
      yield { offset: at, size: edge.at - at, records: [...open.keys()].sort((a, b) => a - b) };
      at = edge.at;
    }
    const times = (open.get(edge.record) ?? 0) + edge.change;
    if (times === 0) open.delete(edge.record);
    else open.set(edge.record, times);
  }
}

/** Bytes that each two records both use, by their ids. */
export function pairsOf(pieces: readonly Piece[]): Map<number, Map<number, number>> {
  const pairs = new Map<number, Map<number, number>>();
  for (const piece of pieces) {
    for (const a of piece.records) {
      const row = pairs.get(a) ?? new Map<number, number>();
      for (const b of piece.records) row.set(b, (row.get(b) ?? 0) + piece.size);
      pairs.set(a, row);
    }
  }
  return pairs;
}
