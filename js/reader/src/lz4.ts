// One lz4 frame, as section 5.2 of docs/format.md restricts it.
import { Fields, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import type { Hashes } from "./hash.js";

const MAGIC = 0x184d2204;
const VERSION_MASK = 0xc0;
const VERSION_1 = 0x40;
const INDEPENDENT = 0x20;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const CONTENT_CHECKSUM = 0x04;
const RESERVED = 0x02;
const DICTIONARY = 0x01;
const UNCOMPRESSED = 0x80000000;
const MIN_MATCH = 4;
/** Bytes of magic, two descriptor bytes, content size and header checksum. */
const HEADER_SIZE = 15;

function broken(what: string): never {
  return refuse("F41", `lz4 frame: ${what}`, "codec");
}

/** The size that the frame states, before anything is unpacked. */
export function contentSize(frame: Bytes): number {
  if (frame.length < HEADER_SIZE) broken("it ends inside its header");
  const fields = new Fields(frame);
  if (fields.u32(0) !== MAGIC) broken("no magic");
  const flags = fields.u8(4);
  if ((flags & CONTENT_SIZE) === 0) broken("it does not state its content size");
  return fields.u64(6);
}

export function unpack(frame: Bytes, size: number, hashes: Hashes): Bytes {
  if (contentSize(frame) !== size) broken(`its content is not ${size} bytes`);
  const fields = new Fields(frame);
  const flags = fields.u8(4);
  if ((flags & VERSION_MASK) !== VERSION_1 || (flags & RESERVED) !== 0) broken("unknown version");
  if ((flags & DICTIONARY) !== 0) broken("it names a dictionary");
  if ((flags & CONTENT_CHECKSUM) === 0) broken("it has no content checksum");
  const blockCode = (fields.u8(5) >> 4) & 7;
  if (blockCode < 4 || (fields.u8(5) & 0x8f) !== 0) broken("unknown block size");
  const blockSize = 2 ** (8 + 2 * blockCode);
  if (((hashes.xxh32(frame.subarray(4, 14)) >>> 8) & 0xff) !== fields.u8(14)) broken("its header does not match its checksum");

  const out = new Uint8Array(size);
  let made = 0;
  let at = HEADER_SIZE;
  const word = (): number => {
    if (at + 4 > frame.length) broken("it ends inside a block");
    at += 4;
    return fields.u32(at - 4);
  };
  for (let header = word(); header !== 0; header = word()) {
    const length = (header & ~UNCOMPRESSED) >>> 0;
    if (length > blockSize || at + length > frame.length) broken("a block is too large");
    const block = frame.subarray(at, at + length);
    at += length;
    if ((flags & BLOCK_CHECKSUM) !== 0 && word() !== hashes.xxh32(block)) broken("a block does not match its checksum");
    const most = Math.min(size, made + blockSize);
    if ((header & UNCOMPRESSED) !== 0) {
      if (made + length > most) broken("it yields more than its content size");
      out.set(block, made);
      made += length;
    } else {
      made = unpackBlock(block, out, made, most, (flags & INDEPENDENT) !== 0 ? made : 0);
    }
  }
  if (made !== size) broken("it yields less than its content size");
  if (word() !== hashes.xxh32(out)) broken("its content does not match its checksum");
  if (at !== frame.length) broken("bytes follow it");
  return out;
}

/** Unpacks one block to `out` from `made` on, and returns where it ends. Matches do not reach in front of `oldest`. */
function unpackBlock(block: Bytes, out: Bytes, made: number, most: number, oldest: number): number {
  let at = 0;
  const extended = (length: number): number => {
    if (length !== 15) return length;
    for (;;) {
      if (at >= block.length) broken("a block ends inside a length");
      const more = block[at++] as number;
      length += more;
      if (more !== 255) return length;
    }
  };
  if (block.length === 0) broken("an empty block");
  for (;;) {
    const token = block[at++] as number;
    const literals = extended(token >> 4);
    if (literals > block.length - at || made + literals > most) broken("literals go beyond a block");
    out.set(block.subarray(at, at + literals), made);
    at += literals;
    made += literals;
    if (at === block.length) return made;
    if (at + 2 > block.length) broken("a block ends inside a match");
    const distance = (block[at] as number) | ((block[at + 1] as number) << 8);
    at += 2;
    const length = extended(token & 15) + MIN_MATCH;
    // A match of distance 0 is forbidden; it yields zeros as in other decoders, and the content checksum decides.
    if (made - distance < oldest) broken("a match reaches in front of its block");
    if (made + length > most) broken("a match goes beyond a block");
    for (let i = 0; i < length; i++) out[made + i] = out[made + i - distance] as number;
    made += length;
    if (at === block.length) broken("a block ends with a match");
  }
}
