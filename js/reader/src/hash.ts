// XXH3, SHA-256 and XXH32 from hash-wasm. Its hashers are made asynchronously and then work at once, so `Hashes.make`
// is awaited before a file is opened, and everything behind it is ordinary code.
import { createSHA256, createXXHash128, createXXHash3, createXXHash32, type IHasher } from "hash-wasm";

import type { Bytes } from "./bytes.js";

export const HASH_SIZE = 16;
export const SHA256_SIZE = 32;

/** A hash over bytes that come in pieces. */
export interface Running {
  update(bytes: Bytes): void;
  digest(): Bytes;
}

function once(hasher: IHasher, bytes: Bytes): Bytes {
  return hasher.init().update(bytes).digest("binary");
}

export class Hashes {
  private constructor(
    private readonly xxh128: IHasher,
    private readonly xxh64: IHasher,
    private readonly xxh32Hasher: IHasher,
    private readonly sha256Hasher: IHasher,
  ) {}

  static async make(): Promise<Hashes> {
    return new Hashes(await createXXHash128(), await createXXHash3(), await createXXHash32(0), await createSHA256());
  }

  /** XXH3 with 128 bits and seed 0, in its canonical order. */
  hash(bytes: Bytes): Bytes {
    return once(this.xxh128, bytes);
  }

  /** XXH3 with 64 bits and seed 0, in its canonical (big-endian) order. */
  hash64(bytes: Bytes): Bytes {
    return once(this.xxh64, bytes);
  }

  /** The lowest 32 bits of XXH3 with 64 bits: the hash of a name index. */
  nameHash(name: Bytes): number {
    const hash = this.hash64(name);
    return new DataView(hash.buffer, hash.byteOffset).getUint32(4);
  }

  sha256(bytes: Bytes): Bytes {
    return once(this.sha256Hasher, bytes);
  }

  xxh32(bytes: Bytes): number {
    const hash = once(this.xxh32Hasher, bytes);
    return new DataView(hash.buffer, hash.byteOffset).getUint32(0);
  }

  /** The hash with 128 bits and a seed of 64, given as the eight canonical bytes of another hash. */
  static async seeded(seed: Bytes, bytes: Bytes): Promise<Bytes> {
    const view = new DataView(seed.buffer, seed.byteOffset);
    return once(await createXXHash128(view.getUint32(4), view.getUint32(0)), bytes);
  }

  static async running(): Promise<Running> {
    const hasher = (await createXXHash128()).init();
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest("binary") };
  }

  static async runningSha256(): Promise<Running> {
    const hasher = (await createSHA256()).init();
    return { update: (bytes) => void hasher.update(bytes), digest: () => hasher.digest("binary") };
  }
}
