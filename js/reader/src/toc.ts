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
  const found = findings.length;
  const copy = async (index: 0 | 1): Promise<Bytes> =>
    (copies[index] ??= await source.read(place.tocOffset[index], place.tocSize));

  const headOf = async (index: 0 | 1) => (await copy(index)).subarray(0, place.headSize);
  let head = await headOf(0);
  if (!equal(hashes.hash(head), place.tocHash)) {
    head = await headOf(1);
    if (!equal(hashes.hash(head), place.tocHash)) {
      refuse("F13", "the head of neither copy of the TOC matches its hash", "checksum_mismatch");
    }
    reportCopy(0, reading, found);
  }
  await reading.judge?.(head);
  const { hasSha256, directory } = parseHead(head, reading);
  const pages = new Pages(head, hasSha256, reading);
  const body = await readBody(pages, copy, reading, found);
  if (findings.length > found) {
    // A strict reader that needs copy 1 looks at all of it.
    const second = await copy(1);
    if (!equal(second.subarray(0, place.headSize), head) || !pages.allMatch(second)) reportCopy(1, reading, found);
  }

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
    const longer = prologue.newer && name !== "names" && entrySize > size && entrySize <= LIMITS.entryBytes;
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

/** Reports a damaged copy once, however much of it is damaged. `found` is where the findings of this TOC begin. */
function reportCopy(index: 0 | 1, { place, findings }: TocReading, found: number): void {
  const what = `TOC copy ${index} is damaged`;
  if (findings.slice(found).some((finding) => finding.what === what)) return;
  findings.push({ what, offset: place.tocOffset[index] });
}

/** The pages of a body, as the hashes in its head say. */
class Pages {
  readonly count: number;

  constructor(
    private readonly head: Bytes,
    private readonly hasSha256: boolean,
    private readonly reading: TocReading,
  ) {
    this.count = pageCount(reading.place.tocSize, reading.place.headSize);
  }

  of(toc: Bytes, index: number): Bytes {
    const { headSize, tocSize } = this.reading.place;
    const start = headSize + index * PAGE_SIZE;
    return toc.subarray(start, Math.min(start + PAGE_SIZE, tocSize));
  }

  matches(page: Bytes, index: number): boolean {
    const { hashes, sha256 } = this.reading;
    const hash = this.head.subarray(HEAD_START + HASH_SIZE * index).subarray(0, HASH_SIZE);
    if (!equal(hashes.hash(page), hash)) return false;
    if (!sha256 || !this.hasSha256) return true;
    const sha = this.head.subarray(HEAD_START + HASH_SIZE * this.count + SHA256_SIZE * index).subarray(0, SHA256_SIZE);
    return equal(hashes.sha256(page), sha);
  }

  allMatch(toc: Bytes): boolean {
    for (let i = 0; i < this.count; i++) {
      if (!this.matches(this.of(toc, i), i)) return false;
    }
    return true;
  }
}

async function readBody(
  pages: Pages,
  copy: (index: 0 | 1) => Promise<Bytes>,
  reading: TocReading,
  found: number,
): Promise<Bytes> {
  const body = new Uint8Array(reading.place.tocSize - reading.place.headSize);
  for (let i = 0; i < pages.count; i++) {
    let page = pages.of(await copy(0), i);
    if (!pages.matches(page, i)) {
      reportCopy(0, reading, found);
      page = pages.of(await copy(1), i);
      if (!pages.matches(page, i)) refuse("F13", `page ${i} of the TOC matches its hash in neither copy`, "checksum_mismatch");
    }
    body.set(page, i * PAGE_SIZE);
  }
  return body;
}
