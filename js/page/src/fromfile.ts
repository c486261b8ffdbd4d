// A file that somebody opens in the page, as the same data that `fatctx report` writes. Nothing is sent anywhere: a
// dropped file is read in slices, and an address is only asked for ranges of itself.
import { Container, type Option as StoredOption, type RecordFacts, type Source } from "fatctx-reader";
import { SocTable, UNSTATED, versionText, type SocFile } from "fatctx-reader/select";

import type { FileData, Info, InfoGraph, InfoKey, InfoRecord, Option, TensorTable } from "./data.js";
import { dlcData } from "./dlc.js";
import { modelData } from "./contextmodel.js";
import { devicesOf } from "./otherfile.js";
import { qnnJsonData } from "./qnnjson.js";

const MOST_TENSORS = 5000;
const CODECS = ["none", "lz4"];

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function infoKey(record: Container["records"][number]): InfoKey | null {
  const { key } = record;
  if (key === null) return null;
  const version = (value: typeof UNSTATED) => (value.some((part) => part !== 0) ? versionText(value) : undefined);
  const stated: Record<string, unknown> = {
    group: key.group || undefined,
    unit: key.unit || undefined,
    backend: key.backend || undefined,
    qnn_soc: key.qnnSoc || undefined,
    part: key.part || undefined,
    arch: key.arch || undefined,
    features: key.features || undefined,
    vtcm_mb: key.vtcmMb || undefined,
    sdk: version(key.sdk),
    variant: key.variant || undefined,
    api: version(key.api),
    blob: version(key.blob),
    generic: key.generic || undefined,
  };
  return Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined));
}

const optionsOf = (options: readonly StoredOption[]): Option[] => options.map(({ owner, key, value }) => ({ owner, key, value }));

function graphsOf(facts: RecordFacts): InfoGraph[] {
  const tensors = (list: RecordFacts["graphs"][number]["inputs"]) =>
    list.map((tensor) => ({
      name: tensor.name,
      dtype: tensor.dtype,
      shape: tensor.shape.map(Number),
      ...(tensor.scales.length > 0
        ? { scales: tensor.scales.map(({ scale, offset }) => ({ scale, offset: Number(offset) })), axis: tensor.axis }
        : {}),
    }));
  return facts.graphs.map((graph) => ({
    record: facts.record_id,
    name: graph.name,
    inputs: tensors(graph.inputs),
    outputs: tensors(graph.outputs),
    ...(graph.spill_fill_bytes > 0n ? { spill_fill_bytes: Number(graph.spill_fill_bytes) } : {}),
    ...(graph.options.length > 0 ? { options: optionsOf(graph.options) } : {}),
  }));
}

function extentsOf(container: Container): Info["extents"] {
  const { segments, records } = container.tables;
  const { place, header } = container;
  const users = new Map<number, Set<number>>();
  for (const record of records) {
    for (const { segment } of record.slices) users.set(segment.index, (users.get(segment.index) ?? new Set()).add(record.id));
  }
  const extents = [
    { kind: "header", offset: 0, size: header.prologue.form.headerSize, segment: null, generation: 0, records: [], leaves: null },
    ...place.tocOffset.map((offset, i) => ({
      kind: `toc copy ${i}`, offset, size: place.tocSize, segment: null, generation: 0, records: [], leaves: null,
    })),
    ...segments.map((segment) => ({
      kind: segment.kind === "leaves" && segment.hashAlgorithm === 2 ? "sha256 leaves" : segment.kind,
      offset: segment.offset,
      size: segment.size,
      segment: segment.index,
      generation: Number(segment.generation),
      records: [...(users.get(segment.index) ?? [])].sort((a, b) => a - b),
      leaves: segment.kind === "payload" || segment.kind === "packed" ? { count: Math.ceil(segment.size / 65536), xxh3_128: hexOf(segment.leavesHash) } : null,
    })),
  ].sort((a, b) => a.offset - b.offset);
  return {
    extents,
    records: records.map((record) => ({
      record: record.id,
      slices: record.slices.map(({ segment, offset, size }) => ({ segment: segment.index, offset: segment.offset + offset, size })),
    })),
  };
}

async function sharingOf(container: Container): Promise<Info["sharing"]> {
  const { records, pairs, logical, stored } = await container.sharing();
  return {
    records: records.map(({ record, own, shared }, i) => ({
      record: record.id,
      own_bytes: own,
      shared_bytes: shared,
      layout_group: null,
      shared_with: records.flatMap(({ record: other }, j) => (i === j || !pairs[i]?.[j] ? [] : [{ record: other.id, bytes: pairs[i]?.[j] ?? 0 }])),
    })),
    layout_groups: [],
    totals: { input_bytes: logical, off_bytes: logical, stored_bytes: stored, pages: [], bytes_at_most: null },
    targets: [],
  };
}

const startsWith = (bytes: Uint8Array, word: string): boolean => [...word].every((letter, i) => bytes[i] === letter.charCodeAt(0));

/** Reads a container, a DLC, a model with EPContext nodes, or the JSON of a tool for Snapdragon. */
export async function fileData(source: Source, socs: SocFile): Promise<FileData> {
  const head = await source.read(0, Math.min(await source.size(), 8));
  if (startsWith(head, "PK\u0003\u0004")) return dlcData(source, socs);
  // A model of ONNX begins with its version, a small number in the first field.
  if (head[0] === 0x08 && (head[1] ?? 0x80) < 0x80) return modelData(source, socs);
  if (/^(\u00ef\u00bb\u00bf)?\s*\{/.test(String.fromCharCode(...head))) return qnnJsonData(source, socs);
  return containerData(source, socs);
}

async function containerData(source: Source, socs: SocFile): Promise<FileData> {
  const container = await Container.open(source);
  const problems: string[] = [];
  const attempt = async <T>(what: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await what();
    } catch (error) {
      problems.push(String(error));
      return otherwise;
    }
  };
  const description = await attempt(() => container.describe(), { name: "", writer: "", options: [], records: [] });
  const facts = new Map(description.records.map((record) => [record.record_id, record]));
  const weights = (record: Container["records"][number]) =>
    record.references.filter((reference) => reference.kind === 1).map((reference) => reference.to.id);
  const records = container.records.map((record): InfoRecord => {
    const own = facts.get(record.id);
    const first = record.slices[0];
    return {
      id: record.id,
      type: record.typeName.startsWith("type ") ? "unknown" : record.typeName,
      name: record.name,
      size_bytes: record.logicalSize,
      stored_bytes: record.storedSize,
      codec: CODECS[record.codec] ?? "unknown",
      slice_count: record.slices.length,
      recipe: record.recipe,
      file_offset: first === undefined ? null : first.segment.offset + first.offset,
      xxh3_128: hexOf(record.logicalHash),
      key: infoKey(record),
      weights: weights(record),
      format: own?.format || null,
      producer: own?.producer || null,
      ...(own !== undefined && own.notes.length > 0 ? { notes: own.notes } : {}),
    };
  });
  const { place } = container;
  const info: Info = {
    file: source.name,
    model: description.name,
    format: `1.${container.header.prologue.minorVersion}`,
    writer: description.writer,
    uuid: container.uuid,
    generation: Number(container.generation),
    earlier_generations: container.tables.generations.map((row) => ({ number: Number(row.number), committed_end: row.committedEnd })),
    sealed: container.sealed,
    signed: container.keyId !== null,
    key_id: container.keyId,
    toc_hash: hexOf(place.tocHash),
    file_size: container.fileSize,
    committed_end: place.committedEnd,
    tail_bytes: container.fileSize - place.committedEnd,
    dead_bytes: container.tables.segments.filter((segment) => segment.kind === "dead").reduce((sum, segment) => sum + segment.size, 0),
    degraded: container.findings.map((finding) => `${finding.what}, at byte ${finding.offset}`),
    records,
    graphs: description.records.flatMap(graphsOf),
    options: {
      all: optionsOf(description.options),
      records: description.records.filter((record) => record.options.length > 0).map((record) => ({ record: record.record_id, options: optionsOf(record.options) })),
    },
    extents: extentsOf(container),
  };
  const sharing = await attempt(() => sharingOf(container), undefined);
  const tensors: TensorTable[] = [];
  for (const blob of container.records) {
    const table = await attempt(() => container.tensors(blob), null);
    if (table === null) continue;
    const rows = table.slice(0, MOST_TENSORS).map(({ name, dtype, shape, offset, size, alias }) => ({
      name, dtype, shape: shape.map(Number), offset_in_blob: offset, size_bytes: size, alias,
    }));
    tensors.push({ record: blob.id, count: table.length, tensors: rows });
  }
  return {
    info: sharing === undefined ? info : { ...info, sharing },
    tensors,
    devices: devicesOf(info, new SocTable(socs)),
    socs,
    problems,
  };
}

/** The built-in table of SoCs, from its CSV file (docs/selection.md, section 10). */
export function parseSocTable(csv: string): SocFile {
  let version = "";
  const boundaries: number[] = [];
  const quirks: { record: string; device: string; source: string; reason: string }[] = [];
  let heads: string[] | null = null;
  const socs: SocFile["socs"][number][] = [];
  for (const line of csv.split("\n")) {
    if (line.trim() === "") continue;
    const cells = cellsOf(line);
    if (line.startsWith("#")) {
      if (cells[0] === "#version") version = cells[1] ?? "";
      if (cells[0] === "#boundary") boundaries.push(Number((cells[1] ?? "").replace("v", "")));
      if (cells[0] === "#quirk") quirks.push({ record: cells[1] ?? "", device: cells[2] ?? "", source: cells[3] ?? "", reason: cells[4] ?? "" });
      continue;
    }
    if (heads === null) {
      heads = cells;
      continue;
    }
    const row = Object.fromEntries(heads.map((head, i) => [head, cells[i] ?? ""]));
    const text = (name: string) => (row[name] ? { [name]: row[name] } : {});
    const number = (name: string) => (row[name] ? { [name]: Number(row[name]) } : {});
    socs.push({
      part: row["part"] ?? "",
      ...text("vendor"), ...text("name"), ...text("alias_of"), ...text("arch"), ...text("runtime"),
      ...number("qnn_soc"), ...number("vtcm_mb"),
      ...(row["aliases"] ? { aliases: row["aliases"].split(";") } : {}),
    });
  }
  return { version, boundaries, quirks, socs: withSharedFacts(socs) };
}

const SHARED_FACTS = ["qnn_soc", "arch", "vtcm_mb", "runtime"] as const;

/** A row that spells another part differently shares its facts, whichever of both rows states them. */
function withSharedFacts(socs: SocFile["socs"]): SocFile["socs"] {
  return socs.map((soc) => {
    const relatives = socs.filter((other) => other.alias_of === soc.part || other.part === soc.alias_of);
    const facts = Object.fromEntries(
      SHARED_FACTS.map((fact) => [fact, soc[fact] ?? relatives.find((other) => other[fact] !== undefined)?.[fact]]).filter(
        ([, value]) => value !== undefined,
      ),
    );
    return { ...soc, ...facts };
  });
}

function cellsOf(line: string): string[] {
  const cells: string[] = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const sign = line[i] as string;
    if (quoted && sign === '"' && line[i + 1] === '"') {
      cell += sign;
      i++;
    } else if (sign === '"') {
      quoted = !quoted;
    } else if (sign === "," && !quoted) {
      cells.push(cell);
      cell = "";
    } else if (sign !== "\r") {
      cell += sign;
    }
  }
  return [...cells, cell];
}
