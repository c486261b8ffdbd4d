// The page: with data it shows them, without data it asks for a file.
import { fromBlob, fromUrl } from "fatctx-reader";
import { type Policy } from "fatctx-reader/select";

import socCsv from "../../../data/soc_table.csv";
import { changesOf } from "./changes.js";
import { cover, coverageMatrix, groupNames, verdictsOf, type Covered } from "./coverage.js";
import type { FileData, Info, PageData } from "./data.js";
import { fileData, parseSocTable } from "./fromfile.js";
import { percent, plural, shortSize, size } from "./format.js";
import { generationsOf, mapOf, treemapOf, type Picture } from "./pictures.js";
import { piecesOf } from "./pieces.js";
import * as tables from "./tables.js";
import { h, on, shown, toDom, toText, type Child, type VNode } from "./vnode.js";

const MOST_ROWS = 500;
const MOST_GRAPHS_IN_HEAD = 4;

function part(id: string, title: string, ...children: readonly (Child | Element)[]): HTMLElement {
  const section = toDom(h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title))) as HTMLElement;
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    section.append(child instanceof Element ? child : typeof child === "object" ? toDom(child) : shown(String(child)));
  }
  return section;
}

function figure(picture: Picture, name: string): HTMLElement {
  const facts = toDom(h("div", { class: "facts", "aria-live": "polite" }, h("p", {}, "Point at a part, or move to it with the Tab key."))) as HTMLElement;
  const svg = toDom(picture.svg) as SVGElement;
  const show = (event: Event): void => {
    const tile = (event.target as Element).closest("[data-facts]");
    const found = tile === null ? undefined : picture.facts[Number(tile.getAttribute("data-facts"))];
    if (found === undefined) return;
    const rows = found.rows.flatMap(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]);
    facts.replaceChildren(toDom(h("h4", {}, found.title)), toDom(h("dl", {}, ...rows)));
  };
  for (const kind of ["pointerover", "focusin", "click"]) svg.addEventListener(kind, show);
  const scroll = toDom(h("div", { class: "picture" }));
  scroll.append(svg);
  const box = toDom(h("figure", { id: `figure-${name}` })) as HTMLElement;
  box.append(scroll, facts, toDom(on(h("button", { type: "button", class: "save" }, "Save as SVG"), { click: () => save(picture.svg, name) })));
  return box;
}

/** Offers the picture as a file, with the colours that the page has now. */
function save(svg: VNode, name: string): void {
  const style = getComputedStyle(document.documentElement);
  const text = toText(svg, (variable) => style.getPropertyValue(variable).trim());
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = `${name}.svg`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** What the graphs take and how they were quantised, if all binaries agree. */
function modelLine(info: Info): VNode | null {
  const graphs = info.graphs ?? [];
  if (graphs.length === 0) return null;
  const names = [...new Set(graphs.map((graph) => graph.name))];
  const shown = names.slice(0, MOST_GRAPHS_IN_HEAD).map((name) => {
    const signatures = new Set(graphs.filter((graph) => graph.name === name).map(tables.signatureOf));
    return `${name} (${signatures.size === 1 ? [...signatures][0] : "not the same in all records"})`;
  });
  const more = names.length > shown.length ? `; ${names.length - shown.length} more` : "";
  const quant = [...new Set(info.records.map((record) => tables.quantText(record)).filter((text) => text !== ""))];
  const how = quant.length === 1 ? ` Quantised: ${quant[0]}.` : quant.length > 1 ? " Quantised in several ways." : "";
  return h("li", { id: "model-line" }, `${names.length === 1 ? "Graph" : "Graphs"}: ${shown.join("; ")}${more}.${how}`);
}

function headOf({ info, problems }: FileData): HTMLElement {
  const binaries = info.records.filter((record) => record.type === "context_binary");
  const chips = [...new Set(binaries.map((record) => record.key?.part ?? record.key?.arch ?? "").filter((chip) => chip !== ""))];
  const totals = info.sharing?.totals;
  // As info counts it: a binary without fatctx would have the weights that it refers to.
  const users = (id: number): number => info.records.filter((record) => record.weights.includes(id)).length;
  const blobs = info.records.filter((record) => record.type === "weight_blob" && users(record.id) > 1);
  const copies = blobs.reduce((sum, blob) => sum + blob.size_bytes * (users(blob.id) - 1), 0);
  const alone = (totals?.input_bytes ?? 0) + copies;
  const state = info.form !== undefined ? [info.form, "no container"] : [
    `format ${info.format}`,
    `generation ${info.generation}`,
    info.sealed ? "sealed" : "not sealed",
    info.signed ? "signed" : "not signed",
  ];
  const lines = [
    h("li", {}, chips.length > 0 ? `For ${chips.join(", ")}: ${plural(binaries.length, "context binary").replace(/binarys$/, "binaries")}.` : "It has no context binary."),
    totals === undefined
      ? null
      : h("li", { id: "saved" }, `Stores ${size(totals.stored_bytes)} for ${size(alone)}: sharing saves ${percent(alone - totals.stored_bytes, alone)}${copies > 0 ? ", also by weights that are stored once for the binaries that use them" : ""}.`),
    info.form !== undefined ? h("li", {}, info.purpose) : h("li", {}, info.degraded.length === 0 ? "All copies of header and tables are whole." : `Damaged copies: ${info.degraded.join("; ")}.`),
    modelLine(info),
    info.dead_bytes > 0 ? h("li", {}, `${shortSize(info.dead_bytes)} are dead; fatctx compact gives them back.`) : null,
  ];
  const head = toDom(
    h(
      "header",
      {},
      h("h1", {}, info.model || info.file),
      h("p", { class: "file" }, `${info.file}, `, h("span", { id: "file-size" }, size(info.file_size))),
      h("p", { class: "badges" }, ...state.map((text) => h("span", { class: "badge" }, text))),
      h("ul", {}, ...lines),
      info.form !== undefined ? null : h("dl", { class: "small" }, h("dt", {}, "uuid"), h("dd", { id: "uuid" }, info.uuid), h("dt", {}, "written by"), h("dd", {}, info.writer)),
      problems.length > 0 ? h("div", { class: "problem", role: "alert" }, h("p", {}, "Not everything could be read:"), h("ul", {}, ...problems.map((problem) => h("li", {}, problem)))) : null,
    ),
  );
  return head as HTMLElement;
}

const POLICIES: readonly (readonly [keyof Policy, string])[] = [
  ["strict", "only records that fully use the device"],
  ["allowLowerArch", "accept a binary for a lower Hexagon arch, within one generation of chips"],
  ["prepareHook", "the application compiles source models"],
];

function coveragePart(data: FileData): HTMLElement | null {
  const groups = groupNames(data);
  if (groups.length === 0 || data.devices.length === 0) return null;
  const policy: { -readonly [K in keyof Policy]: Policy[K] } = {};
  if (groups.length > 1) policy.group = groups[0] as string;
  const matrix = toDom(h("div", {})) as HTMLElement;
  const verdicts = toDom(h("div", { class: "one" })) as HTMLElement;
  const devices = toDom(h("select", { id: "device" }, ...data.devices.map(({ name }) => h("option", { value: name }, name)))) as HTMLSelectElement;
  const uncovered = toDom(h("input", { type: "checkbox", id: "uncovered" })) as HTMLInputElement;
  const withoutOwn = toDom(h("input", { type: "checkbox", id: "without-own" })) as HTMLInputElement;
  let covered: Covered[] = [];
  const showDevice = (): void => {
    const one = covered.find(({ device }) => device.name === devices.value);
    if (one !== undefined) verdicts.replaceChildren(toDom(verdictsOf(one)));
  };
  const showAll = (): void => {
    covered = cover(data, policy);
    matrix.replaceChildren(toDom(coverageMatrix(covered, { uncovered: uncovered.checked, withoutOwn: withoutOwn.checked })));
    showDevice();
  };
  devices.addEventListener("change", showDevice);
  for (const box of [uncovered, withoutOwn]) box.addEventListener("change", showAll);
  matrix.addEventListener("click", (event) => {
    const name = (event.target as Element).closest("[data-device]")?.getAttribute("data-device");
    if (!name) return;
    devices.value = name;
    showDevice();
    verdicts.scrollIntoView({ block: "nearest" });
  });
  const controls = toDom(h("div", { class: "controls" })) as HTMLElement;
  if (groups.length > 1) {
    const chosen = toDom(h("select", { id: "group" }, ...groups.map((group) => h("option", { value: group }, group || "(no group)")))) as HTMLSelectElement;
    chosen.addEventListener("change", () => {
      policy.group = chosen.value;
      showAll();
    });
    controls.append(labelled("Group", chosen));
  }
  for (const [name, text] of POLICIES) {
    const box = toDom(h("input", { type: "checkbox", id: `policy-${name}` })) as HTMLInputElement;
    box.addEventListener("change", () => {
      Object.assign(policy, { [name]: box.checked });
      showAll();
    });
    controls.append(labelled(text, box));
  }
  controls.append(labelled("only devices that get nothing", uncovered), labelled("only devices without a binary of their own", withoutOwn));
  showAll();
  const choose = toDom(h("div", { class: "controls" })) as HTMLElement;
  choose.append(labelled("Choose a device", devices));
  return part("coverage", "Devices", h("p", {}, `What each device gets, by table ${data.socs.version} of SoCs.`), controls, matrix, h("h3", {}, "One device"), choose, verdicts);
}

function labelled(text: string, control: HTMLElement): HTMLElement {
  const label = toDom(h("label", { for: control.id })) as HTMLElement;
  if (control instanceof HTMLInputElement && control.type === "checkbox") label.append(control, ` ${text}`);
  else label.append(`${text} `, control);
  return label;
}

function tensorsPart(data: FileData): HTMLElement | null {
  const rows = tables.tensorRows(data);
  const broken = data.tensors.filter((table) => table.error !== undefined);
  if (rows.length === 0 && broken.length === 0) return null;
  const all = data.tensors.reduce((sum, table) => sum + (table.count ?? 0), 0);
  const search = toDom(h("input", { type: "search", id: "tensor-search", placeholder: "name, type, blob" })) as HTMLInputElement;
  const place = toDom(h("div", {})) as HTMLElement;
  const show = (): void => {
    const wanted = search.value.toLowerCase();
    const found = rows.filter((tensor) => [tensor.name, tensor.dtype, tensor.blob].some((text) => text.toLowerCase().includes(wanted)));
    const caption = `${plural(found.length, "tensor")}${found.length > MOST_ROWS ? `, the first ${MOST_ROWS}` : ""}`;
    place.replaceChildren(toDom(tables.tensorTable(found.slice(0, MOST_ROWS), caption)));
  };
  search.addEventListener("input", show);
  show();
  const controls = toDom(h("div", { class: "controls" })) as HTMLElement;
  controls.append(labelled("Search", search));
  const cut = all > rows.length ? h("p", {}, `This page has the first ${rows.length} of ${all} tensors; fatctx info --tensors lists all.`) : null;
  return part("tensors-part", "Tensors", cut, ...broken.map((table) => h("p", { class: "problem" }, table.error)), controls, place);
}

function graphsPart(data: FileData): HTMLElement | null {
  const graphs = tables.graphsOf(data);
  if (graphs.length === 0) return null;
  const search = toDom(h("input", { type: "search", id: "graph-search", placeholder: "graph, record, tensor, type" })) as HTMLInputElement;
  const drawn = graphs.map((graph) => toDom(graph) as HTMLElement);
  const count = toDom(h("p", { id: "graph-count", "aria-live": "polite" })) as HTMLElement;
  const show = (): void => {
    const wanted = search.value.toLowerCase();
    let found = 0;
    for (const graph of drawn) {
      graph.hidden = !(graph.textContent ?? "").toLowerCase().includes(wanted);
      if (!graph.hidden) found++;
    }
    count.textContent = plural(found, "graph");
  };
  search.addEventListener("input", show);
  show();
  const controls = toDom(h("div", { class: "controls" })) as HTMLElement;
  controls.append(labelled("Search", search));
  return part("graphs", "Graphs", controls, count, ...drawn);
}

/** Sorts a table by the column whose head is chosen; a second time the other way. */
function sortable(root: HTMLElement): void {
  root.addEventListener("click", (event) => {
    const head = (event.target as Element).closest("thead th[scope=col]:not(.slanted)");
    const body = head?.closest("table")?.tBodies[0];
    if (!head || !body || head.closest(".matrix")) return;
    const column = [...(head.parentElement?.children ?? [])].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row: HTMLTableRowElement): string | number => {
      const cell = row.cells[column];
      const number = cell?.dataset["sort"];
      return number === undefined ? (cell?.textContent ?? "") : Number(number);
    };
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
      return down ? -order : order;
    });
    body.append(...rows);
  });
  root.addEventListener("keydown", (event) => {
    const head = event.target as Element;
    if ((event.key === "Enter" || event.key === " ") && head.matches("thead th[scope=col]")) {
      event.preventDefault();
      (head as HTMLElement).click();
    }
  });
}

const LEGEND: readonly (readonly [string, string])[] = [
  ["--shared", "shared by several records"],
  ["--binary", "context binaries"],
  ["--weights", "weights"],
  ["--model", "models"],
  ["--other", "other records"],
  ["--tables", "header, tables, hashes"],
  ["--padding", "padding"],
  ["--dead", "dead"],
];

function legend(): VNode {
  return h(
    "ul",
    { class: "legend" },
    ...LEGEND.map(([colour, text]) => h("li", {}, h("svg", { width: 14, height: 14, "aria-hidden": "true" }, h("rect", { width: 14, height: 14, rx: 2, fill: `var(${colour})` })), ` ${text}`)),
  );
}

function show(page: PageData, root: HTMLElement): void {
  const data = page.file;
  const pieces = piecesOf(data.info);
  document.title = shown(`${data.info.model || data.info.file} – fatctx report`);
  const isContainer = data.info.form === undefined;
  const signature = isContainer ? part("history", "Generations and signature", generationsPicture(data), h("p", { id: "signature" }, tables.signatureText(data.info))) : null;
  const facts = [tables.factsOfRecords(data), tables.allOptions(data), tables.notesTable(data)].filter((one) => one !== null);
  const parts: (HTMLElement | null)[] = [
    page.diff === undefined ? null : part("changes-part", "What changed", changesOf(page.diff)),
    part("file", "The file", legend(), figure(treemapOf(data, pieces), "treemap"), h("h3", {}, "From the first byte to the last"), figure(mapOf(data, pieces), "map")),
    isContainer
      ? part("sharing", "Who shares what with whom", tables.sharingMatrix(data, pieces), tables.sharingTotals(data), tables.layoutGroups(data), tables.targetsTable(data))
      : part("sharing", "Who shares what with whom", tables.usersOfWeights(data)),
    isContainer || data.devices.length > 0 ? coveragePart(data) : null,
    part("records-part", "Records", tables.recordsTable(data)),
    graphsPart(data),
    tensorsPart(data),
    facts.length > 0 ? part("facts", "Options and evidence", ...facts) : null,
    signature,
  ];
  const shownParts = parts.filter((one) => one !== null);
  const links = shownParts.map((one) => h("li", {}, h("a", { href: `#${one.id}` }, one.querySelector("h2")?.textContent ?? "")));
  root.replaceChildren(headOf(data), toDom(h("nav", { "aria-label": "Parts of this page" }, h("ul", {}, ...links))), ...shownParts);
  document.body.classList.add("filled");
}

function generationsPicture({ info }: FileData): VNode {
  return h("div", { class: "picture" }, generationsOf(info));
}

function asksForFile(root: HTMLElement, mayFetch: boolean): void {
  const status = toDom(h("p", { id: "status", role: "status" })) as HTMLElement;
  const open = async (what: string, read: () => ReturnType<typeof fileData>): Promise<void> => {
    status.className = "";
    status.textContent = `Reading ${shown(what)} …`;
    try {
      show({ page: 1, file: await read() }, root);
      status.textContent = "";
    } catch (error) {
      status.className = "problem";
      status.textContent = shown(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      if (!status.isConnected) root.prepend(status);
    }
  };
  const socs = parseSocTable(socCsv);
  const openFile = (file: File) => open(file.name, () => fileData(fromBlob(file), socs));
  const chosen = toDom(h("input", { type: "file", id: "chosen-file", accept: ".fatctx,.dlc,.onnx,.json" })) as HTMLInputElement;
  chosen.addEventListener("change", () => {
    const file = chosen.files?.[0];
    if (file) void openFile(file);
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) void openFile(file);
  });
  if (root.childElementCount > 0) return;
  const form = toDom(h("form", { class: "open" }, h("h1", {}, "Look inside a fatctx container"), h("p", {}, "Drop a .fatctx file on this page, a DLC, an ONNX model with EPContext nodes or the JSON of a tool for Snapdragon, or choose one. It is read here, in pieces, and nothing is sent anywhere."))) as HTMLFormElement;
  form.append(labelled("File", chosen));
  if (mayFetch) {
    const address = toDom(h("input", { type: "url", id: "address", placeholder: "https://…/model.fatctx" })) as HTMLInputElement;
    form.append(labelled("or an address whose server answers ranges", address), toDom(h("button", { type: "submit" }, "Open")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (address.value !== "") void open(address.value, () => fileData(fromUrl(new URL(address.value).href), socs));
    });
  }
  form.append(status);
  root.append(form);
}

function start(): void {
  const root = document.getElementById("page") as HTMLElement;
  sortable(root);
  const text = document.getElementById("fatctx-data")?.textContent ?? "null";
  const data = JSON.parse(text) as PageData | null;
  if (data !== null) show(data, root);
  asksForFile(root, document.documentElement.dataset["fetch"] === "yes");
}

start();
