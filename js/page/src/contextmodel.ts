// A model of ONNX with EPContext nodes that somebody opens in the page, as the data of the page: each node is a record.
// Weights and embedded binaries are stepped over and never read.
import type { Source } from "fatctx-reader";
import { SocTable, parseVersion, versionText, type SocFile } from "fatctx-reader/select";

import type { FileData, GraphTensor, Info, InfoKey, InfoRecord, Option } from "./data.js";
import { devicesOf, otherFile, type Part } from "./otherfile.js";

const WINDOW = 64 * 1024;
const MOST_FIELDS = 1_000_000;
const MOST_TEXT = 4096;

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

const wrong = (what: string): Error => new Error(`ONNX model: ${what}`);

/** A field of a protobuf message: where its bytes are, or its number. */
interface Field {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  readonly value: bigint;
}

/** Reads a file by windows, so that steps over large fields cost nothing. */
class Messages {
  private start = 0;
  private bytes: Uint8Array = new Uint8Array();
  private fields = 0;

  constructor(
    private readonly source: Source,
    private readonly fileSize: number,
  ) {}

  private async byte(at: number): Promise<number> {
    if (at < this.start || at >= this.start + this.bytes.length) {
      this.start = at;
      this.bytes = await this.source.read(at, Math.min(WINDOW, this.fileSize - at));
    }
    return this.bytes[at - this.start] as number;
  }

  private async varint(at: number, end: number): Promise<[value: bigint, next: number]> {
    let value = 0n;
    for (let i = 0; i < 10 && at + i < end; i++) {
      const byte = await this.byte(at + i);
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if (byte < 0x80) return [value, at + i + 1];
    }
    throw wrong(`no number at byte ${at}`);
  }

  async *in(start: number, end: number): AsyncGenerator<Field> {
    for (let at = start; at < end; ) {
      if (++this.fields > MOST_FIELDS) throw wrong(`more than ${MOST_FIELDS} fields`);
      const [tag, next] = await this.varint(at, end);
      const number = Number(tag >> 3n);
      const type = Number(tag & 7n);
      if (type === VARINT) {
        const [value, after] = await this.varint(next, end);
        yield { number, offset: next, size: 0, value };
        at = after;
      } else if (type === BYTES) {
        const [size, offset] = await this.varint(next, end);
        if (size > BigInt(end - offset)) throw wrong(`the field at byte ${at} is longer than what it is in`);
        yield { number, offset, size: Number(size), value: 0n };
        at = offset + Number(size);
      } else if (type === FIXED64 || type === FIXED32) {
        at = next + (type === FIXED64 ? 8 : 4);
        if (at > end) throw wrong(`the field at byte ${next} is longer than what it is in`);
      } else {
        throw wrong(`byte ${at} begins no field`);
      }
    }
  }

  inside(field: Field): AsyncGenerator<Field> {
    return this.in(field.offset, field.offset + field.size);
  }

  async text(field: Field): Promise<string> {
    if (field.size > MOST_TEXT) throw wrong(`a text of ${field.size} bytes; at most ${MOST_TEXT} are read`);
    return new TextDecoder().decode(await this.source.read(field.offset, field.size));
  }
}

const TYPES: Readonly<Record<string, string>> = {
  1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16", 21: "uint4", 22: "int4",
};

async function dimensionOf(messages: Messages, dimension: Field): Promise<number> {
  for await (const field of messages.inside(dimension)) if (field.number === 1) return Number(BigInt.asIntN(64, field.value));
  return -1;
}

/** A ValueInfoProto: name, type, shape. */
async function tensorOf(messages: Messages, value: Field): Promise<GraphTensor> {
  const tensor = { name: "", dtype: "", shape: [] as number[] };
  for await (const field of messages.inside(value)) {
    if (field.number === 1) tensor.name = await messages.text(field);
    if (field.number !== 2) continue;
    for await (const type of messages.inside(field)) {
      if (type.number !== 1) continue;
      for await (const part of messages.inside(type)) {
        if (part.number === 1) tensor.dtype = TYPES[String(part.value)] ?? `type ${part.value}`;
        if (part.number !== 2) continue;
        for await (const dimension of messages.inside(part)) if (dimension.number === 1) tensor.shape.push(await dimensionOf(messages, dimension));
      }
    }
  }
  return tensor;
}

interface ContextNode {
  name: string;
  readonly texts: Map<string, string>;
  readonly numbers: Map<string, bigint>;
  /** The value of ep_cache_context. */
  context: Field | null;
}

async function attributeInto(messages: Messages, attribute: Field, node: ContextNode): Promise<void> {
  let name = "";
  let text: Field | null = null;
  let number: bigint | null = null;
  for await (const field of messages.inside(attribute)) {
    if (field.number === 1) name = await messages.text(field);
    if (field.number === 3) number = BigInt.asIntN(64, field.value);
    if (field.number === 4) text = field;
  }
  if (number !== null) node.numbers.set(name, number);
  if (text !== null && name === "ep_cache_context") node.context = text;
  else if (text !== null && text.size <= MOST_TEXT) node.texts.set(name, await messages.text(text));
}

/** The node, or null if it is no EPContext node. */
async function nodeOf(messages: Messages, node: Field): Promise<ContextNode | null> {
  const found: ContextNode = { name: "", texts: new Map(), numbers: new Map(), context: null };
  let operator = "";
  const attributes: Field[] = [];
  for await (const field of messages.inside(node)) {
    if (field.number === 3) found.name = await messages.text(field);
    if (field.number === 4) operator = await messages.text(field);
    if (field.number === 5) attributes.push(field);
  }
  if (operator !== "EPContext") return null;
  for (const attribute of attributes) await attributeInto(messages, attribute, found);
  return found;
}

interface Graph {
  name: string;
  others: number;
  readonly nodes: ContextNode[];
  readonly inputs: GraphTensor[];
  readonly outputs: GraphTensor[];
}

async function graphOf(messages: Messages, graph: Field): Promise<Graph> {
  const found: Graph = { name: "", others: 0, nodes: [], inputs: [], outputs: [] };
  for await (const field of messages.inside(graph)) {
    if (field.number === 1) {
      const node = await nodeOf(messages, field);
      if (node === null) found.others++;
      else found.nodes.push(node);
    }
    if (field.number === 2) found.name = await messages.text(field);
    if (field.number === 11) found.inputs.push(await tensorOf(messages, field));
    if (field.number === 12) found.outputs.push(await tensorOf(messages, field));
  }
  return found;
}

const QNN_NAMES = ["qnnexecutionprovider", "qnn", "qairtexport"];

function keyOf(node: ContextNode): InfoKey {
  const source = (node.texts.get("source") ?? "").toLowerCase();
  const backend = QNN_NAMES.includes(source) ? "htp" : source.replace(/executionprovider$/, "");
  const version = /^v?(\d+(?:\.\d+){0,2})/.exec(node.texts.get("ep_sdk_version") ?? "")?.[1];
  return { ...(backend === "" ? {} : { backend }), ...(version === undefined ? {} : { sdk: versionText(parseVersion(version)) }) };
}

export async function modelData(source: Source, socs: SocFile): Promise<FileData> {
  const size = await source.size();
  const messages = new Messages(source, size);
  const heads = new Map<number, string>();
  let graph: Graph | null = null;
  for await (const field of messages.in(0, size)) {
    if (field.number === 2 || field.number === 3) heads.set(field.number, await messages.text(field));
    if (field.number === 7) graph = await graphOf(messages, field);
  }
  if (graph === null) throw wrong("it has no graph, so this file is neither a container nor a model");
  if (graph.nodes.length === 0) throw wrong(`${graph.others} nodes and none of them EPContext: no compiler has made it for a device`);
  const parts: Part[] = [];
  const outside: string[] = [];
  const options: { record: number; options: Option[] }[] = [];
  const records: InfoRecord[] = [];
  for (const [i, node] of graph.nodes.entries()) {
    const record = i + 1;
    const embedded = (node.numbers.get("embed_mode") ?? 1n) !== 0n;
    const bytes = embedded ? (node.context?.size ?? 0) : 0;
    const said = [...node.texts, ...[...node.numbers].map(([key, value]) => [key, String(value)] as const)];
    if (embedded && node.context !== null && bytes > 0) parts.push({ record, offset: node.context.offset, size: bytes });
    if (!embedded && node.context !== null) {
      const name = await messages.text(node.context);
      said.push(["ep_cache_context", name]);
      outside.push(name);
    }
    options.push({ record, options: said.map(([key, value]) => ({ owner: "ep.context", key, value })) });
    records.push({
      id: record, type: "context_binary", name: node.name || node.texts.get("partition_name") || `node ${i}`, size_bytes: bytes, stored_bytes: bytes, codec: "none",
      slice_count: bytes > 0 ? 1 : 0, recipe: false, file_offset: bytes > 0 ? (node.context?.offset ?? null) : null, xxh3_128: "", key: keyOf(node), weights: [],
      producer: [heads.get(2), heads.get(3)].filter(Boolean).join(" ") || null,
    });
  }
  const info: Info = {
    ...otherFile("ONNX model with EPContext nodes", source.name, size, parts.sort((a, b) => a.offset - b.offset)),
    model: graph.name,
    records,
    graphs: [{ record: 1, name: graph.name, inputs: graph.inputs, outputs: graph.outputs }],
    options: { all: [], records: options },
  };
  const problems = outside.length === 0 ? [] : [`the binaries are in other files: ${[...new Set(outside)].join(", ")}`];
  return { info, tensors: [], devices: devicesOf(info, new SocTable(socs)), socs, problems };
}
