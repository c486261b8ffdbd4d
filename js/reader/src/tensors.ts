// Section 6 of docs/format.md: the table that locates the tensors of a weight blob.
import { Fields, compare, equal, inside, isZero, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import { HASH_SIZE, type Hashes } from "./hash.js";
import { LIMITS, PAGE_SIZE } from "./limits.js";
import { checkedText } from "./names.js";

const MAGIC = Uint8Array.of(0x43, 0x54, 0x58, 0x4e);
export const TENSOR_HEADER = 64;
const ENTRY_SIZE = 96;
const INDEX_ENTRY = 8;
const ALIAS = 1;
const DTYPES: readonly (readonly [string, bigint])[] = [
  ["", 0n],
  ["float32", 32n],
  ["float64", 64n],
  ["float16", 16n],
  ["bfloat16", 16n],
  ["int8", 8n],
  ["int16", 16n],
  ["int32", 32n],
  ["int64", 64n],
  ["uint8", 8n],
  ["uint16", 16n],
  ["uint32", 32n],
  ["uint64", 64n],
  ["bool", 8n],
  ["int4", 4n],
  ["uint4", 4n],
];

export interface Tensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly bigint[];
  readonly offset: number;
  readonly size: number;
  readonly alias: boolean;
}

/** Reads a whole table with every rule. `newer`: an unknown compat or ro_compat bit is set (10.1). */
export function parseTensors(table: Bytes, blobSize: number, tableHash: Bytes, newer: boolean, hashes: Hashes): Tensor[] {
  if (table.length > LIMITS.tensorTableBytes) refuse("F33", "the tensor table is above its limit", "limit_exceeded");
  if (table.length < TENSOR_HEADER) refuse("F33", "the tensor table ends inside its header", "truncated");
  const fields = new Fields(table);
  if (!equal(fields.cut(0, 4), MAGIC)) refuse("F33", "the tensor table has no magic", "bad_magic");
  if (fields.u16(4) !== 1) refuse("F33", `the tensor table has the version ${fields.u16(4)}`, "unsupported");
  const entrySize = fields.u16(6);
  const longer = newer && entrySize > ENTRY_SIZE && entrySize <= LIMITS.entryBytes;
  if (entrySize !== ENTRY_SIZE && !longer) refuse("F33", `tensor entries have ${entrySize} bytes`);
  const count = fields.u32(8);
  if (count > LIMITS.tensors) refuse("F33", `the table has ${count} tensors`, "limit_exceeded");
  const pages = fields.u32(12);
  const namesSize = fields.u64(24);
  const bodySize = count * (entrySize + INDEX_ENTRY) + namesSize;
  if (pages !== Math.ceil(bodySize / PAGE_SIZE)) refuse("F33", `the tensor table says ${pages} pages`);
  const headSize = TENSOR_HEADER + HASH_SIZE * pages;
  if (table.length < headSize + bodySize) refuse("F33", "the tensor table is shorter than its counts", "truncated");
  if (table.length > headSize + bodySize) refuse("F33", "bytes follow the tensor table", "trailing_data");
  if (!equal(hashes.hash(table.subarray(0, headSize)), tableHash)) {
    refuse("F46", "the head of the tensor table does not match its reference", "checksum_mismatch");
  }
  const body = table.subarray(headSize);
  for (let i = 0; i < pages; i++) {
    const page = body.subarray(i * PAGE_SIZE, (i + 1) * PAGE_SIZE);
    if (!equal(hashes.hash(page), fields.cut(TENSOR_HEADER + HASH_SIZE * i, HASH_SIZE))) {
      refuse("F46", `page ${i} of the tensor table does not match its hash`, "checksum_mismatch");
    }
  }
  if (fields.u64(16) !== blobSize) refuse("F37", "the tensor table is for a blob of another size");
  if (!newer && !isZero(fields.cut(32, 32))) refuse("F20", "reserved bytes of the tensor table are not zero");

  const indexAt = count * entrySize;
  const names = body.subarray(indexAt + count * INDEX_ENTRY);
  const tensors: Tensor[] = [];
  const nameBytes: Bytes[] = [];
  let nameEnd = 0;
  for (let i = 0; i < count; i++) {
    const row = new Fields(body.subarray(i * entrySize, (i + 1) * entrySize));
    const nameSize = row.u16(4);
    if (row.u32(0) !== nameEnd || !inside(nameEnd, nameSize, names.length)) refuse("F30", `the name of tensor ${i} is not where it must be`);
    if (nameSize === 0 || nameSize > LIMITS.tensorNameBytes) refuse("F29", `the name of tensor ${i} has ${nameSize} bytes`);
    const name = names.subarray(nameEnd, nameEnd + nameSize);
    nameEnd += nameSize;
    const before = nameBytes.at(-1);
    if (before !== undefined && compare(before, name) >= 0) refuse("F15", `tensor ${i} is out of order`);
    nameBytes.push(name);
    tensors.push(parseTensor(row, checkedText(name), blobSize, newer));
  }
  if (nameEnd !== names.length) refuse("F30", "the names of the tensors do not fill their region");
  checkOverlaps(tensors);
  checkIndex(new Fields(body.subarray(indexAt, indexAt + count * INDEX_ENTRY)), nameBytes, hashes);
  return tensors;
}

function parseTensor(row: Fields, name: string, blobSize: number, newer: boolean): Tensor {
  const where = `tensor ${JSON.stringify(name)}`;
  const [dtype, bits] = DTYPES[row.u16(6)] ?? ["", 0n];
  if (bits === 0n) refuse("F33", `${where} has the unknown type ${row.u16(6)}`);
  const rank = row.u8(8);
  if (rank > LIMITS.tensorRank) refuse("F33", `${where} has the rank ${rank}`, "limit_exceeded");
  const flags = row.u8(9);
  if (!newer && ((flags & ~ALIAS) !== 0 || row.u16(10) !== 0 || row.u32(12) !== 0)) {
    refuse("F20", `unknown flags or reserved bytes of ${where}`);
  }
  const shape: bigint[] = [];
  let product = bits;
  let isEmpty = false;
  for (let i = 0; i < LIMITS.tensorRank; i++) {
    const dimension = row.big(32 + 8 * i);
    if (i >= rank) {
      if (dimension !== 0n) refuse("F20", `${where} has dimensions beyond its rank`);
      continue;
    }
    shape.push(dimension);
    if (dimension === 0n) isEmpty = true;
    else product *= dimension;
    if (product >= 1n << 64n) refuse("F33", `the size of ${where} does not fit 64 bits`);
  }
  const size = row.big(24);
  if (size !== (isEmpty ? 0n : (product + 7n) / 8n)) refuse("F33", `${where} has not the size that its shape asks for`);
  const offset = row.u64(16);
  if (!inside(offset, Number(size), blobSize)) refuse("F33", `${where} is not inside its blob`);
  return { name, dtype, shape, offset, size: Number(size), alias: (flags & ALIAS) !== 0 };
}

/** Two tensors overlap only if both are aliases: no tensor that is none may touch another one. */
function checkOverlaps(tensors: readonly Tensor[]): void {
  const sorted = tensors.filter((tensor) => tensor.size > 0).sort((a, b) => a.offset - b.offset);
  let end = 0;
  let endWithoutAlias = 0;
  for (const tensor of sorted) {
    const limit = tensor.alias ? endWithoutAlias : end;
    if (tensor.offset < limit) refuse("F33", `tensor ${JSON.stringify(tensor.name)} overlaps another one`);
    const tensorEnd = tensor.offset + tensor.size;
    end = Math.max(end, tensorEnd);
    if (!tensor.alias) endWithoutAlias = Math.max(endWithoutAlias, tensorEnd);
  }
}

function checkIndex(index: Fields, names: readonly Bytes[], hashes: Hashes): void {
  let before = -1;
  for (let i = 0; i < names.length; i++) {
    const hash = index.u32(8 * i);
    const entry = index.u32(8 * i + 4);
    const name = names[entry];
    // A hash of 32 bits and an entry below 2^20: one exact number that has their order.
    const place = hash * LIMITS.tensors + entry;
    if (name === undefined || place <= before || hashes.nameHash(name) !== hash) {
      refuse("F46", "the index of the tensor table is not right");
    }
    before = place;
  }
}
