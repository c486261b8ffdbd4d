// Section 5 of docs/format.md: the rows of all tables, and the rules that compare rows. The reader is strict: all of
// them are checked when a file is opened.
import { alignUp, compare, equal, inside, isZero, type Bytes, type Fields } from "./bytes.js";
import { refuse } from "./error.js";
import type { Hashes } from "./hash.js";
import { HEAD_START, type Place, type Prologue } from "./header.js";
import { LEAF_SIZE, LEAVES_IN_PAGE, LIMITS, NONE } from "./limits.js";
import { Names } from "./names.js";
import { rowsOf, type Toc } from "./toc.js";

export const SEGMENT_KINDS = ["", "payload", "packed", "leaves", "dead"] as const;
export type SegmentKind = "payload" | "packed" | "leaves" | "dead";

export interface Segment {
  readonly index: number;
  readonly kind: SegmentKind;
  readonly alignmentLog2: number;
  readonly hashAlgorithm: number;
  readonly offset: number;
  readonly size: number;
  readonly generation: bigint;
  readonly firstLeaf: number;
  readonly leavesSegment: number;
  readonly leavesHash: Bytes;
  readonly sha256: { firstLeaf: number; leavesSegment: number; leavesHash: Bytes } | null;
}

export const RECORD_TYPES = [
  "",
  "context_binary",
  "weight_blob",
  "tensor_table",
  "source_model",
  "wrapper_model",
  "description",
  "opaque",
] as const;
export const CONTEXT_BINARY = 1;
export const WEIGHT_BLOB = 2;
export const TENSOR_TABLE = 3;
export const WRAPPER_MODEL = 5;
export const DESCRIPTION = 6;
export const OPAQUE = 7;

export interface Slice {
  readonly segment: Segment;
  readonly offset: number;
  readonly size: number;
}

export interface RecordRow {
  readonly index: number;
  readonly id: number;
  readonly type: number;
  /** The word of the type, or `type N` for one that this reader does not know. */
  readonly typeName: string;
  readonly ignorable: boolean;
  readonly mustMap: boolean;
  readonly recipe: boolean;
  readonly codec: number;
  readonly alignmentLog2: number;
  readonly name: string;
  readonly slices: readonly Slice[];
  readonly logicalSize: number;
  readonly storedSize: number;
  readonly logicalHash: Bytes;
  readonly logicalSha256: Bytes | null;
  key: Key | null;
  /** What this record refers to. */
  references: Reference[];
  /** Tensor table of a weight blob. */
  tensorTable: RecordRow | null;
}

/** Major, minor, patch and build; all zero means that it is not stated. */
export type Version = readonly [number, number, number, number];

export interface Key {
  readonly recordId: number;
  readonly type: number;
  readonly generic: boolean;
  readonly group: string;
  readonly unit: string;
  readonly backend: string;
  readonly qnnSoc: number;
  readonly part: string;
  readonly arch: string;
  readonly features: string;
  readonly vtcmMb: number;
  readonly sdk: Version;
  readonly variant: string;
  readonly api: Version;
  readonly blob: Version;
}

export interface Reference {
  readonly from: RecordRow;
  readonly to: RecordRow;
  readonly kind: number;
  readonly boundHash: Bytes;
  readonly tableHash: Bytes;
}

export interface GenerationRow {
  readonly number: bigint;
  readonly tocOffset: number;
  readonly tocSize: number;
  readonly headSize: number;
  readonly committedEnd: number;
  readonly tocHash: Bytes;
  readonly tocSha256: Bytes;
}

export interface Tables {
  readonly segments: readonly Segment[];
  readonly records: readonly RecordRow[];
  readonly keys: readonly Key[];
  readonly references: readonly Reference[];
  readonly generations: readonly GenerationRow[];
}

interface Context {
  readonly toc: Toc;
  readonly prologue: Prologue;
  readonly place: Place;
  readonly names: Names;
  readonly hashes: Hashes;
}

/** Hashes that a leaf range of `leaves` leaves takes (5.1). */
export function rangeLength(leaves: number): number {
  if (leaves === 1) return 0;
  return leaves <= LEAVES_IN_PAGE ? leaves : leaves + Math.ceil(leaves / LEAVES_IN_PAGE);
}

export function leafCount(size: number): number {
  return Math.ceil(size / LEAF_SIZE);
}

export function parseTables(toc: Toc, prologue: Prologue, place: Place, hashes: Hashes): Tables {
  const names = new Names(toc.tables.names.bytes);
  const context: Context = { toc, prologue, place, names, hashes };
  const segments = parseSegments(context);
  checkExtents(segments, context);
  checkLeaves(segments, context);
  const { records, links } = parseRecords(segments, context);
  const keys = parseKeys(records, context);
  const references = parseReferences(records, context);
  checkLinks(records, links, keys, references);
  const generations = parseGenerations(context);
  checkNameIndex(records, context);
  if (prologue.roCompatFeatures === 0n) names.checkUse();
  return { segments, records, keys, references, generations };
}

function parseSegments({ toc, prologue, place }: Context): Segment[] {
  const digests = rowsOf(toc.tables.segmentDigests);
  const segments: Segment[] = [];
  const unitLog2 = Math.log2(prologue.form.unit);
  let index = 0;
  for (const row of rowsOf(toc.tables.segments)) {
    const where = `segment ${index}`;
    const kind = SEGMENT_KINDS[row.u16(0)];
    if (kind === undefined || kind === "") return refuse("F19", `${where} has the unknown kind ${row.u16(0)}`, "unsupported");
    const alignmentLog2 = row.u8(2);
    const least = kind === "dead" ? unitLog2 : prologue.extentLog2;
    if (![12, 16, 21].includes(alignmentLog2) || alignmentLog2 < least) {
      refuse("F21", `${where} has the alignment 2^${alignmentLog2}`);
    }
    const hashAlgorithm = row.u8(3);
    if (hashAlgorithm !== 1 && !(hashAlgorithm === 2 && kind === "leaves")) {
      refuse("F25", `${where} has the unknown hash algorithm ${hashAlgorithm}`, "unsupported");
    }
    if (row.u8(4) !== 16) refuse("F25", `${where} has leaves of 2^${row.u8(4)} bytes`, "unsupported");
    if (!prologue.newer && (!isZero(row.cut(5, 3)) || row.u32(44) !== 0)) refuse("F20", `reserved bytes of ${where} are not zero`);
    const offset = row.u64(8);
    const size = row.u64(16);
    if (size === 0 || size > LIMITS.segmentBytes) refuse("F22", `${where} has ${size} bytes`, "limit_exceeded");
    if (offset > LIMITS.committedEnd) refuse("F16", `${where} is behind the end`);
    if (offset % 2 ** alignmentLog2 !== 0) refuse("F21", `${where} is not aligned as it says`);
    const before = segments.at(-1);
    if (before !== undefined && before.offset >= offset) refuse("F15", `${where} is out of order`);
    const generation = row.big(24);
    if (generation === 0n || generation > place.generation) refuse("F37", `${where} is of generation ${generation}`);
    const leavesHash = row.cut(48, 16);
    if (kind === "dead") {
      if (!isZero(leavesHash)) refuse("F20", `${where} is DEAD and has a hash`);
      if (place.sealed) refuse("F36", `${where} is DEAD in a sealed file`);
    }
    const digest = toc.hasSha256 ? (digests.next().value as Fields) : null;
    segments.push({
      index: index++,
      kind,
      alignmentLog2,
      hashAlgorithm,
      offset,
      size,
      generation,
      firstLeaf: row.u64(32),
      leavesSegment: row.u32(40),
      leavesHash,
      sha256: digest === null ? null : parseSegmentDigest(digest, kind, size, where, prologue, place),
    });
  }
  return segments;
}

function parseSegmentDigest(
  row: Fields,
  kind: SegmentKind,
  size: number,
  where: string,
  prologue: Prologue,
  place: Place,
): Segment["sha256"] {
  const digest = { firstLeaf: row.u64(0), leavesSegment: row.u32(8), leavesHash: row.cut(16, 32) };
  if (!prologue.newer && row.u32(12) !== 0) refuse("F20", `reserved bytes in the digest of ${where} are not zero`);
  const none = isZero(digest.leavesHash);
  const hasBytes = kind === "payload" || kind === "packed";
  if (!hasBytes && !none) refuse("F44", `${where} has a digest and no bytes`);
  if (hasBytes && none && place.signature !== null) refuse("F44", `${where} has no SHA-256 in a signed table`);
  if ((digest.leavesSegment !== NONE) !== (!none && leafCount(size) > 1)) {
    refuse("F44", `the digest of ${where} and its leaf range do not fit together`);
  }
  if (digest.leavesSegment === NONE && digest.firstLeaf !== 0) refuse("F44", `the digest of ${where} has a first leaf and no range`);
  return none ? null : digest;
}

/** Segments and both copies of the TOC tile the file (F16, F17). */
function checkExtents(segments: readonly Segment[], { prologue, place }: Context): void {
  const { form } = prologue;
  const extents = [
    ...segments.map((segment) => ({
      offset: segment.offset,
      size: segment.size,
      alignment: 2 ** segment.alignmentLog2,
    })),
    ...place.tocOffset.map((offset) => ({ offset, size: place.tocSize, alignment: form.unit })),
  ].sort((a, b) => a.offset - b.offset);
  let end = form.headerSize;
  for (const { offset, size, alignment } of extents) {
    if (offset < end) refuse("F16", `the extent at ${offset} overlaps what is before it`);
    if (!inside(offset, size, place.committedEnd)) refuse("F16", `the extent at ${offset} is behind committed_end`);
    if (offset !== alignUp(end, alignment)) refuse("F17", `there is a gap before the extent at ${offset}`);
    end = offset + size;
  }
  if (end !== place.committedEnd) refuse("F17", `the last extent ends at ${end}, committed_end is ${place.committedEnd}`);
}

/** Leaf ranges are inside their LEAVES segments, in order, and fill them if nothing is DEAD (F26). */
function checkLeaves(segments: readonly Segment[], { toc }: Context): void {
  const anyDead = segments.some((segment) => segment.kind === "dead");
  // Hashes of each LEAVES segment that are taken, from its first one on.
  const taken = new Map<Segment, number>();
  for (const segment of segments) {
    if (segment.kind === "leaves") {
      taken.set(segment, 0);
      const hashSize = segment.hashAlgorithm === 2 ? 32 : 16;
      if (segment.size % hashSize !== 0) refuse("F26", `segment ${segment.index} ends inside a leaf hash`);
    }
  }
  const take = (segment: Segment, leavesSegment: number, firstLeaf: number, algorithm: number): void => {
    const leaves = segments[leavesSegment];
    if (leaves === undefined || leaves.kind !== "leaves" || leaves.hashAlgorithm !== algorithm) {
      return refuse("F26", `segment ${segment.index} names no LEAVES segment of its algorithm`);
    }
    const length = rangeLength(leafCount(segment.size));
    const before = taken.get(leaves) as number;
    const fits = inside(firstLeaf, length, leaves.size / (algorithm === 2 ? 32 : 16));
    if (!fits || firstLeaf < before || (!anyDead && firstLeaf !== before)) {
      refuse("F26", `the leaf range of segment ${segment.index} is not where it may be`);
    }
    taken.set(leaves, firstLeaf + length);
  };
  for (const segment of segments) {
    const hasRange = (segment.kind === "payload" || segment.kind === "packed") && leafCount(segment.size) > 1;
    if (hasRange) {
      take(segment, segment.leavesSegment, segment.firstLeaf, 1);
    } else if (segment.leavesSegment !== NONE || segment.firstLeaf !== 0) {
      refuse("F26", `segment ${segment.index} has no leaf range and names one`);
    }
    if (toc.hasSha256 && segment.sha256 !== null && segment.sha256.leavesSegment !== NONE) {
      take(segment, segment.sha256.leavesSegment, segment.sha256.firstLeaf, 2);
    }
  }
  if (anyDead) return;
  for (const [leaves, end] of taken) {
    if (end * (leaves.hashAlgorithm === 2 ? 32 : 16) !== leaves.size) {
      refuse("F26", `the leaf ranges do not fill segment ${leaves.index}`);
    }
  }
}

interface Links {
  readonly key: number;
  readonly link: number;
}

function parseSlices(segments: readonly Segment[], { toc, prologue }: Context): Slice[] {
  const slices: Slice[] = [];
  for (const row of rowsOf(toc.tables.slices)) {
    const segment = segments[row.u32(0)];
    const where = `slice ${slices.length}`;
    if (segment === undefined || (segment.kind !== "payload" && segment.kind !== "packed")) {
      return refuse("F38", `${where} is of no payload or packed segment`);
    }
    if (!prologue.newer && row.u32(4) !== 0) refuse("F20", `reserved bytes of ${where} are not zero`);
    const offset = row.u64(8);
    const size = row.u64(16);
    if (size === 0 || !inside(offset, size, segment.size)) refuse("F38", `${where} is not inside its segment`);
    slices.push({ segment, offset, size });
  }
  return slices;
}

function parseRecords(segments: readonly Segment[], context: Context): { records: RecordRow[]; links: Links[] } {
  const { toc, names } = context;
  const slices = parseSlices(segments, context);
  const digests = rowsOf(toc.tables.recordDigests);
  const records: RecordRow[] = [];
  const links: Links[] = [];
  let firstSlice = 0;
  for (const row of rowsOf(toc.tables.records)) {
    const id = row.u32(0);
    if (id === 0 || id <= (records.at(-1)?.id ?? 0)) refuse("F18", `record id ${id} is zero or not above the one before`);
    if (row.u32(20) !== firstSlice) refuse("F15", `the slices of record ${id} do not follow those before`);
    const count = row.u32(24);
    if (count > slices.length - firstSlice) refuse("F38", `the slices of record ${id} go beyond the table`);
    const type = row.u16(4);
    const flags = row.u16(6);
    const digest = toc.hasSha256 ? (digests.next().value as Fields).cut(0, 32) : null;
    const record: RecordRow = {
      index: records.length,
      id,
      type,
      typeName: RECORD_TYPES[type] || `type ${type}`,
      ignorable: (flags & 1) !== 0,
      mustMap: (flags & 2) !== 0,
      recipe: (flags & 4) !== 0,
      codec: row.u8(8),
      alignmentLog2: row.u8(9),
      name: names.plain(row.u32(12)),
      slices: slices.slice(firstSlice, firstSlice + count),
      logicalSize: row.u64(32),
      storedSize: row.u64(40),
      logicalHash: row.cut(48, 16),
      logicalSha256: digest === null || isZero(digest) ? null : digest,
      key: null,
      references: [],
      tensorTable: null,
    };
    const reserved = (flags & ~7) !== 0 || row.u16(10) !== 0;
    if (!context.prologue.newer && reserved) refuse("F20", `unknown flags or reserved bytes of record ${id}`);
    checkRecord(record, context);
    firstSlice += count;
    records.push(record);
    links.push({ key: row.u32(16), link: row.u32(28) });
  }
  if (firstSlice !== slices.length) refuse("F15", "there are slices of no record");
  const used = new Set(slices.map((slice) => slice.segment));
  for (const segment of segments) {
    if ((segment.kind === "payload" || segment.kind === "packed") && !used.has(segment)) {
      refuse("F38", `nothing uses segment ${segment.index}`);
    }
  }
  if (new Set(records.map((record) => record.name)).size !== records.length) refuse("F28", "two records have one name");
  if (records.filter((record) => record.type === DESCRIPTION).length !== 1) {
    refuse("F31", "there is not exactly one description");
  }
  return { records, links };
}

function checkRecord(record: RecordRow, { prologue, place, toc }: Context): void {
  const { name, type, logicalSize, storedSize, slices, codec } = record;
  if (name === "") refuse("F29", `record ${record.id} has no name`);
  if ((type < 1 || type > 7) && !record.ignorable) {
    refuse("F19", `${name} has the type ${type}, which this reader must know and does not`, "unsupported");
  }
  if (codec > 1 && !record.ignorable) refuse("F25", `${name} has the unknown codec ${codec}`, "unsupported");
  if (logicalSize > LIMITS.committedEnd || storedSize > LIMITS.committedEnd) refuse("F22", `the size of ${name} is above its limit`, "limit_exceeded");
  if (slices.reduce((sum, slice) => sum + slice.size, 0) !== storedSize) refuse("F38", `the slices of ${name} do not add up to its size`);
  if (codec === 0 && !record.recipe && storedSize !== logicalSize) {
    refuse("F22", `${name} has other sizes stored and logical`);
  }
  const empty = logicalSize === 0 || slices.length === 0;
  if (empty && (type !== OPAQUE || logicalSize !== 0 || slices.length !== 0)) {
    refuse("F22", `${name} is empty in part, or must not be empty`);
  }
  const readInPlace = type === CONTEXT_BINARY || type === WEIGHT_BLOB || type === TENSOR_TABLE || type === WRAPPER_MODEL;
  if ((record.mustMap && codec !== 0) || (readInPlace && !record.recipe && codec === 1)) {
    refuse("F23", `${name} must map and has a codec`);
  }
  if (codec !== 0 && !record.recipe) {
    const most = Math.min(LIMITS.codecBytes, LIMITS.codecExpansion * storedSize + LIMITS.codecExtra);
    if (logicalSize > most) refuse("F24", `${name} expands to ${logicalSize} bytes; at most ${most}`, "limit_exceeded");
  }
  if (type === DESCRIPTION && logicalSize > LIMITS.descriptionBytes) {
    refuse("F32", `the description has ${logicalSize} bytes`, "limit_exceeded");
  }
  if (record.alignmentLog2 >= 48) refuse("F21", `${name} has the alignment 2^${record.alignmentLog2}`);
  const first = slices[0];
  if (first !== undefined && (first.segment.offset + first.offset) % 2 ** record.alignmentLog2 !== 0) {
    refuse("F21", `${name} is not aligned as it says`);
  }
  if (record.recipe) {
    checkRecipeRow(record);
  } else if (slices.length > 1) {
    const granule = 2 ** prologue.granuleLog2;
    slices.forEach((slice, i) => {
      const last = i === slices.length - 1;
      if (slice.offset % granule !== 0 || (!last && slice.size % granule !== 0)) {
        refuse("F38", `slice ${i} of ${name} is not a multiple of the granule`);
      }
    });
  }
  if (place.signature !== null && toc.hasSha256 && record.logicalSha256 === null) {
    refuse("F44", `${name} has no SHA-256 in a signed table`);
  }
}

function checkRecipeRow(record: RecordRow): void {
  const [program, ...sources] = record.slices;
  if (program === undefined || program.segment.kind !== "packed") {
    return refuse("F39", `the program of ${record.name} is not in a packed segment`);
  }
  let before = -1;
  for (const { segment, offset, size } of sources) {
    if (segment.kind !== "payload" || offset !== 0 || size !== segment.size || segment.index <= before) {
      refuse("F39", `a source of ${record.name} is not a whole payload segment in its order`);
    }
    before = segment.index;
  }
}

function versionOf(row: Fields, at: number): Version {
  return [row.u16(at), row.u16(at + 2), row.u32(at + 4), row.u32(at + 8)];
}

const NAME_FIELDS = { group: 8, unit: 12, backend: 16, part: 24, arch: 28, features: 32, variant: 52 } as const;

function parseKeys(records: readonly RecordRow[], { toc, names, prologue }: Context): Key[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  const keys: Key[] = [];
  let before: (number | Bytes)[] | null = null;
  for (const row of rowsOf(toc.tables.keys)) {
    const recordId = row.u32(0);
    const where = `the key of record ${recordId}`;
    const record = byId.get(recordId);
    if (record === undefined) return refuse("F37", `${where} has no record`);
    if (record.key !== null) refuse("F28", `record ${recordId} has two keys`);
    if (row.u16(4) !== record.type) refuse("F37", `${where} has another type`);
    const flags = row.u16(6);
    if (!prologue.newer && (flags & ~1) !== 0) refuse("F20", `${where} has unknown flags`);
    const text = Object.fromEntries(
      Object.entries(NAME_FIELDS).map(([field, at]) => [field, names.plain(row.u32(at))]),
    ) as Record<keyof typeof NAME_FIELDS, string>;
    const key: Key = {
      recordId,
      type: record.type,
      generic: (flags & 1) !== 0,
      ...text,
      qnnSoc: row.u32(20),
      vtcmMb: row.u32(36),
      sdk: versionOf(row, 40),
      api: versionOf(row, 56),
      blob: versionOf(row, 68),
    };
    checkFeatures(names.bytesAt(row.u32(32)), where);
    const raw = (field: keyof typeof NAME_FIELDS) => names.bytesAt(row.u32(NAME_FIELDS[field]));
    const place = [
      key.type, raw("group"), raw("unit"), raw("backend"), key.qnnSoc, raw("part"), raw("arch"), raw("features"),
      key.vtcmMb, ...key.sdk, raw("variant"),
    ];
    if (before !== null) {
      const order = comparePlaces(before, place);
      if (order === 0) refuse("F28", `${where} is equal to another one`);
      if (order > 0) refuse("F15", `${where} is out of order`);
    }
    before = place;
    record.key = key;
    keys.push(key);
  }
  const description = records.find((record) => record.type === DESCRIPTION) as RecordRow;
  if (description.key === null) refuse("F31", "the description has no key");
  return keys;
}

function comparePlaces(a: readonly (number | Bytes)[], b: readonly (number | Bytes)[]): number {
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as number | Bytes;
    const y = b[i] as number | Bytes;
    const order = typeof x === "number" ? x - (y as number) : compare(x, y as Bytes);
    if (order !== 0) return order;
  }
  return 0;
}

/** Feature words are sorted, unique and not empty (F15). */
function checkFeatures(features: Bytes, where: string): void {
  if (features.length === 0) return;
  let start = 0;
  let before: Bytes | null = null;
  for (let i = 0; i <= features.length; i++) {
    if (i < features.length && features[i] !== 0x2c) continue;
    const word = features.subarray(start, i);
    if (word.length === 0 || (before !== null && compare(before, word) >= 0)) {
      refuse("F15", `the features of ${where} are not sorted, unique and not empty`);
    }
    before = word;
    start = i + 1;
  }
}

const KIND_USES = 1;
const KIND_DESCRIBES = 2;

function parseReferences(records: readonly RecordRow[], { toc, prologue }: Context): Reference[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  const references: Reference[] = [];
  let before: number[] | null = null;
  for (const row of rowsOf(toc.tables.references)) {
    const place = [row.u32(0), row.u16(8), row.u16(10), row.u32(4)];
    const [fromId, kind, role, toId] = place as [number, number, number, number];
    const where = `the reference from record ${fromId} to ${toId}`;
    if (role !== 0) refuse("F20", `${where} has the role ${role}`);
    if (!prologue.newer && row.u32(12) !== 0) refuse("F20", `reserved bytes of ${where} are not zero`);
    if (before !== null && comparePlaces(before, place) >= 0) refuse("F15", `${where} is out of order`);
    before = place;
    const from = byId.get(fromId);
    const to = byId.get(toId);
    if (from === undefined || to === undefined) return refuse("F27", `${where} has no record at one end`, "bad_reference");
    const fromType = kind === KIND_USES ? CONTEXT_BINARY : kind === KIND_DESCRIBES ? TENSOR_TABLE : -1;
    if (from.type !== fromType || to.type !== WEIGHT_BLOB) refuse("F27", `${where} is not allowed`, "bad_reference");
    const boundHash = row.cut(16, 16);
    if (!equal(boundHash, to.logicalHash)) refuse("F27", `${where} is bound to other weights`, "bad_reference");
    const tableHash = row.cut(32, 16);
    if (kind === KIND_USES && !isZero(tableHash)) refuse("F20", `${where} has the hash of a table`);
    const reference: Reference = { from, to, kind, boundHash, tableHash };
    from.references.push(reference);
    if (kind === KIND_DESCRIBES) {
      if (to.tensorTable !== null) refuse("F27", `${to.name} has two tensor tables`, "bad_reference");
      to.tensorTable = from;
    }
    references.push(reference);
  }
  for (const record of records) {
    if (record.type === TENSOR_TABLE && record.references.length !== 1) {
      refuse("F27", `the tensor table ${record.name} describes not exactly one blob`, "bad_reference");
    }
  }
  return references;
}

/** `key` and `link` of records say what the other tables say (F45). */
function checkLinks(
  records: readonly RecordRow[],
  links: readonly Links[],
  keys: readonly Key[],
  references: readonly Reference[],
): void {
  const keyIndex = new Map(keys.map((key, i) => [key.recordId, i]));
  const firstReference = new Map<RecordRow, number>();
  references.forEach((reference, i) => {
    if (!firstReference.has(reference.from)) firstReference.set(reference.from, i);
  });
  records.forEach((record, i) => {
    if ((links[i] as Links).key !== (keyIndex.get(record.id) ?? NONE)) {
      refuse("F45", `the key of ${record.name} is not what the table of keys says`);
    }
    const link = record.type === WEIGHT_BLOB ? record.tensorTable?.index : firstReference.get(record);
    if ((links[i] as Links).link !== (link ?? NONE)) refuse("F45", `the link of ${record.name} is not what the tables say`);
  });
}

function parseGenerations({ toc, prologue, place }: Context): GenerationRow[] {
  const generations: GenerationRow[] = [];
  for (const row of rowsOf(toc.tables.generations)) {
    const generation: GenerationRow = {
      number: row.big(0),
      tocOffset: row.u64(8),
      tocSize: row.u64(16),
      headSize: row.u64(24),
      committedEnd: row.u64(32),
      tocHash: row.cut(40, 16),
      tocSha256: row.cut(56, 32),
    };
    const { number, tocOffset, tocSize, headSize, committedEnd } = generation;
    if (number <= (generations.at(-1)?.number ?? 0n) || number >= place.generation) {
      refuse("F15", `generation ${number} is out of order`);
    }
    const placed =
      tocOffset >= prologue.form.headerSize &&
      tocSize <= LIMITS.tocBytes &&
      committedEnd <= place.committedEnd &&
      inside(tocOffset, tocSize, committedEnd) &&
      headSize > HEAD_START &&
      headSize < tocSize;
    if (!placed) refuse("F11", `the table of generation ${number} is not where it may be`);
    generations.push(generation);
  }
  return generations;
}

function checkNameIndex(records: readonly RecordRow[], { toc, hashes }: Context): void {
  const encoder = new TextEncoder();
  let before = [-1, -1];
  for (const row of rowsOf(toc.tables.nameIndex)) {
    const place = [row.u32(0), row.u32(4)];
    const [hash, index] = place as [number, number];
    if (comparePlaces(before, place) >= 0) refuse("F45", "the name index is out of order");
    before = place;
    const record = records[index];
    if (record === undefined || hashes.nameHash(encoder.encode(record.name)) !== hash) {
      refuse("F45", "a row of the name index has not the hash of its record's name");
    }
  }
  // Rows are as many as records. Equal records would have equal hashes and be equal rows, which the order forbids.
}
