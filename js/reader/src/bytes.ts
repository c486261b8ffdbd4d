// Little-endian fields out of bytes of a file. Offsets are those of the structs of docs/format.md, which every caller
// has bounded before: a struct is cut out of its table first.

export type Bytes = Uint8Array;

/**
 * The fields of one struct. A 64-bit number is a `number`: above 2^53 it is rounded, and every field that is read in
 * this way has a limit far below, so that a rounded number is refused like the exact one. `big` keeps all bits.
 */
export class Fields {
  readonly bytes: Bytes;
  private readonly view: DataView;

  constructor(bytes: Bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u8(at: number): number {
    return this.view.getUint8(at);
  }

  u16(at: number): number {
    return this.view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  u64(at: number): number {
    return this.view.getUint32(at + 4, true) * 4294967296 + this.view.getUint32(at, true);
  }

  big(at: number): bigint {
    return this.view.getBigUint64(at, true);
  }

  cut(at: number, size: number): Bytes {
    return this.bytes.subarray(at, at + size);
  }
}

export function isZero(bytes: Bytes): boolean {
  return bytes.every((byte) => byte === 0);
}

export function equal(a: Bytes, b: Bytes): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Compares as the format does: byte by byte, and the shorter one first. */
export function compare(a: Bytes, b: Bytes): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const HEX = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));

export function toHex(bytes: Bytes): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte] as string;
  return text;
}

export function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}

/** True if the range is inside a parent of `parent` bytes (docs/format.md, section 1). */
export function inside(offset: number, size: number, parent: number): boolean {
  return size <= parent && offset <= parent - size;
}

export function join(parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the text, or null if the bytes are not well-formed UTF-8. */
export function utf8(bytes: Bytes): string | null {
  try {
    return UTF8.decode(bytes);
  } catch {
    return null;
  }
}

/** True for a control character of section 5.7: U+0000 to U+001F and U+007F to U+009F. */
export function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return true;
  }
  return false;
}
