// Section 5.7 of docs/format.md: the strings of the table of contents.
import { Fields, compare, hasControl, utf8, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import { LIMITS } from "./limits.js";

export class Names {
  private readonly texts = new Map<number, string>();
  private readonly raw = new Map<number, Bytes>();
  private readonly used = new Set<number>();

  constructor(region: Bytes) {
    const fields = new Fields(region);
    let at = 0;
    let before: Bytes | null = null;
    while (at < region.length) {
      if (at + 2 > region.length) refuse("F30", "the names end inside a size");
      const size = fields.u16(at);
      if (at + 2 + size > region.length) refuse("F30", "the names end inside a name");
      const name = fields.cut(at + 2, size);
      if (before === null) {
        if (size !== 0) refuse("F30", "the first name is not the empty one");
      } else {
        if (compare(before, name) >= 0) refuse("F30", "the names are not sorted, or one occurs twice");
        if (size > LIMITS.nameBytes) refuse("F29", `a name has ${size} bytes; at most ${LIMITS.nameBytes}`);
      }
      this.raw.set(at, name);
      this.texts.set(at, checkedText(name));
      before = name;
      at += 2 + size;
    }
    if (before === null) refuse("F30", "there are no names, not even the empty one");
  }

  /** The text at an offset that an entry names. */
  at(offset: number): string {
    const text = this.texts.get(offset);
    if (text === undefined) return refuse("F30", `no name begins at ${offset} of the names`);
    this.used.add(offset);
    return text;
  }

  /** The text of an entry where no `/` may be. */
  plain(offset: number): string {
    const text = this.at(offset);
    if (text.includes("/")) refuse("F29", `the name ${JSON.stringify(text)} has a slash`);
    return text;
  }

  bytesAt(offset: number): Bytes {
    return this.raw.get(offset) as Bytes;
  }

  /** Asks that every name but the empty one was used. */
  checkUse(): void {
    for (const [offset, text] of this.texts) {
      if (offset !== 0 && !this.used.has(offset)) refuse("F30", `nothing uses the name ${JSON.stringify(text)}`);
    }
  }
}

export function checkedText(name: Bytes): string {
  const text = utf8(name);
  if (text === null) return refuse("F29", "a name is not well-formed UTF-8");
  if (hasControl(text)) refuse("F29", `the name ${JSON.stringify(text)} has a control character`);
  return text;
}
