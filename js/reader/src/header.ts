// Section 3 of docs/format.md: prologue and slots, and which generation they open.
import { Fields, equal, inside, isZero, toHex, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import { Hashes } from "./hash.js";
import { LIMITS, PAGE_SIZE } from "./limits.js";
import type { Source } from "./source.js";

const STRUCT_SIZE = 512;
const HASHED = 496;
const SMALL_HEADER = 16384;
const LARGE_HEADER = 65536;
const MAGIC = Uint8Array.of(0x89, 0x43, 0x54, 0x58, 0x0d, 0x0a, 0x1a, 0x0a);
const SLOT_MAGIC = Uint8Array.of(0x43, 0x54, 0x58, 0x53);
const SEALED = 1;
const VOID = 2;
/** Bytes of the head of a TOC in front of its page hashes. */
export const HEAD_START = 304;

export interface Form {
  readonly headerSize: number;
  readonly unit: number;
  readonly secondPrologue: number;
  /** Places of A0, B0, A1, B1. */
  readonly slots: readonly number[];
}

const SMALL: Form = { headerSize: SMALL_HEADER, unit: 4096, secondPrologue: 0x1000, slots: [0x800, 0x1800, 0x2800, 0x3800] };
const LARGE: Form = {
  headerSize: LARGE_HEADER,
  unit: 65536,
  secondPrologue: 0x8000,
  slots: [0x1000, 0x4000, 0x9000, 0xc000],
};

export interface Prologue {
  readonly extentLog2: number;
  readonly granuleLog2: number;
  readonly compatFeatures: bigint;
  readonly roCompatFeatures: bigint;
  readonly uuid: Bytes;
  readonly form: Form;
  readonly minorVersion: number;
  /** An unknown compat or ro_compat bit is set: reserved bytes may hold anything (10.1). */
  readonly newer: boolean;
}

/** Where the TOC of a generation is. */
export interface Place {
  readonly generation: bigint;
  readonly committedEnd: number;
  readonly tocOffset: readonly [number, number];
  readonly tocSize: number;
  readonly headSize: number;
  readonly tocHash: Bytes;
  readonly sealed: boolean;
  readonly signature: SlotSignature | null;
}

export interface SlotSignature {
  readonly tocSha256: Bytes;
  readonly previousTocSha256: Bytes;
  readonly keyId: Bytes;
  readonly signature: Bytes;
}

interface Slot extends Place {
  readonly isVoid: boolean;
  /** Everything but `slot_index` and `page_hash`. */
  readonly body: Bytes;
}

export interface Header {
  readonly prologue: Prologue;
  /** The generation that opens. */
  readonly live: Place;
  /** The good slot of the other pair, if it is not VOID. */
  readonly previous: Place | null;
  readonly bytes: Bytes;
}

/** A finding is something that was repaired while reading: the file opens, and somebody should know. */
export interface Finding {
  readonly what: string;
  readonly offset: number;
}

function isGoodPrologue(copy: Bytes, hashes: Hashes): boolean {
  return equal(copy.subarray(0, 8), MAGIC) && equal(hashes.hash(copy.subarray(0, HASHED)), copy.subarray(HASHED));
}

/** Finds the good copy of the prologue. The order of places matters: payload of a small file may look like a copy. */
function goodPrologue(bytes: Bytes, hashes: Hashes, findings: Finding[]): { copy: Bytes; form: Form } {
  const at = (place: number) => bytes.subarray(place, place + STRUCT_SIZE);
  const formOf = (copy: Bytes): Form => {
    const major = new Fields(copy).u16(8);
    if (major !== 1) refuse("F1", `major version ${major}; this reader knows 1`, "unsupported");
    const log2 = copy[12] as number;
    if (log2 === 12) return SMALL;
    if (log2 === 16 || log2 === 21) return LARGE;
    return refuse("F4", `extent_log2 is ${log2}; it must be 12, 16 or 21`);
  };
  const first = at(0);
  if (isGoodPrologue(first, hashes)) {
    const form = formOf(first);
    const second = at(form.secondPrologue);
    if (second.length < STRUCT_SIZE) refuse("F1", "the file ends inside its header", "truncated");
    if (!isGoodPrologue(second, hashes)) {
      findings.push({ what: "prologue copy 1 is damaged", offset: form.secondPrologue });
    } else if (!equal(first, second)) {
      refuse("F2", "the two copies of the prologue differ");
    }
    return { copy: first, form };
  }
  for (const form of [SMALL, LARGE]) {
    const copy = at(form.secondPrologue);
    if (copy.length < STRUCT_SIZE || !isGoodPrologue(copy, hashes)) continue;
    if (formOf(copy) !== form) refuse("F4", "a copy of the prologue is not at a place of its form");
    findings.push({ what: "prologue copy 0 is damaged", offset: 0 });
    return { copy, form };
  }
  const anyMagic = [0, 0x1000, 0x8000].some((place) => equal(at(place).subarray(0, 8), MAGIC));
  if (!anyMagic) refuse("F1", "not a fatctx container: no copy of the prologue has the magic", "bad_magic");
  return refuse("F2", "no copy of the prologue matches its hash", "checksum_mismatch");
}

function parsePrologue(copy: Bytes, form: Form): Prologue {
  const fields = new Fields(copy);
  const incompat = fields.big(16);
  if (incompat !== 0n) refuse("F3", `unknown incompatible feature bits ${incompat.toString(16)}`, "unsupported");
  const extentLog2 = fields.u8(12);
  const granuleLog2 = fields.u8(13);
  if (![12, 14, 16].includes(granuleLog2) || granuleLog2 > extentLog2) {
    refuse("F4", `granule_log2 is ${granuleLog2}; it must be 12, 14 or 16, and at most extent_log2, ${extentLog2}`);
  }
  const uuid = fields.cut(40, 16);
  if (isZero(uuid)) refuse("F5", "the uuid is zero");
  const compatFeatures = fields.big(32);
  const roCompatFeatures = fields.big(24);
  const newer = compatFeatures !== 0n || roCompatFeatures !== 0n;
  if (!newer && (fields.u16(14) !== 0 || !isZero(fields.cut(56, 440)))) {
    refuse("F20", "reserved bytes of the prologue are not zero");
  }
  return { extentLog2, granuleLog2, compatFeatures, roCompatFeatures, uuid, form, minorVersion: fields.u16(10), newer };
}

async function goodSlot(bytes: Bytes, index: number, prologue: Prologue, hashes: Hashes): Promise<Slot | null> {
  const copy = bytes.subarray(prologue.form.slots[index] as number).subarray(0, STRUCT_SIZE);
  if (!equal(copy.subarray(0, 4), SLOT_MAGIC)) return null;
  const seed = hashes.hash64(Uint8Array.of(...prologue.uuid, index));
  if (!equal(await Hashes.seeded(seed, copy.subarray(0, HASHED)), copy.subarray(HASHED))) return null;
  return parseSlot(copy, index, prologue);
}

function parseSlot(copy: Bytes, index: number, prologue: Prologue): Slot {
  const fields = new Fields(copy);
  const name = ["A0", "B0", "A1", "B1"][index] as string;
  if (fields.u8(4) !== index) refuse("F6", `slot ${name} has the index ${fields.u8(4)}`);
  if (!equal(fields.cut(8, 16), prologue.uuid)) refuse("F7", `the uuid of slot ${name} is not that of the prologue`);
  const flags = fields.u8(5);
  if (!prologue.newer) {
    if ((flags & ~(SEALED | VOID)) !== 0) refuse("F20", `slot ${name} has unknown flags ${flags}`);
    if (fields.u16(6) !== 0 || !isZero(fields.cut(264, 232))) refuse("F20", `reserved bytes of slot ${name} are not zero`);
  }
  const isVoid = (flags & VOID) !== 0;
  const generation = fields.big(24);
  const signed = [fields.cut(88, 32), fields.cut(168, 32), fields.cut(200, 64)];
  const parts = signed.filter((part) => !isZero(part)).length;
  if (isVoid) {
    if ((flags & SEALED) !== 0) refuse("F8", `the VOID slot ${name} has a further flag`);
    if (!isZero(fields.cut(32, 232))) refuse("F8", `the VOID slot ${name} is not empty`);
  } else {
    if (generation === 0n) refuse("F8", `slot ${name} is live with generation 0`);
    if (parts !== 0 && parts !== 3) refuse("F43", `slot ${name} is signed in part`);
    if (parts === 0 && !isZero(fields.cut(136, 32))) refuse("F43", `slot ${name} is not signed and has previous_toc_sha256`);
  }
  return {
    isVoid,
    sealed: (flags & SEALED) !== 0,
    generation,
    committedEnd: fields.u64(32),
    tocOffset: [fields.u64(40), fields.u64(48)],
    tocSize: fields.u64(56),
    headSize: fields.u64(64),
    tocHash: fields.cut(72, 16),
    signature:
      parts === 0
        ? null
        : {
            tocSha256: signed[0] as Bytes,
            keyId: signed[1] as Bytes,
            signature: signed[2] as Bytes,
            previousTocSha256: fields.cut(136, 32),
          },
    body: Uint8Array.of(...copy.subarray(0, 4), ...copy.subarray(5, HASHED)),
  };
}

/** Takes the good slot of a pair, or the newer one of two (3.2). */
function ofPair(first: Slot | null, second: Slot | null, places: readonly number[], findings: Finding[]): Slot | null {
  if (first === null || second === null) {
    const bad = first === null ? 0 : 1;
    if (first !== second) findings.push({ what: "a mirror of a slot is damaged", offset: places[bad] as number });
    return first ?? second;
  }
  if (equal(first.body, second.body)) return first;
  const firstIsNewer =
    first.generation === second.generation
      ? first.committedEnd > second.committedEnd
      : first.generation > second.generation;
  const [newer, older] = firstIsNewer ? [first, second] : [second, first];
  const ahead = newer.generation - older.generation;
  const legal =
    !newer.sealed &&
    !older.sealed &&
    !newer.isVoid &&
    (ahead === 0n ? !older.isVoid && newer.committedEnd > older.committedEnd : ahead % 2n === 0n);
  if (!legal) refuse("F8", "the two mirrors of a slot differ in a way that no append leaves behind");
  findings.push({ what: "a mirror of a slot is out of date", offset: places[firstIsNewer ? 1 : 0] as number });
  return newer;
}

/** Checks steps 5 and 6 of 3.3 for a place that a slot names. */
export function checkPlace(place: Place, form: Form, fileSize: number): void {
  if (place.committedEnd > LIMITS.committedEnd) refuse("F22", "committed_end is above its limit", "limit_exceeded");
  if (place.committedEnd > fileSize) {
    refuse("F10", `the file has ${fileSize} bytes, and its generation ends at ${place.committedEnd}`, "truncated");
  }
  if (place.sealed && place.committedEnd !== fileSize) {
    refuse("F10", `a sealed file has ${fileSize - place.committedEnd} bytes behind its end`, "trailing_data");
  }
  checkSizes(place.tocSize, place.headSize);
  for (const offset of place.tocOffset) {
    if (offset % form.unit !== 0 || offset < form.headerSize || !inside(offset, place.tocSize, place.committedEnd)) {
      refuse("F11", `a copy of the TOC at ${offset} is not where it may be`);
    }
  }
  const [low, high] = place.tocOffset[0] < place.tocOffset[1] ? place.tocOffset : [place.tocOffset[1], place.tocOffset[0]];
  if (low + place.tocSize > high) refuse("F11", "the two copies of the TOC overlap");
}

export function pageCount(tocSize: number, headSize: number): number {
  return Math.ceil((tocSize - headSize) / PAGE_SIZE);
}

/** Checks that the head has one of the two sizes that fit the TOC (4.3, F12). */
export function checkSizes(tocSize: number, headSize: number): void {
  if (tocSize > LIMITS.tocBytes) refuse("F12", `the TOC has ${tocSize} bytes`, "limit_exceeded");
  const pages = headSize < tocSize ? pageCount(tocSize, headSize) : 0;
  if (pages === 0 || (headSize !== HEAD_START + 16 * pages && headSize !== HEAD_START + 48 * pages)) {
    refuse("F12", `a head of ${headSize} bytes does not fit a TOC of ${tocSize}`);
  }
}

export async function readHeader(source: Source, fileSize: number, hashes: Hashes, findings: Finding[]): Promise<Header> {
  if (fileSize < SMALL_HEADER) {
    const start = await source.read(0, Math.min(fileSize, MAGIC.length));
    if (fileSize === 0 || equal(start, MAGIC)) {
      refuse("F1", `the file has ${fileSize} bytes and ends inside its header`, "truncated");
    }
    refuse("F1", "not a fatctx container: no magic", "bad_magic");
  }
  const bytes = await source.read(0, Math.min(fileSize, LARGE_HEADER));
  const { copy, form } = goodPrologue(bytes, hashes, findings);
  if (fileSize < form.headerSize) refuse("F1", "the file ends inside its header", "truncated");
  const prologue = parsePrologue(copy, form);

  const slots: (Slot | null)[] = [];
  for (let index = 0; index < 4; index++) slots.push(await goodSlot(bytes, index, prologue, hashes));
  const [a0, b0, a1, b1] = slots as [Slot | null, Slot | null, Slot | null, Slot | null];
  const [placeA0, placeB0, placeA1, placeB1] = form.slots as [number, number, number, number];
  const a = ofPair(a0, a1, [placeA0, placeA1], findings);
  const b = ofPair(b0, b1, [placeB0, placeB1], findings);
  const live = newestOf(a, b, form, findings);
  const other = live === a ? b : a;
  checkPlace(live, form, fileSize);
  return { prologue, live, previous: other === null || other.isVoid ? null : other, bytes };
}

function newestOf(a: Slot | null, b: Slot | null, form: Form, findings: Finding[]): Slot {
  if (a === null || b === null) {
    const only = a ?? b;
    if (only === null) return refuse("F6", "no slot matches its hash", "checksum_mismatch");
    if (only.isVoid) return refuse("F6", "the slots of the live generation are damaged", "checksum_mismatch");
    for (const mirror of a === null ? [0, 2] : [1, 3]) {
      findings.push({ what: "both mirrors of a slot are damaged", offset: form.slots[mirror] as number });
    }
    return only;
  }
  if (a.isVoid && b.isVoid) return refuse("F8", "no pair of slots is live");
  const [newer, older] = a.generation > b.generation ? [a, b] : [b, a];
  const apart = newer.generation - older.generation;
  if (apart % 2n === 0n) refuse("F9", `the generations of the slots are ${apart} apart`);
  if (newer.isVoid) refuse("F8", "the newer pair of slots is VOID");
  if (newer.sealed && apart !== 1n) refuse("F9", `the generations of the slots of a sealed file are ${apart} apart`);
  if (apart !== 1n) findings.push({ what: "failed syncs have left the older slots behind", offset: form.slots[0] as number });
  return newer;
}

/** The bytes of the header that belong to no struct; verify asks for zeros there (F35). */
export function headerPadding(header: Header): readonly [number, number][] {
  const { form } = header.prologue;
  const starts = [0, form.secondPrologue, ...form.slots].sort((x, y) => x - y);
  return starts.map((start, i) => [start + STRUCT_SIZE, starts[i + 1] ?? form.headerSize]);
}

export function uuidText(uuid: Bytes): string {
  const hex = toHex(uuid);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

