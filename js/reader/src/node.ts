// The one file that needs Node: containers on disk.
import { open, type FileHandle } from "node:fs/promises";

import type { Bytes } from "./bytes.js";
import { FatctxError } from "./error.js";
import type { Source } from "./source.js";

export * from "./index.js";

class FileSource implements Source {
  constructor(
    private readonly file: FileHandle,
    readonly name: string,
  ) {}

  async size(): Promise<number> {
    return (await this.file.stat()).size;
  }

  async read(offset: number, size: number): Promise<Bytes> {
    const bytes = new Uint8Array(size);
    let done = 0;
    while (done < size) {
      const { bytesRead } = await this.file.read(bytes, done, size - done, offset + done);
      if (bytesRead === 0) throw new FatctxError("truncated", null, `${this.name}: ends at byte ${offset + done}`);
      done += bytesRead;
    }
    return bytes;
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}

/** Opens a file; the caller closes it. */
export async function fromFile(path: string): Promise<Source & { close(): Promise<void> }> {
  return new FileSource(await open(path, "r"), path);
}
