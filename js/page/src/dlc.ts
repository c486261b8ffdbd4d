// A multi-SoC DLC that somebody opens in the page, as the data of the page: docs/dlc.md. Only directory and metadata
// are read, never a payload.
import type { Source } from "fatctx-reader";
import { SocTable, parseVersion, versionText, type SocFile } from "fatctx-reader/select";

import type { FileData, Info, InfoGraph, InfoKey, InfoRecord, Option } from "./data.js";
import { devicesOf, otherFile } from "./otherfile.js";
import { factsOfLines, factsOfMember, folded, graphOf, inner, isObject, listOf, member, naturalOf, type Json } from "./qnn.js";

const MOST_ENTRIES = 4096;
const MOST_DIRECTORY = 4 << 20;
const MOST_METADATA = 16 << 20;
const END_SIZE = 22;
const LOCATOR_SIZE = 20;
const END64_SIZE = 56;
const ROW_SIZE = 46;
const HEADER_SIZE = 30;
const IN_64 = 0xffffffff;

export interface DlcEntry {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

const wrong = (what: string): Error => new Error(`DLC: ${what}`);
const text = (bytes: Uint8Array): string => new TextDecoder("utf-8", { fatal: true }).decode(bytes);

function number64(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw wrong(`a number of the archive is ${value}`);
  return Number(value);
}

async function viewAt(source: Source, offset: number, size: number): Promise<DataView> {
  const bytes = await source.read(offset, size);
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Directory {
  readonly offset: number;
  readonly size: number;
  readonly count: number;
}

/** The end records are the last bytes of the file, and the directory ends where they begin. */
async function directoryOf(source: Source, fileSize: number): Promise<Directory> {
  const tail = Math.min(fileSize, END_SIZE + LOCATOR_SIZE + END64_SIZE);
  if (tail < END_SIZE) throw wrong("the file is shorter than the end of an archive");
  const view = await viewAt(source, fileSize - tail, tail);
  const end = tail - END_SIZE;
  if (view.getUint32(end, true) !== 0x06054b50 || view.getUint16(end + 20, true) !== 0) throw wrong("the last bytes are no end of a ZIP archive");
  const directory = { count: view.getUint16(end + 10, true), size: view.getUint32(end + 12, true), offset: view.getUint32(end + 16, true), ends: fileSize - END_SIZE };
  const locator = end - LOCATOR_SIZE;
  if (locator >= END64_SIZE && view.getUint32(locator, true) === 0x07064b50) {
    const end64 = locator - END64_SIZE;
    if (number64(view, locator + 8) !== fileSize - tail + end64 || view.getUint32(end64, true) !== 0x06064b50) throw wrong("the ZIP64 end is not where its locator says");
    directory.count = number64(view, end64 + 32);
    directory.size = number64(view, end64 + 40);
    directory.offset = number64(view, end64 + 48);
    directory.ends = fileSize - tail + end64;
  }
  if (directory.count > MOST_ENTRIES || directory.size > MOST_DIRECTORY) throw wrong(`${directory.count} entries in a directory of ${directory.size} bytes; at most ${MOST_ENTRIES} and ${MOST_DIRECTORY} are read`);
  if (directory.offset + directory.size !== directory.ends) throw wrong("the directory does not end where the end records begin");
  return directory;
}

/** Numbers that are IN_64 in the row or header are in its ZIP64 field, in this order. */
function widened(values: readonly number[], extra: DataView): number[] {
  let at = 0;
  while (at + 4 <= extra.byteLength && extra.getUint16(at, true) !== 1) at += 4 + extra.getUint16(at + 2, true);
  let next = at + 4;
  return values.map((value) => {
    if (value !== IN_64) return value;
    if (next + 8 > extra.byteLength) throw wrong("a ZIP64 field is too short");
    next += 8;
    return number64(extra, next - 8);
  });
}

export async function entriesOf(source: Source): Promise<DlcEntry[]> {
  const fileSize = await source.size();
  const directory = await directoryOf(source, fileSize);
  const rows = await viewAt(source, directory.offset, directory.size);
  const entries: DlcEntry[] = [];
  let at = 0;
  for (let i = 0; i < directory.count; i++) {
    if (at + ROW_SIZE > rows.byteLength || rows.getUint32(at, true) !== 0x02014b50) throw wrong("the directory ends inside of a row");
    const [nameSize, extraSize, commentSize] = [28, 30, 32].map((field) => rows.getUint16(at + field, true)) as [number, number, number];
    if (at + ROW_SIZE + nameSize + extraSize + commentSize > rows.byteLength) throw wrong("the directory ends inside of a row");
    const place = rows.byteOffset + at + ROW_SIZE;
    const name = text(new Uint8Array(rows.buffer, place, nameSize));
    if (rows.getUint16(at + 10, true) !== 0) throw wrong(`entry "${name}" is compressed; those of a DLC are not`);
    const extra = new DataView(rows.buffer, place + nameSize, extraSize);
    const fields = [24, 20, 42].map((field) => rows.getUint32(at + field, true));
    const [size, stored, header] = widened(fields, extra) as [number, number, number];
    if (size !== stored) throw wrong(`entry "${name}" is stored in another size than it has`);
    entries.push({ name, offset: await dataOf(source, name, header, size, directory.offset), size });
    at += ROW_SIZE + nameSize + extraSize + commentSize;
  }
  if (at !== rows.byteLength) throw wrong("bytes of the directory belong to no row");
  entries.sort((a, b) => a.offset - b.offset);
  if (new Set(entries.map(({ name }) => name)).size !== entries.length) throw wrong("a name appears twice");
  entries.forEach((entry, i) => {
    const before = entries[i - 1];
    if (before !== undefined && before.offset + before.size > entry.offset) throw wrong(`entries "${before.name}" and "${entry.name}" overlap`);
  });
  return entries;
}

async function dataOf(source: Source, name: string, header: number, size: number, limit: number): Promise<number> {
  if (header + HEADER_SIZE > limit) throw wrong(`the header of "${name}" is not in front of the directory`);
  const view = await viewAt(source, header, HEADER_SIZE);
  const offset = header + HEADER_SIZE + view.getUint16(26, true) + view.getUint16(28, true);
  if (view.getUint32(0, true) !== 0x04034b50 || offset + size > limit) throw wrong(`no data of "${name}" where the directory says`);
  return offset;
}

/** Every value below, with its key; outer ones first. */
function* walk(value: Json, key = ""): Generator<readonly [string, Json]> {
  yield [folded(key), value];
  if (Array.isArray(value)) for (const item of value as readonly Json[]) yield* walk(item, key);
  else if (isObject(value)) for (const [name, below] of Object.entries(value)) yield* walk(below, name);
}

/** 2.51.0 of "v2.51.0.260101120000_1234": the last number is too large for a part of a version. */
function versionOf(value: Json | undefined): string | undefined {
  if (typeof value !== "string") return undefined;
  const parts = (/^[vV]?([\d.]+)/.exec(value)?.[1] ?? "").split(".").filter((part) => part !== "");
  const limits = [0xffff, 0xffff, 0xffffffff, 0xffffffff];
  const fits = parts.findIndex((part, i) => Number(part) > (limits[i] ?? -1));
  const version = parts.slice(0, fits < 0 ? 4 : fits).join(".");
  return version === "" ? undefined : versionText(parseVersion(version));
}

function graphsOf(row: Json, record: number): InfoGraph[] {
  return listOf(member(row, "graphs") ?? member(inner(row), "graphs")).map((graph) => graphOf(inner(graph), record));
}

interface Row {
  readonly key: InfoKey;
  readonly producer: string | null;
  readonly json: Json;
}

function rowOf(json: Json, entry: string): Row {
  const facts = { soc: 0, arch: 0, vtcm: 0 };
  const said: { build?: string; api?: Json; blob?: Json } = {};
  for (const [key, value] of walk(json)) {
    if (key === "socmodel") facts.soc ||= naturalOf(value);
    if (key === "dsparch") facts.arch ||= naturalOf(value);
    if (["vtcmsize", "vtcmsizeinmb", "vtcmmb"].includes(key)) facts.vtcm = Math.max(facts.vtcm, naturalOf(value) >= 1 << 20 ? naturalOf(value) >> 20 : naturalOf(value));
    if (key === "buildid" && typeof value === "string") said.build ??= value;
    if (key === "coreapiversion") said.api ??= value;
    if (key === "contextblobversion") said.blob ??= value;
  }
  const soc = facts.soc || naturalOf(/^htp\.cache\.(\d+)\./.exec(entry)?.[1] ?? "");
  const stated: Record<string, unknown> = {
    backend: "htp",
    qnn_soc: soc || undefined,
    arch: facts.arch ? `v${facts.arch}` : undefined,
    vtcm_mb: facts.vtcm || undefined,
    sdk: versionOf(said.build),
    api: versionOf(said.api),
    blob: versionOf(said.blob),
  };
  return { key: Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined)), producer: said.build ?? null, json };
}

function kindOf(name: string): [type: string, format: string | null] {
  if (name.startsWith("dlc.metadata")) return ["opaque", "dlc-metadata"];
  if (name.startsWith("htp.cache.") || /^backend\.metadata\d+$/.test(name)) return ["context_binary", "qnn-context-binary"];
  if (name.startsWith("htp.shared.weights.")) return ["weight_blob", "qnn-shared-weights"];
  if (name.startsWith("htp.metadata.shared_weights.")) return ["opaque", "qnn-shared-weights-metadata"];
  if (["model", "model.params", "model.params.bin"].includes(name)) return ["source_model", "dlc-model"];
  return ["opaque", null];
}

/** Which entries each entry is related to. */
function relationsOf(metadata: Json, names: ReadonlySet<string>): Map<string, Set<string>> {
  const related = new Map<string, Set<string>>();
  for (const relation of listOf(member(metadata, "relations"))) {
    const group = new Set<string>();
    for (const [, value] of walk(relation)) if (typeof value === "string" && names.has(value)) group.add(value);
    for (const one of group) related.set(one, new Set([...(related.get(one) ?? []), ...group]));
  }
  return related;
}

/** What the metadata says of the archive as a whole: all but the rows and the relations. */
function factsOf(json: Json, options: Option[]): void {
  if (!isObject(json)) return;
  for (const [key, value] of Object.entries(json)) {
    if (!["cachelist", "relations"].includes(folded(key))) factsOfMember(key, value, options);
  }
}

interface Metadata {
  readonly json: Json;
  readonly options: readonly Option[];
}

async function metadataOf(source: Source, entries: readonly DlcEntry[], problems: string[]): Promise<Metadata> {
  const entry = entries.find(({ name }) => name.startsWith("dlc.metadata"));
  if (entry === undefined) {
    problems.push('there is no entry "dlc.metadata": targets are not known');
    return { json: null, options: [] };
  }
  if (entry.size > MOST_METADATA) throw wrong(`${entry.size} bytes of metadata; at most ${MOST_METADATA} are read`);
  const words = text(await source.read(entry.offset, entry.size)).replace(/\0+$/, "");
  const options: Option[] = [];
  if (!words.trimStart().startsWith("{")) {
    factsOfLines(words, options);
    return { json: null, options };
  }
  const json = JSON.parse(words) as Json;
  factsOf(json, options);
  return { json, options };
}

export async function dlcData(source: Source, socs: SocFile): Promise<FileData> {
  const problems: string[] = [];
  const entries = await entriesOf(source);
  const { json: metadata, options } = await metadataOf(source, entries, problems);
  const rows = new Map<string, Json>();
  for (const row of listOf(member(metadata, "cachelist"))) rows.set(String(member(row, "cachename") ?? member(row, "name") ?? ""), row);
  const ids = new Map(entries.map(({ name }, i) => [name, i + 1]));
  const related = relationsOf(metadata, new Set(ids.keys()));
  const graphs: InfoGraph[] = [];
  const records = entries.map(({ name, size, offset }, i): InfoRecord => {
    const [type, format] = rows.has(name) ? kindOf("htp.cache.") : kindOf(name);
    const row = type === "context_binary" ? rowOf(rows.get(name) ?? null, name) : null;
    if (row !== null) graphs.push(...graphsOf(row.json, i + 1));
    const weights = [...(related.get(name) ?? [])].filter((other) => kindOf(other)[0] === "weight_blob").map((other) => ids.get(other) as number);
    return {
      id: i + 1, type, name, size_bytes: size, stored_bytes: size, codec: "none", slice_count: 1, recipe: false, file_offset: offset, xxh3_128: "",
      key: row?.key ?? null, weights: row === null ? [] : weights, format, producer: row?.producer ?? null,
    };
  });
  const info: Info = { ...otherFile("DLC", source.name, await source.size(), entries.map((entry, i) => ({ ...entry, record: i + 1 }))), records: alike(records), graphs, options: { all: options, records: [] } };
  return { info, tensors: [], devices: devicesOf(info, new SocTable(socs)), socs, problems };
}

/** Binaries of one target are told apart by their names, as `pack --dlc` does. */
function alike(records: readonly InfoRecord[]): InfoRecord[] {
  const target = ({ key }: InfoRecord): string => JSON.stringify([key?.qnn_soc, key?.arch, key?.vtcm_mb, key?.sdk]);
  const counts = new Map<string, number>();
  for (const record of records) if (record.key !== null) counts.set(target(record), (counts.get(target(record)) ?? 0) + 1);
  return records.map((record) => (record.key !== null && (counts.get(target(record)) ?? 0) > 1 ? { ...record, key: { ...record.key, variant: record.name } } : record));
}
