// The container: opened strictly, that is with every rule of docs/format.md, section 9, that needs no payload.
import { equal, toHex, type Bytes } from "./bytes.js";
import { parseDescription, type Description } from "./description.js";
import { FatctxError } from "./error.js";
import { Hashes } from "./hash.js";
import { checkPlace, checkSizes, readHeader, uuidText, type Finding, type Header, type Place } from "./header.js";
import { Budget, Payload, gather, type LeafKind } from "./payload.js";
import { checkTrust, type Trust } from "./signature.js";
import { measureSharing, type Sharing } from "./sharing.js";
import type { Source } from "./source.js";
import { DESCRIPTION, TENSOR_TABLE, WEIGHT_BLOB, parseTables, type GenerationRow, type RecordRow, type Tables } from "./tables.js";
import { parseTensors, type Tensor } from "./tensors.js";
import { readToc, type Toc } from "./toc.js";
import { verifyContainer, type Problem } from "./verify.js";

export interface OpenOptions {
  /** An earlier generation that the file still has. */
  readonly generation?: bigint;
  readonly trust?: Trust;
}

const LEAST_BUDGET = 1073741824;
const BUDGET_FACTOR = 100;

export class Container {
  private constructor(
    readonly source: Source,
    readonly fileSize: number,
    readonly header: Header,
    /** The generation that is open. */
    readonly place: Place,
    readonly toc: Toc,
    readonly tables: Tables,
    readonly payload: Payload,
    readonly hashes: Hashes,
    /** What was repaired while the file was read. */
    readonly findings: readonly Finding[],
    private readonly leafKind: LeafKind,
  ) {}

  static async open(source: Source, options: OpenOptions = {}): Promise<Container> {
    const size = await source.size();
    try {
      return await Container.openSized(source, size, options);
    } catch (error) {
      // An append may have made the file longer since it was asked for its size (13.6).
      const later = error instanceof FatctxError && error.code === "truncated" ? await source.size() : size;
      if (later <= size) throw error;
      return Container.openSized(source, later, options);
    }
  }

  private static async openSized(source: Source, fileSize: number, options: OpenOptions): Promise<Container> {
    const hashes = await Hashes.make();
    const findings: Finding[] = [];
    const header = await readHeader(source, fileSize, hashes, findings);
    const trusted = options.trust !== undefined && options.trust.keys.length > 0;
    const read = async (place: Place, into: Finding[]): Promise<{ toc: Toc; tables: Tables }> => {
      const judge = async (head: Bytes) => {
        if (options.trust !== undefined) await checkTrust(place, header.prologue.uuid, head, options.trust, hashes);
      };
      const reading = { source, hashes, prologue: header.prologue, place, findings: into, sha256: trusted, judge };
      const toc = await readToc(reading);
      return { toc, tables: parseTables(toc, header.prologue, place, hashes) };
    };
    let place = header.live;
    let opened: { toc: Toc; tables: Tables };
    if (options.generation === undefined || options.generation === place.generation) {
      opened = await read(place, findings);
    } else {
      // The newest generation must open too, with every rule; what is damaged of it does not concern this one.
      const list = async () => (await read(header.live, [])).tables.generations;
      place = await earlier(header, options.generation, trusted, fileSize, list);
      opened = await read(place, findings);
    }
    const payload = new Payload(source, opened.tables.segments, hashes);
    const leaves = trusted ? "sha256" : "xxh3";
    return new Container(source, fileSize, header, place, opened.toc, opened.tables, payload, hashes, findings, leaves);
  }

  get records(): readonly RecordRow[] {
    return this.tables.records;
  }

  get uuid(): string {
    return uuidText(this.header.prologue.uuid);
  }

  get generation(): bigint {
    return this.place.generation;
  }

  get sealed(): boolean {
    return this.place.sealed;
  }

  /** SHA-256 of the public key that the file names, in hex, or null if it is not signed. A claim unless keys are trusted. */
  get keyId(): string | null {
    return this.place.signature === null ? null : toHex(this.place.signature.keyId);
  }

  record(name: string): RecordRow {
    const found = this.records.find((record) => record.name === name);
    if (found === undefined) throw new FatctxError("not_found", null, `no record ${JSON.stringify(name)}`);
    return found;
  }

  /** A fresh bound of the bytes that one call may make (8.1). */
  budget(): Budget {
    const stored = this.tables.segments.reduce((sum, segment) => sum + segment.size, 2 * this.place.tocSize);
    return new Budget(Math.max(LEAST_BUDGET, BUDGET_FACTOR * stored));
  }

  /** All bytes of a record, compared with leaves and hash. */
  async bytes(record: RecordRow): Promise<Bytes> {
    return this.payload.checkedBytes(record, this.leafKind, this.budget());
  }

  async describe(): Promise<Description> {
    const record = this.records.find((candidate) => candidate.type === DESCRIPTION) as RecordRow;
    const bytes = await this.payload.forReader(record, this.leafKind, this.budget());
    if (!equal(this.hashes.hash(bytes), record.logicalHash)) {
      throw new FatctxError("checksum_mismatch", "F37", `${record.name} is not the record that its hash says`);
    }
    return parseDescription(bytes);
  }

  /** The tensors of a weight blob, or null if it has no table. */
  async tensors(blob: RecordRow): Promise<Tensor[] | null> {
    if (blob.type !== WEIGHT_BLOB || blob.tensorTable === null) return null;
    return this.tensorsOfTable(blob.tensorTable);
  }

  async tensorsOfTable(table: RecordRow): Promise<Tensor[]> {
    if (table.type !== TENSOR_TABLE) throw new FatctxError("not_found", null, `${table.name} is no tensor table`);
    const reference = table.references[0];
    if (reference === undefined) throw new FatctxError("bad_reference", "F27", `${table.name} describes no blob`);
    const bytes = await this.payload.forReader(table, this.leafKind, this.budget());
    return parseTensors(bytes, reference.to.logicalSize, reference.tableHash, this.header.prologue.newer, this.hashes);
  }

  /** The bytes of one tensor; its leaves are compared, the hash of the whole blob is not. */
  async tensorBytes(blob: RecordRow, tensor: Tensor): Promise<Bytes> {
    if (blob.recipe || blob.codec !== 0) {
      const whole = await this.bytes(blob);
      return whole.subarray(tensor.offset, tensor.offset + tensor.size);
    }
    const parts: AsyncGenerator<Bytes>[] = [];
    let start = 0;
    for (const slice of blob.slices) {
      const from = Math.max(tensor.offset, start);
      const to = Math.min(tensor.offset + tensor.size, start + slice.size);
      if (from < to) {
        parts.push(this.payload.ofSegment(slice.segment, slice.offset + from - start, to - from, this.leafKind));
      }
      start += slice.size;
    }
    return gather(chain(parts));
  }

  /** Who shares what with whom. Reads the programs of recipes, and no other payload. */
  async sharing(): Promise<Sharing> {
    return measureSharing(this, this.leafKind);
  }

  /** Every rule, with payload. `progress` gets bytes done and bytes in all. */
  async verify(progress?: (done: number, total: number) => void): Promise<Problem[]> {
    return verifyContainer(this, progress);
  }
}

async function* chain(parts: readonly AsyncGenerator<Bytes>[]): AsyncGenerator<Bytes> {
  for (const part of parts) yield* part;
}

/** Where an earlier generation is (13.5). With trusted keys only its own slot says so. */
async function earlier(
  header: Header,
  wanted: bigint,
  trusted: boolean,
  fileSize: number,
  list: () => Promise<readonly GenerationRow[]>,
): Promise<Place> {
  const { previous, prologue } = header;
  if (trusted) {
    if (previous?.generation === wanted) {
      checkPlace(previous, prologue.form, fileSize);
      return previous;
    }
    if (wanted > header.live.generation) throw new FatctxError("not_found", null, `no generation ${wanted}`);
    throw new FatctxError("signature_missing", null, `generation ${wanted} has lost its signature with its slot`);
  }
  const row = (await list()).find((candidate) => candidate.number === wanted);
  if (row === undefined) throw new FatctxError("not_found", null, `the file has no generation ${wanted}`);
  const place: Place = {
    generation: row.number,
    committedEnd: row.committedEnd,
    tocOffset: [row.tocOffset, row.committedEnd - row.tocSize],
    tocSize: row.tocSize,
    headSize: row.headSize,
    tocHash: row.tocHash,
    sealed: false,
    signature: null,
  };
  checkSizes(place.tocSize, place.headSize);
  const same =
    previous !== null &&
    previous.generation === place.generation &&
    previous.committedEnd === place.committedEnd &&
    previous.tocSize === place.tocSize &&
    previous.headSize === place.headSize &&
    equal(previous.tocHash, place.tocHash);
  if (!same) return place;
  try {
    checkPlace(previous, prologue.form, fileSize);
  } catch {
    return place;
  }
  return { ...place, signature: previous.signature };
}
