// Tables of the page: records, sharing, graphs, tensors, options, notes, generations.
import type { FileData, GraphNode, GraphTensor, Info, InfoGraph, InfoRecord, NodeTensor, TensorRow } from "./data.js";
import { keyOf, recordsById } from "./data.js";
import { hex, percent, plural, shortSize, size, words } from "./format.js";
import { pairsOf, type Piece } from "./pieces.js";
import { h, type Child, type VNode } from "./vnode.js";
import { targetText } from "fatctx-reader/select";

export type Cell = Child | { readonly text: Child; readonly number?: number; readonly class?: string };

function cellOf(cell: Cell): VNode {
  if (typeof cell !== "object" || cell === null || "tag" in cell) return h("td", {}, cell as Child);
  const isNumber = cell.number !== undefined;
  return h("td", { class: cell.class ?? (isNumber ? "number" : null), "data-sort": cell.number }, cell.text);
}

/** Longer tables scroll inside the page. */
const MOST_WITHOUT_SCROLL = 40;

export function table(caption: string, heads: readonly string[], rows: readonly (readonly Cell[])[], id?: string): VNode {
  return h(
    "div",
    { class: rows.length > MOST_WITHOUT_SCROLL ? "scroll tall" : "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h(
      "table",
      { id },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col", tabindex: 0 }, head)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map(cellOf)))),
    ),
  );
}

const bytes = (value: number): Cell => ({ text: shortSize(value), number: value });

function targetOf(record: InfoRecord): string {
  if (record.type !== "context_binary") return "";
  return targetText(keyOf(record));
}

export function recordsTable({ info }: FileData): VNode {
  if (info.form !== undefined) return partsTable(info);
  const sharing = new Map((info.sharing?.records ?? []).map((row) => [row.record, row]));
  const names = recordsById(info);
  const rows = info.records.map((record): Cell[] => {
    const shared = sharing.get(record.id);
    return [
      record.name,
      words(record.type),
      targetOf(record),
      bytes(record.size_bytes),
      shared === undefined ? "" : bytes(shared.own_bytes),
      shared === undefined ? "" : bytes(shared.shared_bytes),
      record.recipe ? "recipe" : record.codec !== "none" ? record.codec : plural(record.slice_count, "piece"),
      record.weights.map((id) => names.get(id)?.name ?? String(id)).join(", "),
      { text: record.xxh3_128, class: "hash" },
    ];
  });
  const heads = ["name", "type", "target", "size", "own", "shared", "stored as", "uses weights", "XXH3"];
  return table(`${plural(rows.length, "record")} of ${info.file}`, heads, rows, "records");
}

/** The records of a file that is no container: it has neither hashes nor slices. */
function partsTable(info: Info): VNode {
  const names = recordsById(info);
  const rows = info.records.map((record): Cell[] => [
    record.name,
    words(record.type),
    targetOf(record),
    record.file_offset === null ? "" : bytes(record.size_bytes),
    record.file_offset === null ? "" : { text: hex(record.file_offset), number: record.file_offset },
    record.weights.map((id) => names.get(id)?.name ?? String(id)).join(", "),
  ]);
  return table(`${plural(rows.length, "part")} of ${info.file}`, ["name", "type", "target", "size", "place", "uses weights"], rows, "records");
}

const MOST_IN_MATRIX = 60;

/** Who shares what with whom: the share of the row's bytes that the column's record uses too. */
export function sharingMatrix({ info }: FileData, pieces: readonly Piece[]): VNode {
  const pairs = pairsOf(pieces);
  const measured = new Map((info.sharing?.records ?? []).map((row) => [row.record, row]));
  const between = (a: number, b: number): number => {
    const row = measured.get(a);
    // The command follows the steps of recipes; the pieces know only which segments a recipe reads.
    if (row !== undefined) return row.shared_with.find((other) => other.record === b)?.bytes ?? 0;
    return pairs.get(a)?.get(b) ?? 0;
  };
  const sharers = info.records.filter((record) => info.records.some((other) => other.id !== record.id && between(record.id, other.id) > 0));
  if (sharers.length === 0) return h("p", {}, "No two records share bytes.");
  const drawn = sharers.slice(0, MOST_IN_MATRIX);
  const head = h("tr", {}, h("td", {}), ...drawn.map((record) => h("th", { scope: "col", class: "slanted" }, h("span", {}, record.name))));
  const rows = drawn.map((record) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, record.name),
      ...drawn.map((other) => {
        if (other.id === record.id) return h("td", { class: "self" }, shortSize(record.size_bytes));
        const both = between(record.id, other.id);
        const share = record.size_bytes === 0 ? 0 : Math.min(both / record.size_bytes, 1);
        const text = both === 0 ? ["–"] : [percent(both, record.size_bytes), h("small", {}, ` ${shortSize(both)}`)];
        const title = `${record.name} and ${other.name}: ${both === 0 ? "nothing" : size(both)}`;
        return h("td", { class: both === 0 ? "none" : "heat", title, "--share": share.toFixed(3) }, ...text);
      }),
    ),
  );
  return h(
    "div",
    {},
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Who shares what with whom" },
      h("table", { class: "matrix" }, h("caption", {}, "Of each row's record: the part that the column's record uses too"), h("thead", {}, head), h("tbody", {}, ...rows)),
    ),
    drawn.length < sharers.length ? h("p", {}, `The first ${drawn.length} of ${sharers.length} records that share.`) : null,
  );
}

/** Of a file without hashes: which records use which weights. */
export function usersOfWeights({ info }: FileData): VNode {
  const blobs = info.records.filter((record) => record.type === "weight_blob");
  if (blobs.length === 0) return h("p", {}, "It has no shared weights.");
  const rows = blobs.map((blob): Cell[] => {
    const users = info.records.filter((record) => record.weights.includes(blob.id));
    return [blob.name, bytes(blob.size_bytes), plural(users.length, "record"), users.map((user) => user.name).join(", ")];
  });
  return table("Weights, and the records that use them", ["weights", "bytes", "used by", "records"], rows, "users");
}

export function layoutGroups({ info }: FileData): VNode | null {
  const groups = (info.sharing?.layout_groups ?? []).filter((group) => group.records.length > 1);
  if (groups.length === 0) return null;
  const names = recordsById(info);
  const rows = groups.map((group): Cell[] => [
    group.records.map((id) => names.get(id)?.name ?? String(id)).join(", "),
    bytes(group.size_bytes),
    bytes(group.stored_bytes),
    bytes(group.distinct_bytes),
  ]);
  return table("Layout groups: records that are made of the same bytes", ["records, the base first", "alone", "stored", "different bytes"], rows);
}

export function sharingTotals({ info }: FileData): VNode | null {
  const { sharing } = info;
  if (sharing === undefined) return null;
  const { totals } = sharing;
  const rows: Cell[][] = [
    ["each record alone", bytes(totals.input_bytes), ""],
    ["equal records once", bytes(totals.off_bytes), percent(totals.input_bytes - totals.off_bytes, totals.input_bytes)],
    ["in this file", bytes(totals.stored_bytes), percent(totals.input_bytes - totals.stored_bytes, totals.input_bytes)],
    ...totals.pages.map((page): Cell[] => [
      `least by pages of ${shortSize(page.page_bytes)}`,
      bytes(page.bytes),
      percent(totals.input_bytes - page.bytes, totals.input_bytes),
    ]),
  ];
  if (totals.bytes_at_most !== null) {
    rows.push(["by bytes, at most", bytes(totals.bytes_at_most), percent(totals.input_bytes - totals.bytes_at_most, totals.input_bytes)]);
  }
  return table("What sharing saves, and could save", ["payload", "bytes", "saved"], rows);
}

export function targetsTable({ info }: FileData): VNode | null {
  const targets = info.sharing?.targets ?? [];
  if (targets.length === 0) return null;
  const rows = targets.map((target): Cell[] => [target.target, plural(target.records.length, "record"), bytes(target.alone_bytes)]);
  return table("A file for one chip alone", ["target", "records", "bytes"], rows);
}

function shapeText(shape: readonly number[]): string {
  return `[${shape.map((dimension) => (dimension < 0 ? "?" : String(dimension))).join(", ")}]`;
}

function scaleText(tensor: GraphTensor): string {
  const scales = tensor.scales ?? [];
  const first = scales[0];
  if (first === undefined) return "";
  if (scales.length > 1) return `${scales.length} scales along axis ${tensor.axis ?? 0}`;
  return `scale ${first.scale}, offset ${first.offset}`;
}

const MOST_NODES = 500;
const MOST_TENSORS_IN_LINE = 6;

function nodesTable(graph: InfoGraph, nodes: readonly GraphNode[]): VNode {
  const tensors = (list: readonly NodeTensor[]): string =>
    list.map(({ name, dtype, shape, weight }) => [name, dtype, shape === null ? "" : shapeText(shape), weight ? "weight" : ""].filter((word) => word !== "").join(" ")).join("; ");
  const rows = nodes.slice(0, MOST_NODES).map((node): Cell[] => [
    { text: String(node.index), number: node.index },
    node.op,
    node.name,
    tensors(node.inputs),
    tensors(node.outputs),
    node.parameters.map(({ key, value }) => `${key} ${value}`).join("; "),
    node.macs === null ? "" : { text: node.macs.toLocaleString("en"), number: node.macs },
  ]);
  const cut = nodes.length > MOST_NODES ? `; the first ${MOST_NODES}, and fatctx info --ops lists all` : "";
  return table(`${plural(nodes.length, "operator")} of ${graph.name}${cut}`, ["", "operator", "name", "inputs", "outputs", "parameters", "multiply-adds"], rows);
}

/** "x int32 [1, 128] → y float16 [1, 32000]" */
export function signatureOf(graph: InfoGraph): string {
  const side = (tensors: readonly GraphTensor[]): string => tensors.map(({ name, dtype, shape }) => `${name} ${dtype} ${shapeText(shape)}`).join(", ");
  const [inputs, outputs] = [graph.inputs ?? [], graph.outputs ?? []];
  if (inputs.length + outputs.length === 0) return "inputs and outputs are not stated";
  if (inputs.length + outputs.length > MOST_TENSORS_IN_LINE) return `${plural(inputs.length, "input")}, ${plural(outputs.length, "output")}`;
  return `${side(inputs)} → ${side(outputs)}`;
}

export function quantText(record: InfoRecord): string {
  return Object.entries(record.quant ?? {}).filter(([, value]) => !value.startsWith("{")).map(([name, value]) => `${words(name)} ${value}`).join(", ");
}

export function graphsOf({ info }: FileData): VNode[] {
  const names = recordsById(info);
  return (info.graphs ?? []).map((graph) => {
    const rows = [
      ...(graph.inputs ?? []).map((tensor): Cell[] => ["input", tensor.name, tensor.dtype, shapeText(tensor.shape), scaleText(tensor)]),
      ...(graph.outputs ?? []).map((tensor): Cell[] => ["output", tensor.name, tensor.dtype, shapeText(tensor.shape), scaleText(tensor)]),
    ];
    const counts = `${plural((graph.inputs ?? []).length, "input")}, ${plural((graph.outputs ?? []).length, "output")}`;
    const count = graph.nodes?.length ?? graph.ops?.length;
    const ops = count === undefined ? "" : `, ${plural(count, "op")}`;
    const spill = graph.spill_fill_bytes ? `, spill-fill ${shortSize(graph.spill_fill_bytes)}` : "";
    const record = names.get(graph.record)?.name ?? `record ${graph.record}`;
    return h(
      "details",
      { class: "graph" },
      h("summary", {}, h("strong", {}, graph.name), ` in ${record}: ${counts}${ops}${spill}`),
      rows.length > 0 ? table(`Inputs and outputs of ${graph.name}`, ["", "name", "type", "shape", "quantised as"], rows) : h("p", {}, "Nothing is stated about its inputs and outputs."),
      graph.options !== undefined && graph.options.length > 0 ? optionsTable(`Facts of the compiler about ${graph.name}`, graph.options.map((option) => ["", option] as const)) : null,
      graph.nodes === undefined ? null : nodesTable(graph, graph.nodes),
    );
  });
}

export function optionsTable(caption: string, rows: readonly (readonly [string, { readonly owner: string; readonly key: string; readonly value: string }])[]): VNode {
  return table(caption, ["of", "owner", "option", "value"], rows.map(([of, option]) => [of, option.owner, option.key, option.value]));
}

export function allOptions({ info }: FileData): VNode | null {
  const names = recordsById(info);
  const rows = [
    ...(info.options?.all ?? []).map((option) => [info.form === undefined ? "the model" : "the file", option] as const),
    ...(info.options?.records ?? []).flatMap(({ record, options }) =>
      options.map((option) => [names.get(record)?.name ?? `record ${record}`, option] as const),
    ),
  ];
  const caption = info.form === undefined ? "Options of compilers and sessions" : "What tools say of themselves and of the model";
  return rows.length === 0 ? null : optionsTable(caption, rows);
}

export function factsOfRecords({ info }: FileData): VNode | null {
  const rows = info.records
    .filter((record) => record.producer || record.format || record.quant || record.spill_fill_bytes)
    .map((record): Cell[] => [
      record.name,
      record.format ?? "",
      record.producer ?? "",
      Object.entries(record.quant ?? {}).map(([name, value]) => `${words(name)} ${value}`).join(", "),
      record.spill_fill_bytes ? bytes(record.spill_fill_bytes) : "",
    ]);
  return rows.length === 0 ? null : table("What made the records", ["record", "format", "producer", "quantised", "spill-fill"], rows);
}

export function notesTable({ info }: FileData): VNode | null {
  const rows = info.records.flatMap((record) =>
    (record.notes ?? []).map((note): Cell[] => [note.date, record.name, note.device, note.metric, note.value, note.tool]),
  );
  return rows.length === 0 ? null : table("Measurements that were noted", ["day", "record", "device", "metric", "value", "tool"], rows);
}

export function signatureText(info: Info): string {
  if (!info.signed) return "This generation is not signed.";
  return `Signed with the key ${info.key_id}. A file names a key and does not vouch for it: fatctx verify --key checks the signature.`;
}

export type TensorOf = TensorRow & { readonly blob: string };

export function tensorRows(data: FileData): TensorOf[] {
  const names = recordsById(data.info);
  return data.tensors.flatMap((of) =>
    (of.tensors ?? []).map((tensor) => ({ ...tensor, blob: names.get(of.record)?.name ?? `record ${of.record}` })),
  );
}

export function tensorTable(rows: readonly TensorOf[], caption: string): VNode {
  return table(
    caption,
    ["name", "type", "shape", "size", "place in blob", "blob"],
    rows.map((tensor): Cell[] => [
      tensor.name + (tensor.alias ? " (alias)" : ""),
      tensor.dtype,
      shapeText(tensor.shape),
      bytes(tensor.size_bytes),
      { text: hex(tensor.offset_in_blob), number: tensor.offset_in_blob },
      tensor.blob,
    ]),
    "tensors",
  );
}

