// The pictures: treemap and map of the file, and the line of its generations. d3-hierarchy places the rectangles.
import { hierarchy, treemap, treemapSquarify, type HierarchyRectangularNode } from "d3-hierarchy";

import type { FileData, Info } from "./data.js";
import { recordsById } from "./data.js";
import { grouped, hex, percent, shortSize, words } from "./format.js";
import type { Piece } from "./pieces.js";
import { h, type VNode } from "./vnode.js";

/** What a rectangle says when it is looked at. */
export interface Facts {
  readonly title: string;
  readonly rows: readonly (readonly [string, string])[];
}

export interface Picture {
  readonly svg: VNode;
  /** Facts of the elements with `data-facts`, by that number. */
  readonly facts: readonly Facts[];
}

interface Node {
  readonly name: string;
  readonly colour?: string;
  readonly size?: number;
  readonly children?: Node[];
  readonly facts?: Facts;
}

const WIDTH = 1080;
const HEIGHT = 520;
const LETTER = 6.7;
const LINE = 14;
const GROUP_HEAD = 20;

const COLOUR_OF_TYPE: Readonly<Record<string, string>> = {
  context_binary: "--binary",
  weight_blob: "--weights",
  source_model: "--model",
  wrapper_model: "--model",
};

function colourOf(type: string | undefined): string {
  return COLOUR_OF_TYPE[type ?? ""] ?? "--other";
}

function cutText(text: string, width: number): string {
  const letters = Math.floor(width / LETTER);
  if (text.length <= letters) return text;
  // The ends of a name tell it apart: a chip is at one end and a model at the other.
  const half = Math.floor((letters - 1) / 2);
  return letters < 4 ? "" : `${text.slice(0, letters - 1 - half)}…${text.slice(text.length - half)}`;
}

interface Owner {
  readonly records: readonly number[];
  size: number;
  pieces: number;
  first: Piece;
}

/** Pieces of one kind and one set of records, added up. */
function owners(pieces: readonly Piece[], kind: Piece["kind"]): Owner[] {
  const found = new Map<string, Owner>();
  for (const piece of pieces.filter((candidate) => candidate.kind === kind)) {
    const id = String(piece.records);
    const owner = found.get(id);
    if (owner === undefined) found.set(id, { records: piece.records, size: piece.size, pieces: 1, first: piece });
    else {
      owner.size += piece.size;
      owner.pieces++;
    }
  }
  return [...found.values()];
}

export function factsOfPiece(piece: Piece, info: Info): Facts {
  const names = recordsById(info);
  const rows: [string, string][] = [
    ["bytes", `${grouped(piece.size)} (${percent(piece.size, info.file_size)} of the file)`],
    ["place", `${hex(piece.offset)} to ${hex(piece.offset + piece.size)}`],
  ];
  for (const id of piece.records) rows.push(["record", names.get(id)?.name ?? `record ${id}`]);
  if (piece.hash !== null) rows.push(["XXH3 of the segment", piece.hash]);
  return { title: piece.label, rows };
}

function ownerNode(owner: Owner, info: Info, of: string): Node {
  const names = recordsById(info);
  const records = owner.records.map((id) => names.get(id));
  const first = records[0];
  const rows: [string, string][] = [
    ["bytes", `${grouped(owner.size)} (${percent(owner.size, info.file_size)} of the file)`],
    ["pieces", `${owner.pieces}, the first at ${hex(owner.first.offset)}`],
  ];
  for (const record of records) {
    if (record === undefined) continue;
    const whole = of === "own" ? `, ${shortSize(record.size_bytes)} in all` : "";
    rows.push(["record", `${record.name} (${words(record.type)}${whole})`]);
  }
  if (of === "own" && first !== undefined) rows.push(["XXH3 of the record", first.xxh3_128]);
  const name = of === "own" ? (first?.name ?? "") : `${records.length} records: ${records.map((record) => record?.name ?? "").join(", ")}`;
  return {
    name,
    size: owner.size,
    colour: of === "own" ? colourOf(first?.type) : "--shared",
    facts: { title: of === "own" ? (first?.name ?? "record") : `shared by ${records.length} records`, rows },
  };
}

function factsOfSeveral(title: string, pieces: readonly Piece[], size: number, info: Info): Facts {
  return {
    title,
    rows: [
      ["bytes", `${grouped(size)} (${percent(size, info.file_size)} of the file)`],
      ["pieces", `${pieces.length}, the first at ${hex((pieces[0] as Piece).offset)}`],
    ],
  };
}

export function treemapOf(data: FileData, pieces: readonly Piece[]): Picture {
  const { info } = data;
  const of = (kind: Piece["kind"]) => owners(pieces, kind).map((owner) => ownerNode(owner, info, kind));
  // Many small pieces with one meaning are one rectangle.
  const simple = (kind: Piece["kind"], colour: string): Node[] => {
    const byLabel = new Map<string, Piece[]>();
    for (const piece of pieces.filter((candidate) => candidate.kind === kind)) {
      byLabel.set(piece.label, [...(byLabel.get(piece.label) ?? []), piece]);
    }
    return [...byLabel].map(([label, same]) => {
      const size = same.reduce((sum, piece) => sum + piece.size, 0);
      const facts = same.length === 1 ? factsOfPiece(same[0] as Piece, info) : factsOfSeveral(label, same, size, info);
      return { name: label, size, colour, facts };
    });
  };
  const groups: Node[] = [
    { name: "shared bytes", children: of("shared") },
    { name: "own bytes", children: of("own") },
    { name: "dead bytes", children: simple("dead", "--dead") },
    { name: "header and tables", children: simple("tables", "--tables") },
    { name: "padding", children: simple("padding", "--padding") },
    { name: "tail", children: simple("tail", "--dead") },
  ].filter((group) => group.children.length > 0);
  const root = hierarchy<Node>({ name: info.model, children: groups }, (node) => node.children)
    .sum((node) => node.size ?? 0)
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  treemap<Node>().tile(treemapSquarify).size([WIDTH, HEIGHT]).paddingInner(2).paddingTop((node) => (node.depth === 1 ? GROUP_HEAD : 0)).round(true)(root);
  const facts: Facts[] = [];
  const placed = root as HierarchyRectangularNode<Node>;
  const drawn: VNode[] = [];
  for (const group of placed.children ?? []) {
    drawn.push(groupHead(group));
    for (const leaf of group.leaves()) drawn.push(tile(leaf, facts));
  }
  const label = `Treemap of ${info.file}: ${groups.map((group) => group.name).join(", ")}`;
  return { svg: svgOf(label, WIDTH, HEIGHT, drawn), facts };
}

function svgOf(label: string, width: number, height: number, children: readonly VNode[]): VNode {
  return h(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": label,
      "font-family": "system-ui, sans-serif",
      "font-size": 12,
    },
    h("title", {}, label),
    ...children,
  );
}

function groupHead(group: HierarchyRectangularNode<Node>): VNode {
  const width = group.x1 - group.x0;
  const text = `${group.data.name} · ${shortSize(group.value ?? 0)}`;
  const shortened = cutText(text, width - 8);
  return h(
    "g",
    { "aria-hidden": "true" },
    h("rect", { x: group.x0, y: group.y0, width, height: Math.min(GROUP_HEAD - 2, group.y1 - group.y0), fill: "var(--group)" }),
    h("text", { x: group.x0 + 5, y: group.y0 + 13, fill: "var(--ink)", "font-weight": 600 }, shortened),
  );
}

function tile(leaf: HierarchyRectangularNode<Node>, facts: Facts[]): VNode {
  const [width, height] = [leaf.x1 - leaf.x0, leaf.y1 - leaf.y0];
  const { name, colour = "--other", facts: own } = leaf.data;
  facts.push(own as Facts);
  const lines = height > LINE + 4 && width > 40 ? [cutText(name, width - 10)] : [];
  if (lines.length > 0 && height > 2 * LINE + 6) lines.push(cutText(shortSize(leaf.value ?? 0), width - 10));
  return h(
    "g",
    {
      tabindex: 0,
      role: "img",
      class: "tile",
      "data-facts": facts.length - 1,
      "aria-label": `${(own as Facts).title}: ${shortSize(leaf.value ?? 0)}`,
    },
    // A piece that is too thin to be seen gets a line.
    h("rect", { x: Math.min(leaf.x0, WIDTH - 1), y: Math.min(leaf.y0, HEIGHT - 1), width: Math.max(width, 1), height: Math.max(height, 1), rx: 2, fill: `var(${colour})` }),
    ...lines.map((line, i) => h("text", { x: leaf.x0 + 5, y: leaf.y0 + LINE + i * LINE, fill: colour === "--padding" ? "var(--ink)" : "var(--on-tile)" }, line)),
  );
}

const MAP_HEIGHT = 56;
const COLOUR_OF_KIND: Readonly<Record<string, string>> = {
  shared: "--shared",
  dead: "--dead",
  tables: "--tables",
  padding: "--padding",
  tail: "--dead",
};

/** The file from its first byte to its last. Pieces too thin to be seen get a line. */
export function mapOf(data: FileData, pieces: readonly Piece[]): Picture {
  const { info } = data;
  const names = recordsById(info);
  const scale = WIDTH / info.file_size;
  const facts: Facts[] = [];
  const bars: VNode[] = [];
  for (const piece of pieces) {
    const width = piece.size * scale;
    if (piece.kind === "padding" && width < 0.5) continue;
    facts.push(factsOfPiece(piece, info));
    const colour = COLOUR_OF_KIND[piece.kind] ?? colourOf(names.get(piece.records[0] ?? 0)?.type);
    bars.push(
      h(
        "g",
        { tabindex: 0, role: "img", class: "tile", "data-facts": facts.length - 1, "aria-label": `${piece.label}: ${shortSize(piece.size)}` },
        h("rect", { x: (piece.offset * scale).toFixed(2), y: 0, width: Math.max(width, 1).toFixed(2), height: MAP_HEIGHT - 20, fill: `var(${colour})` }),
      ),
    );
  }
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) =>
    h(
      "text",
      { x: part * WIDTH, y: MAP_HEIGHT - 4, fill: "var(--ink)", "text-anchor": part === 0 ? "start" : part === 1 ? "end" : "middle" },
      part === 0 ? "0" : shortSize(Math.round(part * info.file_size)),
    ),
  );
  return { svg: svgOf(`Map of ${info.file}, from its first byte to its last`, WIDTH, MAP_HEIGHT, [...bars, ...ticks]), facts };
}

const LINE_HEIGHT = 92;

/** Generations on a line: how long the file was after each. */
export function generationsOf(info: Info): VNode {
  const all = [...info.earlier_generations, { number: info.generation, committed_end: info.committed_end }];
  const step = WIDTH / Math.max(all.length, 2);
  const longest = Math.max(...all.map((one) => one.committed_end));
  const points = all.map((one, i) => {
    const x = step * (i + 0.5);
    const radius = 6 + 12 * Math.sqrt(one.committed_end / longest);
    const present = i === all.length - 1;
    return h(
      "g",
      {},
      h("circle", { cx: x, cy: 36, r: radius, fill: present ? "var(--binary)" : "var(--tables)" }),
      h("text", { x, y: 40, "text-anchor": "middle", fill: "var(--on-tile)", "font-weight": 600 }, one.number),
      h(
        "text",
        { x, y: 76, "text-anchor": "middle", fill: "var(--ink)" },
        `${shortSize(one.committed_end)}${present ? ", present" : ""}`,
      ),
    );
  });
  const line = h("line", { x1: step / 2, y1: 36, x2: step * (all.length - 0.5), y2: 36, stroke: "var(--line)", "stroke-width": 2 });
  return svgOf(`Generations of ${info.file}`, WIDTH, LINE_HEIGHT, [line, ...points]);
}
