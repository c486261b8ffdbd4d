// What the tools for Snapdragon say about graphs, in the metadata of a DLC and in JSON files: docs/dlc.md.
import type { GraphTensor, InfoGraph, Option } from "./data.js";

const OWNER = "qnn";
const MOST_FACTS = 512;
const LONGEST_KEY = 255;
const MOST_BYTES = 256 << 10;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
export const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
/** Writers spell a key in several ways: "dspArch", "dsp_arch", "DSP Arch". */
export const folded = (key: string): string => key.toLowerCase().replace(/[_ -]/g, "");

export function member(object: Json | undefined, key: string): Json | undefined {
  if (!isObject(object)) return undefined;
  return Object.entries(object).find(([name]) => folded(name) === key)?.[1];
}
/** Some writers put the members of an object one level deeper. */
export const inner = (value: Json | undefined): Json | undefined => (isObject(value) && isObject(value["info"]) ? value["info"] : value);


export function naturalOf(value: Json): number {
  const found = typeof value === "string" ? Number(/^[vV]?(\d{1,9})$/.exec(value)?.[1] ?? 0) : value;
  return typeof found === "number" && Number.isSafeInteger(found) && found > 0 ? found : 0;
}

const TYPES: Readonly<Record<string, string>> = {
  FLOAT_16: "float16", FLOAT_32: "float32", FLOAT_64: "float64", BFLOAT_16: "bfloat16", BOOL_8: "bool",
};
/** The second hexadecimal digit of a type's number, which converters write; the others are its bits. */
const KINDS = ["int", "uint", "float", "int", "uint", "bool"];

export function typeName(value: Json | undefined): string {
  if (typeof value === "number") {
    const kind = KINDS[value >> 8];
    const bits = (value & 0xff).toString(16);
    return kind === undefined || value <= 0 ? String(value) : kind === "bool" ? kind : `${kind}${Number(bits)}`;
  }
  const word = String(value ?? "").replace("QNN_DATATYPE_", "");
  const [, sign, bits] = /^(U?)(?:INT|SFIXED_POINT|UFIXED_POINT|FIXED_POINT)_(\d+)$/.exec(word) ?? [];
  return TYPES[word] ?? (bits === undefined ? word : `${sign || word.startsWith("UF") ? "u" : ""}int${bits}`);
}

const ENCODINGS = ["QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", "QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET", "QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET"];
const isNumber = (value: Json | undefined): value is number => typeof value === "number";

/** Type, shape and scales of a tensor. Its members have the words of the utility or those of a converter. */
export function tensorOf(name: string, tensor: Json | undefined): GraphTensor {
  const how = member(tensor, "quantizeparams") ?? member(tensor, "quantparams");
  const said = member(how, "quantizationencoding") ?? member(how, "encoding");
  const encoding = isNumber(said) ? said : ENCODINGS.indexOf(String(said));
  const defined = ["QNN_DEFINITION_DEFINED", 1].includes(member(how, "definition") as string | number);
  const along = member(how, "axisscaleoffset");
  const scaleOf = (pair: Json | undefined) => ({ scale: member(pair, "scale"), offset: member(pair, "offset") });
  const pairs =
    !defined ? []
    : encoding === 0 ? [scaleOf(member(how, "scaleoffset"))]
    : encoding === 1 ? listOf(member(along, "scaleoffsets")).map(scaleOf)
    : encoding === 2 ? [scaleOf(member(how, "bwscaleoffset"))]
    : [];
  const scales = pairs.filter((pair): pair is { scale: number; offset: number } => isNumber(pair.scale) && isNumber(pair.offset));
  const axis = member(along, "axis");
  return {
    name,
    dtype: typeName(member(tensor, "datatype")),
    shape: listOf(member(tensor, "dimensions") ?? member(tensor, "dims")).map(Number),
    ...(scales.length > 0 ? { scales, axis: isNumber(axis) ? axis : 0 } : {}),
  };
}

function tensorsOf(list: Json | undefined): GraphTensor[] {
  return listOf(list).map((one) => {
    const tensor = inner(one);
    return tensorOf(String(member(tensor, "name") ?? ""), tensor);
  });
}

/** A graph as the metadata of a DLC and the context-binary utility describe it. */
export function graphOf(graph: Json | undefined, record: number): InfoGraph {
  const blobs = ["graphblobinfo", "graphblobinfov2"].map((part) => inner(member(graph, part)));
  const numbers = [...blobs.flatMap((blob) => (isObject(blob) ? Object.entries(blob) : [])), ...(isObject(graph) ? Object.entries(graph).filter(([key]) => /^(start|end)OpIndex$/.test(key)) : [])];
  const options = numbers.flatMap(([key, value]): Option[] => (typeof value === "number" && folded(key) !== "spillfillbuffersize" ? [{ owner: OWNER, key, value: String(value) }] : []));
  const spill = Math.max(0, ...blobs.map((blob) => naturalOf(member(blob, "spillfillbuffersize") ?? 0)));
  return {
    record,
    name: String(member(graph, "graphname") ?? member(graph, "name") ?? ""),
    inputs: tensorsOf(member(graph, "graphinputs")),
    outputs: tensorsOf(member(graph, "graphoutputs")),
    ...(spill > 0 ? { spill_fill_bytes: spill } : {}),
    ...(options.length > 0 ? { options } : {}),
  };
}

function addFact(key: string, value: string, options: Option[]): void {
  const bytes = options.reduce((sum, fact) => sum + fact.key.length + fact.value.length, key.length + value.length);
  if (value !== "" && key.length <= LONGEST_KEY && options.length < MOST_FACTS && bytes <= MOST_BYTES) options.push({ owner: OWNER, key, value });
}

/** Adds the lines `key=value` of a text. */
export function factsOfLines(words: string, options: Option[]): void {
  for (const line of words.split(/\r?\n/)) {
    const equals = line.indexOf("=");
    if (equals > 0) addFact(line.slice(0, equals), line.slice(equals + 1), options);
  }
}

/** Adds texts, numbers and truth values; those of inner objects have keys like "header.version". */
export function factsOfMember(key: string, value: Json, options: Option[]): void {
  if (value === null || key.length > LONGEST_KEY || options.length >= MOST_FACTS) return;
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    if (items.some((item) => typeof item === "object")) for (const item of items) factsOfMember(key, item, options);
    else addFact(key, items.join(", "), options);
  } else if (isObject(value)) {
    const parts = Object.values(value);
    const version = "major" in value && "minor" in value && parts.every((part) => naturalOf(part) > 0 || part === 0);
    if (version) addFact(key, parts.join("."), options);
    else for (const [name, below] of Object.entries(value)) factsOfMember(`${key}.${name}`, below, options);
  } else {
    addFact(key, String(value), options);
  }
}
