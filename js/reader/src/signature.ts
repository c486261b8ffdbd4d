// Section 3.4 of docs/format.md: the message under a signature, and Ed25519 by WebCrypto where it has it.
import { equal, toHex, type Bytes } from "./bytes.js";
import { FatctxError } from "./error.js";
import type { Hashes } from "./hash.js";
import type { Place } from "./header.js";

/** Public keys of 32 bytes that the caller trusts, and the least generation that it accepts. */
export interface Trust {
  readonly keys: readonly Bytes[];
  readonly minimumGeneration?: bigint;
}

const MAGIC = new TextEncoder().encode("FATCTX-SIG-v1\0");
const SHA256_ALGORITHM = 2;

export function signedMessage(place: Place, uuid: Bytes, tocSha256: Bytes, previous: Bytes): Bytes {
  const message = new Uint8Array(130);
  const view = new DataView(message.buffer);
  message.set(MAGIC, 0);
  message.set(uuid, 14);
  view.setBigUint64(30, place.generation, true);
  view.setBigUint64(38, BigInt(place.committedEnd), true);
  view.setBigUint64(46, BigInt(place.tocSize), true);
  view.setBigUint64(54, BigInt(place.headSize), true);
  view.setUint32(62, SHA256_ALGORITHM, true);
  message.set(tocSha256, 66);
  message.set(previous, 98);
  return message;
}

const GROUP_ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;
const PRIME = (1n << 255n) - 19n;
/** The y coordinates of the points of small order; the bit of the sign does not matter. */
const SMALL_ORDER: readonly bigint[] = [
  0n,
  1n,
  PRIME - 1n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
];

function little(bytes: Bytes): bigint {
  return BigInt(`0x${toHex(Uint8Array.from(bytes).reverse())}`);
}

/** True for an encoded point that strict verification takes: canonical, and not of small order. */
function isStrictPoint(encoded: Bytes): boolean {
  const y = little(encoded) & ((1n << 255n) - 1n);
  return y < PRIME && !SMALL_ORDER.includes(y);
}

/** Verifies strictly: WebCrypto decides, after what it may leave open is refused here. */
async function holds(key: Bytes, signature: Bytes, message: Bytes): Promise<boolean> {
  if (!isStrictPoint(key) || !isStrictPoint(signature.subarray(0, 32))) return false;
  if (little(signature.subarray(32)) >= GROUP_ORDER) return false;
  const subtle = globalThis.crypto?.subtle ?? (await nodeSubtle());
  let imported: CryptoKey;
  try {
    imported = await subtle.importKey("raw", Uint8Array.from(key), { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    throw new FatctxError(
      "unsupported",
      null,
      `this browser cannot check Ed25519 signatures (${String(error)}); use a newer one, or: fatctx verify --key`,
    );
  }
  return subtle.verify({ name: "Ed25519" }, imported, Uint8Array.from(signature), Uint8Array.from(message));
}

/** Node 18 has WebCrypto only in its module. */
async function nodeSubtle(): Promise<SubtleCrypto> {
  const module = "node:crypto";
  const { webcrypto } = (await import(module)) as { webcrypto: Crypto };
  return webcrypto.subtle;
}

/** Throws unless a trusted key has signed the head (3.4). */
export async function checkTrust(place: Place, uuid: Bytes, head: Bytes, trust: Trust, hashes: Hashes): Promise<void> {
  if (place.generation < (trust.minimumGeneration ?? 0n)) {
    throw new FatctxError("rollback", null, `generation ${place.generation} is below ${trust.minimumGeneration}`);
  }
  if (trust.keys.length === 0) return;
  const claim = place.signature;
  if (claim === null) throw new FatctxError("signature_missing", null, `generation ${place.generation} is not signed`);
  const key = trust.keys.find((candidate) => equal(hashes.sha256(candidate), claim.keyId));
  if (key === undefined) {
    throw new FatctxError("signature_bad", null, `signed with the key ${toHex(claim.keyId)}, which is not trusted`);
  }
  const tocSha256 = hashes.sha256(head);
  if (!equal(tocSha256, claim.tocSha256)) {
    throw new FatctxError("signature_bad", null, "the table of contents is not the one that was signed");
  }
  const message = signedMessage(place, uuid, tocSha256, claim.previousTocSha256);
  if (!(await holds(key, claim.signature, message))) {
    throw new FatctxError("signature_bad", null, "the signature does not hold");
  }
}
