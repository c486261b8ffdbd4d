// Section 4 of docs/format.md: head, directory and pages of the table of contents. Every page is compared with its hash
// before a byte of it is used; a page that does not match comes from the other copy.
import { Fields, equal, isZero, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import { HASH_SIZE, SHA256_SIZE, type Hashes } from "./hash.js";
import { HEAD_START, pageCount, type Finding, type Place, type Prologue } from "./header.js";
import { LIMITS, PAGE_SIZE } from "./limits.js";
import type { Source } from "./source.js";

const MAGIC = Uint8Array.of(0x43, 0x54, 0x58, 0x54);
const HEADER_SIZE = 64;
const DIRECTORY_ENTRY = 24;
const HAS_SHA256 = 1;

/** The tables in their order, with the size of an entry and the most entries. */
const TABLES = [
  ["segments", 64, LIMITS.segments],
  ["records", 64, LIMITS.records],
  ["slices", 24, LIMITS.slices],
  ["keys", 80, LIMITS.keys],
  ["references", 48, LIMITS.references],
  ["generations", 88, LIMITS.generations],
  ["recordDigests", 32, LIMITS.records],
  ["segmentDigests", 48, LIMITS.segments],
  ["nameIndex", 8, LIMITS.records],
  ["names", 1, LIMITS.tocBytes],
] as const;

export type TableName = (typeof TABLES)[number][0];

export interface Table {
  readonly bytes: Bytes;
  readonly count: number;
  readonly entrySize: number;
}

export interface Toc {
  readonly head: Bytes;
  readonly hasSha256: boolean;
  readonly tables: Readonly<Record<TableName, Table>>;
}

/** The rows of a table, each as the fields of its struct. */
export function* rowsOf(table: Table): Generator<Fields> {
  for (let i = 0; i < table.count; i++) {
    yield new Fields(table.bytes.subarray(i * table.entrySize, (i + 1) * table.entrySize));
  }
}

export interface TocReading {
  readonly source: Source;
  readonly hashes: Hashes;
  readonly prologue: Prologue;
  readonly place: Place;
  readonly findings: Finding[];
  /** Compare SHA-256 of the pages too: with trusted keys, and by verify. */
  readonly sha256: boolean;
  /** Called with the head before anything in it is believed: the check of a signature. */
  readonly judge?: (head: Bytes) => Promise<void>;
}

export async function readToc(reading: TocReading): Promise<Toc> {
  const { source, place, hashes, findings } = reading;
  const copies: (Bytes | undefined)[] = [];
  const copy = async (index: 0 | 1): Promise<Bytes> =>
    (copies[index] ??= await source.read(place.tocOffset[index], place.tocSize));

  const headOf = async (index: 0 | 1) => (await copy(index)).subarray(0, place.headSize);
  let head = await headOf(0);
  if (!equal(hashes.hash(head), place.tocHash)) {
    head = await headOf(1);
    if (!equal(hashes.hash(head), place.tocHash)) {
      refuse("F13", "the head of neither copy of the TOC matches its hash", "checksum_mismatch");
    }
    findings.push({ what: "the head of TOC copy 0 is damaged", offset: place.tocOffset[0] });
  }
  await reading.judge?.(head);
  const { hasSha256, directory } = parseHead(head, reading);
  const body = await readBody(head, hasSha256, copy, reading);

  const tables = {} as Record<TableName, Table>;
  TABLES.forEach(([name], i) => {
    const { offset, count, entrySize } = directory[i] as DirectoryEntry;
    const start = offset - place.headSize;
    tables[name] = { bytes: body.subarray(start, start + count * entrySize), count, entrySize };
  });
  return { head, hasSha256, tables };
}

interface DirectoryEntry {
  offset: number;
  count: number;
  entrySize: number;
}

function parseHead(head: Bytes, reading: TocReading): { hasSha256: boolean; directory: DirectoryEntry[] } {
  const { place, prologue } = reading;
  const fields = new Fields(head);
  if (!equal(fields.cut(0, 4), MAGIC)) refuse("F12", "the TOC does not begin with its magic");
  if (fields.u32(4) !== TABLES.length) refuse("F40", `the TOC has ${fields.u32(4)} tables; it must have 10`);
  if (!equal(fields.cut(8, 16), prologue.uuid)) refuse("F37", "the uuid of the TOC is not that of the prologue");
  if (fields.big(24) !== place.generation) refuse("F37", "the generation of the TOC is not that of its slot");
  if (fields.u64(32) !== place.tocSize || fields.u64(40) !== place.headSize) {
    refuse("F12", "the sizes in the TOC are not those of its slot");
  }
  const pages = pageCount(place.tocSize, place.headSize);
  if (fields.u32(48) !== pages) refuse("F12", `the TOC says ${fields.u32(48)} pages and has ${pages}`);
  const flags = fields.u32(52);
  const hasSha256 = (flags & HAS_SHA256) !== 0;
  if (!prologue.newer && ((flags & ~HAS_SHA256) !== 0 || !isZero(fields.cut(56, 8)))) {
    refuse("F20", "unknown flags or reserved bytes in the header of the TOC");
  }
  if (place.headSize !== HEAD_START + (hasSha256 ? 48 : 16) * pages) {
    refuse("F12", "the head of the TOC has not the size that its flags ask for");
  }
  if (place.signature !== null && !hasSha256) refuse("F44", "the TOC is signed and has no SHA-256 of its pages");
  return { hasSha256, directory: parseDirectory(fields, hasSha256, reading) };
}

function parseDirectory(fields: Fields, hasSha256: boolean, { place, prologue }: TocReading): DirectoryEntry[] {
  const directory: DirectoryEntry[] = [];
  let next = place.headSize;
  TABLES.forEach(([name, size, limit], i) => {
    const at = HEADER_SIZE + i * DIRECTORY_ENTRY;
    const offset = fields.u64(at);
    const count = fields.u64(at + 8);
    const entrySize = fields.u32(at + 16);
    if (!prologue.newer && fields.u32(at + 20) !== 0) refuse("F20", "reserved bytes in the directory are not zero");
    if (count > limit) refuse("F12", `${count} ${name}; at most ${limit}`, "limit_exceeded");
    if (entrySize > LIMITS.entryBytes) refuse("F12", `entries of ${name} have ${entrySize} bytes`, "limit_exceeded");
    const longer = prologue.newer && name !== "names" && entrySize > size;
    if (entrySize !== size && !longer) refuse("F12", `entries of ${name} have ${entrySize} bytes; they must have ${size}`);
    if (offset !== next) refuse("F40", `the table of ${name} does not follow the one before it`);
    next = offset + count * entrySize;
    if (next > place.tocSize) refuse("F12", `the table of ${name} ends behind the TOC`);
    directory.push({ offset, count, entrySize });
  });
  if (next !== place.tocSize) refuse("F12", "the TOC is larger than its head and its tables");
  const countOf = (name: TableName) => (directory[TABLES.findIndex((table) => table[0] === name)] as DirectoryEntry).count;
  for (const [digests, table] of [["recordDigests", "records"], ["segmentDigests", "segments"]] as const) {
    // A table without rows has all its digests in any case.
    const wanted = hasSha256 ? countOf(table) : 0;
    if (countOf(digests) !== wanted) refuse("F44", `${countOf(digests)} digests of ${table}; there must be ${wanted}`);
  }
  if (countOf("nameIndex") !== countOf("records")) refuse("F45", "the name index has not one row for each record");
  return directory;
}

async function readBody(
  head: Bytes,
  hasSha256: boolean,
  copy: (index: 0 | 1) => Promise<Bytes>,
  { place, hashes, findings, sha256 }: TocReading,
): Promise<Bytes> {
  const pages = pageCount(place.tocSize, place.headSize);
  const compareSha = sha256 && hasSha256;
  const matches = (page: Bytes, index: number): boolean => {
    const hash = head.subarray(HEAD_START + HASH_SIZE * index).subarray(0, HASH_SIZE);
    if (!equal(hashes.hash(page), hash)) return false;
    if (!compareSha) return true;
    const sha = head.subarray(HEAD_START + HASH_SIZE * pages + SHA256_SIZE * index).subarray(0, SHA256_SIZE);
    return equal(hashes.sha256(page), sha);
  };
  const pageOf = async (index: 0 | 1, page: number): Promise<Bytes> => {
    const start = place.headSize + page * PAGE_SIZE;
    return (await copy(index)).subarray(start, Math.min(start + PAGE_SIZE, place.tocSize));
  };
  const body = new Uint8Array(place.tocSize - place.headSize);
  for (let i = 0; i < pages; i++) {
    let page = await pageOf(0, i);
    if (!matches(page, i)) {
      findings.push({ what: `page ${i} of TOC copy 0 is damaged`, offset: place.tocOffset[0] });
      page = await pageOf(1, i);
      if (!matches(page, i)) refuse("F13", `page ${i} of the TOC matches its hash in neither copy`, "checksum_mismatch");
    }
    body.set(page, i * PAGE_SIZE);
  }
  return body;
}
