// Says what the reader makes of files, one after the other: tests/reference/third_reader_test.py compares its answers
// with those of the library and of the Python reader.
//
// In: 4 bytes of size and 8 of generation (0: the newest), little-endian, then the file. Out: a line of JSON for each.
import { stdin, stdout } from "node:process";

import { Container, FatctxError, fromBuffer, toHex, type RecordRow, type Version } from "../src/index.js";
import type { Option, GraphTensor } from "../src/description.js";
import { Budget } from "../src/payload.js";

type Json = unknown;

function refusal(error: unknown): Json {
  if (!(error instanceof FatctxError)) throw error;
  return error.code === "not_found" ? null : { errors: [[error.code, error.rule]] };
}

async function answer(ask: () => Promise<Json>): Promise<Json> {
  try {
    return await ask();
  } catch (error) {
    return refusal(error);
  }
}

/** The bound of a call's work is the caller's, and no rule: here it is out of the way. */
const unlimited = () => new Budget(Number.MAX_SAFE_INTEGER);

const numbers = (version?: Version) => (version?.some((part) => part !== 0) ? version : null);

async function sayRecord(container: Container, record: RecordRow): Promise<Json> {
  const { key } = record;
  const first = record.slices[0];
  const bytes = async () => {
    const whole = await container.payload.checkedBytes(record, "xxh3", unlimited());
    return { sha256: toHex(container.hashes.sha256(whole)) };
  };
  const otherwise = record.codec !== 0 || record.recipe;
  return {
    id: record.id,
    type: record.typeName.startsWith("type ") ? "unknown" : record.typeName,
    name: record.name,
    size: record.logicalSize,
    stored: record.storedSize,
    slices: record.slices.length,
    offset: first === undefined ? 0 : first.segment.offset + first.offset,
    must_map: record.mustMap,
    hash: toHex(record.logicalHash),
    weights: record.references.filter((reference) => reference.kind === 1).map((reference) => reference.to.id),
    key: {
      group: key?.group ?? "",
      unit: key?.unit ?? "",
      backend: key?.backend ?? "",
      part: key?.part ?? "",
      arch: key?.arch ?? "",
      features: key === null || key.features === "" ? [] : key.features.split(","),
      variant: key?.variant ?? "",
      soc: key?.qnnSoc ?? 0,
      vtcm: key?.vtcmMb ?? 0,
      generic: key?.generic ?? false,
      sdk: numbers(key?.sdk),
      api: numbers(key?.api),
      blob: numbers(key?.blob),
    },
    // Of a recipe the codec is its program's.
    codec: record.recipe ? 0 : record.codec,
    recipe: record.recipe,
    tensors:
      record.type !== 2
        ? null
        : await answer(async () =>
            (await container.tensors(record))?.map((tensor) => ({
              name: tensor.name,
              dtype: tensor.dtype,
              shape: tensor.shape.map(String),
              offset: tensor.offset,
              size: tensor.size,
            })) ?? null,
          ),
    bytes: record.codec !== 0 && !record.recipe ? { errors: [["unsupported", null]] } : await answer(bytes),
    yields: otherwise ? await answer(bytes) : null,
  };
}

const options = (list: readonly Option[]) => list.map(({ key, value, owner }) => ({ key, value, owner }));

/** Eight bytes in hex: NaN is not equal to itself, and JSON has none. */
function double(value: number): string {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return toHex(bytes);
}

const tensorsOf = (list: readonly GraphTensor[]) =>
  list.map((tensor) => ({
    name: tensor.name,
    dtype: tensor.dtype,
    shape: tensor.shape.map(String),
    scales: tensor.scales.map((scale) => [double(scale.scale), String(scale.offset)]),
    axis: tensor.axis,
  }));

async function sayDescription(container: Container): Promise<Json> {
  const described = await container.describe();
  return {
    name: described.name,
    writer: described.writer,
    options: options(described.options),
    records: described.records.map((record) => ({
      record_id: record.record_id,
      producer: record.producer,
      format: record.format,
      graphs: record.graphs.map((graph) => ({
        name: graph.name,
        inputs: tensorsOf(graph.inputs),
        outputs: tensorsOf(graph.outputs),
        options: options(graph.options),
        spill_fill_bytes: String(graph.spill_fill_bytes),
      })),
      options: options(record.options),
      notes: record.notes.map(({ device, tool, metric, value, date }) => ({ device, tool, metric, value, date })),
    })),
  };
}

async function say(file: Uint8Array, generation: bigint): Promise<Json> {
  let container: Container;
  try {
    container = await Container.open(fromBuffer(file), generation === 0n ? {} : { generation });
  } catch (error) {
    if (!(error instanceof FatctxError)) throw error;
    return { refused: [[error.code, error.rule]] };
  }
  const records: Json[] = [];
  for (const record of container.records) records.push(await sayRecord(container, record));
  // An earlier generation is as if the file ended with it.
  const end = container.place === container.header.live ? container.fileSize : container.place.committedEnd;
  const dead = container.tables.segments.filter((segment) => segment.kind === "dead");
  return {
    uuid: container.uuid,
    generation: String(container.generation),
    sealed: container.sealed,
    file_size: end,
    committed_end: container.place.committedEnd,
    tail_bytes: end - container.place.committedEnd,
    toc_hash: toHex(container.place.tocHash),
    signed: container.keyId !== null,
    key_id: container.keyId ?? "",
    degraded: container.findings.length,
    dead_bytes: dead.reduce((sum, segment) => sum + segment.size, 0),
    earlier_generations: container.tables.generations.map((row) => [String(row.number), row.committedEnd]),
    records,
    description: await answer(() => sayDescription(container)),
    whole: (await container.verify()).map(({ error }) => [error.code, error.rule]),
  };
}

let pending = new Uint8Array(0);
for await (const chunk of stdin as AsyncIterable<Buffer>) {
  const joined = new Uint8Array(pending.length + chunk.length);
  joined.set(pending);
  joined.set(chunk, pending.length);
  pending = joined;
  for (;;) {
    if (pending.length < 12) break;
    const view = new DataView(pending.buffer, pending.byteOffset);
    const size = view.getUint32(0, true);
    if (pending.length < 12 + size) break;
    const said = await say(pending.subarray(12, 12 + size), view.getBigUint64(4, true));
    stdout.write(`${JSON.stringify(said)}\n`);
    pending = pending.slice(12 + size);
  }
}
