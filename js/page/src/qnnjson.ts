// The JSON that the tools for Snapdragon write beside a model, as the data of the page: of qnn-context-binary-utility
// (`info.graphs`) or of a converter (`graph.tensors`, `graph.nodes`).
import type { Source } from "fatctx-reader";
import { SocTable, type SocFile } from "fatctx-reader/select";

import type { FileData, GraphNode, GraphTensor, Info, InfoGraph, Option } from "./data.js";
import { devicesOf, otherFile } from "./otherfile.js";
import { factsOfMember, graphOf, inner, isObject, listOf, tensorOf, type Json, type JsonObject } from "./qnn.js";

const MOST_BYTES = 64 << 20;
const OWN_PACKAGE = "qti.aisw";
const LONGEST_VALUE = 120;
const RECORD = 1;
/** The kinds of tensors that a converter lists. */
const INPUT = 0;
const OUTPUT = 1;
const WEIGHT = 4;

const wrong = (what: string): Error => new Error(`JSON: ${what}`);

/** {"306": 1} is 1, and of a tensor the data. */
function parameterText(value: Json): string {
  const only = isObject(value) && Object.keys(value).length === 1 ? (Object.values(value)[0] as Json) : value;
  const data = isObject(only) && only["data"] !== undefined ? only["data"] : only;
  const words = typeof data === "string" ? data : JSON.stringify(data);
  return words.length <= LONGEST_VALUE ? words : `${words.slice(0, LONGEST_VALUE)}... ${words.length} characters`;
}

function nodeOf(name: string, node: Json, index: number, tensors: ReadonlyMap<string, GraphTensor>, weights: ReadonlySet<string>): GraphNode {
  if (!isObject(node) || typeof node["type"] !== "string") throw wrong(`node "${name}" has no type`);
  const own = node["package"];
  const named = (key: string) => listOf(node[key]).map((one) => {
    const tensor = tensors.get(String(one));
    return { name: String(one), dtype: tensor?.dtype ?? "", shape: tensor?.shape ?? null, weight: weights.has(String(one)) };
  });
  const parameters = ["scalar_params", "tensor_params"].flatMap((list) => {
    const said = node[list];
    return isObject(said) ? Object.entries(said).map(([key, value]) => ({ key, value: parameterText(value) })) : [];
  });
  const macs = node["macs_per_inference"];
  const counted = typeof macs === "number" ? macs : typeof macs === "string" && /^\d{1,18}$/.test(macs) ? Number(macs) : null;
  return {
    index, name, op: typeof own === "string" && own !== "" && own !== OWN_PACKAGE ? `${own}:${node["type"]}` : node["type"],
    inputs: named("input_names"), outputs: named("output_names"), parameters, macs: counted,
  };
}

function convertedGraph(graph: JsonObject): InfoGraph {
  const listed = isObject(graph["tensors"]) ? Object.entries(graph["tensors"]) : [];
  const tensors = new Map(listed.map(([name, tensor]) => [name, tensorOf(name, tensor)]));
  const kind = (tensor: Json): Json | undefined => (isObject(tensor) ? tensor["type"] : undefined);
  const id = (tensor: Json): number => (isObject(tensor) ? Number(tensor["id"] ?? 0) : 0);
  const ofKind = (wanted: number): GraphTensor[] =>
    listed
      .filter(([, tensor]) => kind(tensor) === wanted)
      .sort(([a, x], [b, y]) => id(x) - id(y) || (a < b ? -1 : 1))
      .flatMap(([name]) => tensors.get(name) ?? []);
  const weights = new Set(listed.filter(([, tensor]) => kind(tensor) === WEIGHT).map(([name]) => name));
  const nodes = isObject(graph["nodes"]) ? Object.entries(graph["nodes"]).map(([name, node], i) => nodeOf(name, node, i, tensors, weights)) : [];
  return { record: RECORD, name: "graph", inputs: ofKind(INPUT), outputs: ofKind(OUTPUT), ...(nodes.length > 0 ? { nodes } : {}) };
}

export async function qnnJsonData(source: Source, socs: SocFile): Promise<FileData> {
  const size = await source.size();
  if (size > MOST_BYTES) throw wrong(`${size} bytes; at most ${MOST_BYTES} are read`);
  const json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await source.read(0, size))) as Json;
  const about = isObject(json) ? json["info"] : undefined;
  const converted = isObject(json) ? json["graph"] : undefined;
  const compiled = isObject(about) && Array.isArray(about["graphs"]);
  if (!isObject(json) || !(compiled || (isObject(converted) && isObject(converted["tensors"])))) {
    throw wrong("neither info.graphs, as qnn-context-binary-utility writes it, nor graph.tensors, as the converters do");
  }
  const graphs = compiled ? listOf(about["graphs"]).map((graph) => graphOf(inner(graph), RECORD)) : [convertedGraph(converted as JsonObject)];
  const facts: Option[] = [];
  for (const [key, value] of Object.entries(json)) {
    if (key === "graph") continue;
    if (key !== "info" || !isObject(value)) factsOfMember(key, value, facts);
    else for (const [name, fact] of Object.entries(value)) if (!["graphs", "contextTensors", "buildId"].includes(name)) factsOfMember(name, fact, facts);
  }
  const build = isObject(about) && typeof about["buildId"] === "string" ? about["buildId"] : null;
  const info: Info = {
    ...otherFile("JSON of a tool for Snapdragon", source.name, size, [{ record: RECORD, offset: 0, size }]),
    purpose: "It describes a model, and has no bytes of it.",
    records: [{
      id: RECORD, type: "opaque", name: source.name, size_bytes: size, stored_bytes: size, codec: "none", slice_count: 1, recipe: false, file_offset: 0,
      xxh3_128: "", key: null, weights: [], format: "qnn-json", producer: build,
    }],
    graphs,
    options: { all: facts, records: [] },
  };
  return { info, tensors: [], devices: devicesOf(info, new SocTable(socs)), socs, problems: [] };
}
