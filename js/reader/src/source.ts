// Where bytes come from. A source is asked for ranges and never reads more than one range at a time, so a file of any
// size can be looked at.
import type { Bytes } from "./bytes.js";
import { FatctxError } from "./error.js";

export interface Source {
  /** What a person would call it. */
  readonly name: string;
  /** Bytes of the file, asked anew each time: a file may grow. */
  size(): Promise<number>;
  /** Exactly `size` bytes from `offset` on. */
  read(offset: number, size: number): Promise<Bytes>;
}

class BufferSource implements Source {
  private readonly bytes: Bytes;

  constructor(
    buffer: ArrayBuffer | Uint8Array,
    readonly name: string,
  ) {
    // A Buffer of Node is a Uint8Array whose slice() shares memory; this one copies, as everywhere else.
    this.bytes =
      buffer instanceof Uint8Array
        ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
        : new Uint8Array(buffer);
  }

  async size(): Promise<number> {
    return this.bytes.length;
  }

  async read(offset: number, size: number): Promise<Bytes> {
    if (offset + size > this.bytes.length) throw beyond(this.name, offset, size, this.bytes.length);
    return this.bytes.subarray(offset, offset + size);
  }
}

class BlobSource implements Source {
  constructor(
    private readonly blob: Blob,
    readonly name: string,
  ) {}

  async size(): Promise<number> {
    return this.blob.size;
  }

  async read(offset: number, size: number): Promise<Bytes> {
    if (offset + size > this.blob.size) throw beyond(this.name, offset, size, this.blob.size);
    return new Uint8Array(await this.blob.slice(offset, offset + size).arrayBuffer());
  }
}

/** What the first request asks for: header and table of contents of most files, whose size then comes with it. */
const FIRST_BYTES = 256 * 1024;

/**
 * A file on a server that answers ranges. The first request brings the first 256 KiB and the size of the file. All
 * answers must be of one version of it: an ETag or a date that changes ends the read.
 */
class UrlSource implements Source {
  readonly name: string;
  /** Requests made so far. */
  requests = 0;
  private head: Promise<{ bytes: Bytes; size: number }> | null = null;
  private version: string | null = null;

  constructor(
    private readonly url: string,
    private readonly fetcher: typeof fetch,
  ) {
    this.name = url;
  }

  async size(): Promise<number> {
    return (await this.first()).size;
  }

  async read(offset: number, size: number): Promise<Bytes> {
    const head = await this.first();
    if (offset + size > head.size) throw beyond(this.name, offset, size, head.size);
    if (offset + size <= head.bytes.length) return head.bytes.subarray(offset, offset + size);
    if (size === 0) return new Uint8Array(0);
    const { bytes } = await this.request(offset, offset + size - 1);
    if (bytes.length !== size) {
      throw new FatctxError("io", null, `${this.url}: the server sent ${bytes.length} of ${size} bytes`);
    }
    return bytes;
  }

  private first(): Promise<{ bytes: Bytes; size: number }> {
    this.head ??= this.request(0, FIRST_BYTES - 1);
    return this.head;
  }

  private async request(first: number, last: number): Promise<{ bytes: Bytes; size: number }> {
    this.requests++;
    // Cookies and the address of this page are nobody's business.
    const response = await this.fetcher(this.url, {
      headers: { Range: `bytes=${first}-${last}` },
      credentials: "omit",
      referrerPolicy: "no-referrer",
    });
    if (response.status === 416) return { bytes: new Uint8Array(0), size: 0 };
    const range = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "");
    if (response.status !== 206 || range === null) {
      await response.body?.cancel();
      throw new FatctxError(
        "io",
        null,
        `${this.url}: the server answers ${response.status} to a request for a range; it must answer 206, and let ` +
          "this page read Content-Range (Access-Control-Expose-Headers); or download the file and open it from disk",
      );
    }
    const version = response.headers.get("ETag") ?? response.headers.get("Last-Modified");
    if (this.version !== null && version !== this.version) {
      throw new FatctxError("io", null, `${this.url}: the file on the server changed meanwhile; open it again`);
    }
    this.version = version;
    if (Number(range[1]) !== first) throw new FatctxError("io", null, `${this.url}: the server sent another range`);
    return { bytes: new Uint8Array(await response.arrayBuffer()), size: Number(range[3]) };
  }
}

function beyond(name: string, offset: number, size: number, end: number): FatctxError {
  return new FatctxError("truncated", null, `${name}: bytes ${offset} to ${offset + size} are behind its end, ${end}`);
}

export function fromBuffer(buffer: ArrayBuffer | Uint8Array, name = "buffer"): Source {
  return new BufferSource(buffer, name);
}

export function fromBlob(blob: Blob, name?: string): Source {
  return new BlobSource(blob, name ?? (blob as { name?: string }).name ?? "blob");
}

/** `fetcher` replaces the global `fetch`, to add headers for instance. */
export function fromUrl(url: string, fetcher: typeof fetch = (...call) => fetch(...call)): Source & { requests: number } {
  return new UrlSource(url, fetcher);
}
