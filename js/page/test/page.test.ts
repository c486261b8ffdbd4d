// The page in headless Chromium: what it shows is what the command says, it asks nobody for anything, and names that
// mean harm stay text.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

import { groupsOf } from "fatctx-reader/select";
import { candidatesOf, type Diff, type Info } from "../src/data.js";
import { shortSize, size } from "../src/format.js";
import { piecesOf } from "../src/pieces.js";
import { shown } from "../src/vnode.js";
import { CHROMIUM, withoutBrowser } from "./browser.js";
import { chipFiles, HOSTILE, json, packedFiles, run, type Files } from "./command.js";

const ROOT = new URL("../../../", import.meta.url).pathname;
const BUILD = join(ROOT, "js/build");
const SHOTS = process.env["FATCTX_SHOTS"] ?? join(BUILD, "shots");
const skip = withoutBrowser;

let browser: Browser;
let files: Files;
let report: string;
let changes: string;
const faults: string[] = [];

before(async () => {
  if (skip) return;
  mkdirSync(SHOTS, { recursive: true });
  files = packedFiles();
  report = join(files.folder, "report.html");
  changes = join(files.folder, "changes.html");
  run(["report", files.later, "-o", report, "--page", join(BUILD, "report.html")]);
  run(["report", files.first, files.later, "-o", changes, "--page", join(BUILD, "report.html")]);
  browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
});

/** Opens a page and notes whatever it should not do. */
async function opened(url: string, scheme: "light" | "dark" = "light", allowed: (url: string) => boolean = () => false): Promise<{ page: Page; context: BrowserContext }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, colorScheme: scheme });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("dialog", (dialog) => {
    faults.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("blob:") && !allowed(request.url())) faults.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  return { page, context };
}

const escape = (text: string): string => text.replace(/[().]/g, "\\$&");
const textOf = async (page: Page, selector: string): Promise<string> => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ");

test("the report is one small file that shows what info says", { skip }, async () => {
  assert.ok(statSync(report).size < 1_000_000, `${statSync(report).size} bytes`);
  const { page, context } = await opened(`file://${report}`);
  const info = json<Info>(["info", files.later]);
  assert.equal(await textOf(page, "#uuid"), info.uuid);
  assert.equal(await textOf(page, "#file-size"), size(info.file_size));
  const weights = info.records.find(({ name }) => name === "chat.weights")?.size_bytes ?? 0;
  const totals = json<Info>(["info", files.later, "--sharing"]).sharing?.totals;
  // Nine binaries refer to the weights.
  assert.match(await textOf(page, "#saved"), new RegExp(`^Stores ${escape(size(totals?.stored_bytes ?? 0))} for ${escape(size((totals?.input_bytes ?? 0) + 8 * weights))}: `));
  const rows = await page.locator("#records tbody tr").all();
  assert.equal(rows.length, info.records.length);
  for (const [i, record] of info.records.entries()) {
    const text = ((await rows[i]?.innerText()) ?? "").replace(/\s+/g, " ");
    for (const fact of [shown(record.name), record.xxh3_128, record.type.replaceAll("_", " ")]) assert.ok(text.includes(fact.replace(/\s+/g, " ")), `${text}: ${fact}`);
  }
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.screenshot({ path: join(SHOTS, `report-${scheme}.png`), fullPage: true });
  }
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("nav").isVisible(), false);
  await page.screenshot({ path: join(SHOTS, "report-print.png"), fullPage: true });
  assert.deepEqual(faults, []);
  await context.close();
});

test("a hostile name is text wherever it is shown", { skip }, async () => {
  const { page, context } = await opened(`file://${report}`);
  assert.equal(await page.locator("script").count(), 2);
  assert.equal(await page.locator("img").count(), 0);
  const text = await page.locator("body").innerText();
  assert.ok(text.includes(shown(HOSTILE)) && shown(HOSTILE).includes("\\u202e"));
  assert.ok(!(await page.content()).includes("\u202e"), "a mark that turns the direction of text");
  assert.deepEqual(faults, []);
  await context.close();
});

test("the policy of the page refuses scripts, styles and addresses of others", { skip }, async () => {
  const { page, context } = await opened(`file://${report}`);
  const refused = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "window.harm = 1";
    document.body.append(script);
    const fetched = await fetch("http://127.0.0.1:9/").then(() => "fetched", () => "refused");
    return [(window as unknown as { harm?: number }).harm ?? "refused", fetched];
  });
  assert.deepEqual(refused, ["refused", "refused"]);
  assert.ok(faults.some((fault) => fault.includes("Content Security Policy")));
  faults.length = 0;
  await context.close();
});

test("every byte of the file is in one piece of the picture, and pieces tell their facts", { skip }, async () => {
  const info = json<Info>(["info", files.later, "--extents"]);
  const pieces = piecesOf(info);
  assert.equal(pieces.reduce((sum, piece) => sum + piece.size, 0), info.file_size);
  let end = 0;
  for (const piece of pieces) {
    assert.equal(piece.offset, end);
    end += piece.size;
  }
  assert.ok(pieces.some(({ kind }) => kind === "shared") && pieces.some(({ kind }) => kind === "dead"));
  const { page, context } = await opened(`file://${report}`);
  const tiles = page.locator("#figure-treemap .tile");
  for (const tile of await tiles.all()) assert.match((await tile.getAttribute("aria-label")) ?? "", /: [\d.,]+ (bytes|[KMG]iB)$/);
  // By keyboard: behind the last link of the page's parts come the picture, which may scroll, and its first tile.
  await page.locator("nav a").last().focus();
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("class"));
  for (let i = 0; i < 4 && (await focused()) !== "tile"; i++) await page.keyboard.press("Tab");
  assert.equal(await focused(), "tile");
  const facts = await textOf(page, "#figure-treemap .facts");
  assert.match(facts, /bytes [\d,]+ \(\d/);
  const areas: number[] = [];
  for (const tile of await tiles.all()) {
    const box = await tile.boundingBox();
    assert.ok(box !== null && box.width > 0 && box.height > 0, "a tile that nobody can see");
    areas.push(box.width * box.height);
  }
  // The largest tile that does not have the focus.
  await tiles.nth(areas.indexOf(Math.max(...areas.slice(1)), 1)).hover();
  assert.notEqual(await textOf(page, "#figure-treemap .facts"), facts);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#figure-treemap .save").click()]);
  const picture = readFileSync(await download.path(), "utf8");
  assert.ok(picture.startsWith("<svg xmlns=") && !picture.includes("var(--") && !picture.includes("<script"));
  assert.deepEqual(faults, []);
  await context.close();
});

interface Drawn {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly colour: string;
}

function drawnIn(svg: string): Drawn[] {
  return [...svg.matchAll(/<rect ([^>]*?)\/?>/g)].flatMap(([, attributes = ""]) => {
    const value = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(` ${attributes}`)?.[1] ?? "";
    // A single picture has a background of its own.
    return value("x") === "" ? [] : [{ x: Number(value("x")), y: Number(value("y")), width: Number(value("width")), height: Number(value("height")), colour: value("fill") }];
  });
}

test("the treemap of the command has the rectangles of the page", { skip }, async () => {
  const path = join(files.folder, "treemap.svg");
  run(["report", files.later, "-o", path, "--svg", "treemap"]);
  const { page, context } = await opened(`file://${report}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#figure-treemap .save").click()]);
  const [theirs, ours] = [readFileSync(await download.path(), "utf8"), readFileSync(path, "utf8")].map(drawnIn);
  assert.ok((ours?.length ?? 0) > 15);
  assert.deepEqual(ours, theirs);
  await context.close();
});

test("devices get in the page what select gives them", { skip }, async () => {
  const { page, context } = await opened(`file://${report}`);
  const { devices, covered } = json<{ covered: number; devices: { name: string; chosen: string[]; tier: number | null }[] }>(["select", files.later, "--all-devices"]);
  assert.equal(await textOf(page, "#covered"), `${covered} of ${devices.length} devices get a record, ${devices.length - covered} get nothing.`);
  const rows = await page.locator(".coverage tbody tr").all();
  for (const [i, device] of devices.entries()) {
    const cells = (await rows[i]?.locator("th, td").allInnerTexts()) ?? [];
    assert.deepEqual([cells[0], cells[2]], [device.name, device.tier === null ? "nothing" : `T${device.tier}`]);
  }
  await page.locator("button[data-device=SM8650]").click();
  const said = json<{ candidates: { record: string; reason: string }[] }>(["select", files.later, "--device", "SM8650"]);
  const verdicts = await textOf(page, "#verdicts");
  for (const { reason } of said.candidates) assert.ok(verdicts.includes(reason), reason);
  await page.locator("#policy-allowLowerArch").check();
  await page.locator("#device").selectOption("SM8475");
  assert.ok((await textOf(page, "#verdicts")).includes("SM8475"));
  await page.locator("#uncovered").check();
  assert.ok((await page.locator(".coverage tbody tr").count()) < devices.length);
  await page.locator("#coverage").screenshot({ path: join(SHOTS, "coverage.png") });
  assert.equal(groupsOf(candidatesOf(json<Info>(["info", files.later]))).length, 1);
  assert.deepEqual(faults, []);
  await context.close();
});

test("tensors are searched and sorted, and graphs open", { skip }, async () => {
  const { page, context } = await opened(`file://${report}`);
  assert.match(await textOf(page, "#tensors caption"), /^700 tensors, the first 500$/);
  await page.locator("#tensor-search").fill("layers.7.");
  assert.match(await textOf(page, "#tensors caption"), /^10 tensors$/);
  const names = () => page.locator("#tensors tbody tr td:first-child").allInnerTexts();
  const first = await names();
  await page.locator("#tensors th").first().click();
  await page.locator("#tensors th").first().press("Enter");
  assert.deepEqual(await names(), [...first].reverse());
  await page.locator("#graphs summary").first().click();
  assert.match(await textOf(page, "#graphs details[open] table"), /ids int32 \[1, 128\]/);
  assert.ok((await textOf(page, "#facts")).includes("Galaxy S24"));
  assert.deepEqual(faults, []);
  await context.close();
});

test("with two files it says what changed and what an update costs", { skip }, async () => {
  const { page, context } = await opened(`file://${changes}`);
  const diff = json<Diff>(["diff", files.first, files.later], [0, 1]);
  const cost = diff.after.stored_bytes - diff.after.stored_bytes_in_both;
  assert.ok((await textOf(page, "#update-cost")).includes(`an update costs ${size(cost)}`));
  const [was, is] = [statSync(files.first).size, statSync(files.later).size];
  assert.equal(await textOf(page, "#growth"), `The file grows by ${size(is - was)}, from ${size(was)} to ${size(is)}.`);
  assert.equal(await page.locator("#changes tbody tr").count(), diff.records.length);
  assert.ok((await textOf(page, "#changes")).includes("chat.prefill.v68"));
  await page.screenshot({ path: join(SHOTS, "changes.png") });
  assert.deepEqual(faults, []);
  await context.close();
});

test("a file that is opened in the page shows the same as its report", { skip }, async () => {
  const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
  await page.screenshot({ path: join(SHOTS, "look.png") });
  await page.locator("#chosen-file").setInputFiles(files.later);
  await page.locator("#records tbody tr").first().waitFor();
  const looked = await page.locator("#records tbody").innerText();
  const reported = await opened(`file://${report}`);
  assert.equal(looked, await reported.page.locator("#records tbody").innerText());
  for (const part of [".coverage tbody", "#sharing .matrix", "#tensors tbody", "#graphs"]) {
    assert.equal(await page.locator(part).first().innerText(), await reported.page.locator(part).first().innerText(), part);
  }
  assert.deepEqual(faults, []);
  await reported.context.close();
  await context.close();
});

test("a DLC shows its entries, who uses its weights, what devices get, and its graphs", { skip }, async () => {
  const dlc = join(files.folder, "model.dlc");
  const packed = join(files.folder, "dlc.fatctx");
  run(["pack", "--name", "m", "--dlc", dlc, "-o", packed]);
  const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
  await page.locator("#chosen-file").setInputFiles(dlc);
  await page.locator("#records tbody tr").first().waitFor();
  const said = json<{ entries: { name: string; offset: number; size_bytes: number }[] }>(["dlc", "list", dlc]);
  const rows = await page.locator("#records tbody tr").allInnerTexts();
  assert.deepEqual(rows.map((row) => row.split("\t")[0]), said.entries.map(({ name }) => name));
  for (const [i, entry] of said.entries.entries()) assert.equal(rows[i]?.split("\t")[4], `0x${entry.offset.toString(16)}`);
  assert.match(rows.find((row) => row.startsWith("htp.cache.57.0")) ?? "", /soc 57 v75 vtcm 8/);
  assert.match(await textOf(page, "#users"), /htp\.shared\.weights\.0 24\.0 KiB 4 records htp\.cache\.43\.0, htp\.cache\.57\.0, htp\.cache\.69\.0, htp\.cache\.87\.0/);
  const { devices } = json<{ devices: { name: string; tier: number | null; chosen: string[] }[] }>(["select", packed, "--all-devices"]);
  const covered = await page.locator(".coverage tbody tr").all();
  assert.equal(covered.length, devices.length);
  for (const [i, device] of devices.entries()) {
    const cells = (await covered[i]?.locator("th, td").allInnerTexts()) ?? [];
    assert.deepEqual([cells[0], cells[2]], [device.name, device.tier === null ? "nothing" : `T${device.tier}`]);
  }
  const graphs = json<Info>(["info", packed, "--graphs"]).graphs ?? [];
  const summaries = await page.locator("#graphs summary").allInnerTexts();
  assert.equal(summaries.length, graphs.length);
  for (const part of await page.locator("#graphs summary").all()) await part.click();
  const text = await textOf(page, "#graphs");
  for (const graph of graphs) {
    for (const tensor of [...(graph.inputs ?? []), ...(graph.outputs ?? [])]) {
      assert.ok(text.includes(`${tensor.name} ${tensor.dtype} [${tensor.shape.join(", ")}]`), tensor.name);
      for (const { scale, offset } of tensor.scales ?? []) assert.ok(text.includes(`scale ${scale}, offset ${offset}`), `${scale}`);
    }
    for (const { key, value } of graph.options ?? []) assert.ok(text.includes(`qnn ${key} ${value}`), key);
  }
  const places = await page.locator("#figure-map .tile").count();
  assert.ok(places >= said.entries.length);
  assert.deepEqual(faults, []);
  await context.close();
});

const CONVERTER = "qairt-converter --input_network net.onnx --target_backend HTP";

for (const metadata of ["json", "lines"] as const) {
  test(`a DLC shows the commands and versions that its metadata states, as ${metadata}`, { skip }, async () => {
    const dlc = join(files.folder, `said_${metadata}.dlc`);
    const script = [
      "import json, sys, dlc_archive",
      `entries = dlc_archive.make(naming="backend", metadata=${JSON.stringify(metadata)})`,
      `said = {"converter-command": ${JSON.stringify(CONVERTER)}, "model-copyright": "(c) Somebody"}`,
      metadata === "json"
        ? 'entries[-1].data = json.dumps(json.loads(entries[-1].data) | {"version-info": [said | {"tool": {"major": 2, "minor": 51}}]}).encode()'
        : 'entries[-1].data = "".join(f"{key}={value}\\n" for key, value in said.items()).encode()',
      "open(sys.argv[1], 'wb').write(dlc_archive.archive(entries))",
    ].join("\n");
    execFileSync("python3", ["-c", script, dlc], { env: { ...process.env, PYTHONPATH: join(ROOT, "tests/support") } });
    const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
    await page.locator("#chosen-file").setInputFiles(dlc);
    await page.locator("#records tbody tr").first().waitFor();
    const rows = await page.locator("#facts tbody tr").allInnerTexts();
    const said = json<{ options: { key: string; value: string }[] }>(["info", dlc]).options.filter(({ key }) => key !== "header.timestamp");
    assert.ok(said.some(({ value }) => value === CONVERTER));
    for (const { key, value } of said) assert.ok(rows.includes(`the file\tqnn\t${key}\t${value}`), `${key} ${value} in ${rows.join("; ")}`);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

/** A convolution and an operator of a package of its own, as converters list them, with names that mean harm. */
function convertedNet(): string {
  const scaled = { definition: 1, encoding: 0, scale_offset: { bitwidth: 8, scale: 0.25, offset: -7 } };
  const tensors = {
    x: { id: 1, type: 0, data_type: 1032, dims: [1, 8, 8, 3], quant_params: scaled },
    w: { id: 2, type: 4, data_type: 776, dims: [3, 3, 3, 4] },
    [HOSTILE]: { id: 3, type: 3, data_type: 1032, dims: [1, 8, 8, 4], quant_params: scaled },
    y: { id: 4, type: 1, data_type: 562, dims: [1, 8, 8, 4] },
  };
  const nodes = {
    conv: {
      package: "qti.aisw", type: "Conv2d", scalar_params: { group: { "306": 1 } }, tensor_params: { stride: { conv_stride: { data_type: 306, data: [[1, 1]] } } },
      input_names: ["x", "w"], output_names: [HOSTILE], macs_per_inference: "6912",
    },
    own: { package: "my.ops", type: "Scale", scalar_params: { factor: { "562": 0.5 } }, tensor_params: {}, input_names: [HOSTILE], output_names: ["y"], macs_per_inference: "" },
  };
  return JSON.stringify({ converter_command: CONVERTER, copyright_str: "(c) Somebody", op_types: ["Conv2d", "Scale"], graph: { tensors, nodes } });
}

test("the JSON of a converter shows its operators as the command does", { skip }, async () => {
  const net = join(files.folder, "m_net.json");
  writeFileSync(net, convertedNet());
  interface Node { index: number; name: string; op: string; macs: number | null; parameters: { key: string; value: string }[]; inputs: { name: string; dtype: string; shape: number[]; weight: boolean }[] }
  const said = json<{ ops: { nodes: Node[] }[] }>(["info", net, "--ops"]).ops[0]?.nodes ?? [];
  assert.equal(said.length, 2);
  const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
  await page.locator("#chosen-file").setInputFiles(net);
  await page.locator("#graphs summary").first().click();
  assert.match(await textOf(page, "#graphs summary"), /graph in m_net\.json: 1 input, 1 output, 2 ops/);
  const text = await textOf(page, "#graphs");
  assert.match(text, /input x uint8 \[1, 8, 8, 3\] scale 0\.25, offset -7/);
  assert.match(text, /output y float32 \[1, 8, 8, 4\]/);
  const rows = await page.locator("#graphs details tbody").last().locator("tr").allInnerTexts();
  for (const [i, node] of said.entries()) {
    const cells = (rows[i] ?? "").split("\t");
    assert.deepEqual([cells[0], cells[1], cells[2]], [String(node.index), node.op, node.name]);
    for (const { name, dtype, shape, weight } of node.inputs) {
      assert.ok(cells[3]?.replace(/\s+/g, " ").includes(`${shown(name)} ${dtype} [${shape.join(", ")}]${weight ? " weight" : ""}`.replace(/\s+/g, " ")), cells[3]);
    }
    assert.equal(cells[5], node.parameters.map(({ key, value }) => `${key} ${value}`).join("; "));
    assert.equal(cells[6], node.macs === null ? "" : node.macs.toLocaleString("en"));
  }
  assert.ok((await page.locator("#facts tbody tr").allInnerTexts()).includes(`the file\tqnn\tconverter_command\t${CONVERTER}`));
  assert.match(await textOf(page, "header"), /It describes a model, and has no bytes of it\./);
  assert.equal(await page.locator("#coverage").count(), 0);
  assert.deepEqual(faults, []);
  await context.close();
});

test("the JSON of qnn-context-binary-utility shows its graphs as the command does", { skip }, async () => {
  const { folder } = chipFiles();
  const net = join(folder, "net.json");
  const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
  await page.locator("#chosen-file").setInputFiles(net);
  await page.locator("#graphs summary").first().click();
  const text = await textOf(page, "#graphs");
  const graphs = json<{ graphs: NonNullable<Info["graphs"]> }>(["info", net, "--graphs"]).graphs;
  assert.equal(graphs.length, 1);
  for (const tensor of [...(graphs[0]?.inputs ?? []), ...(graphs[0]?.outputs ?? [])]) {
    assert.ok(text.includes(`${tensor.name} ${tensor.dtype} [${tensor.shape.join(", ")}]`), tensor.name);
    for (const { scale, offset } of tensor.scales ?? []) assert.ok(text.includes(`scale ${scale}, offset ${offset}`), `${scale}`);
  }
  assert.ok(text.includes("scale 0.5, offset -3"));
  assert.match(await textOf(page, "#facts"), /v2\.47\.0/);
  assert.deepEqual(faults, []);
  await context.close();
});

/** Writes a model with one EPContext node around a binary of 70,000 bytes. */
function wrapped(model: string, ...options: string[]): void {
  const packed = `${model}.fatctx`;
  writeFileSync(`${model}.bin`, readFileSync(join(files.folder, "prefill.v75.bin")).subarray(0, 70_000));
  run(["pack", "--name", "net", "--binary", `${model}.bin@htp:v75,part=SM8650,name=net.v75`, "-o", packed]);
  run(["wrap", packed, "net.v75", "--graph", "prefill", "--graph-input", "ids:int32[1,128]", "--graph-output", "logits:float16[1,32000]", ...options, "-o", model]);
}

for (const how of ["embedded", "beside"] as const) {
  test(`a model with EPContext nodes shows them, the binary ${how}`, { skip }, async () => {
    const model = join(files.folder, `net_${how}_ctx.onnx`);
    wrapped(model, ...(how === "embedded" ? ["--embed"] : []));
    const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
    await page.locator("#chosen-file").setInputFiles(model);
    await page.locator("#records tbody tr").first().waitFor();
    const row = await textOf(page, "#records tbody tr");
    assert.match(row, /context binary htp/);
    if (how === "embedded") assert.ok(row.includes(shortSize(70_000)), row);
    else assert.match(await textOf(page, ".problem"), /the binaries are in other files: net_beside_ctx/);
    assert.match(await textOf(page, "#facts"), /ep\.context embed_mode/);
    await page.locator("#graphs summary").first().click();
    assert.match(await textOf(page, "#graphs"), /ids int32 \[1, 128\].*logits float16 \[1, 32000\]/);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

test("damaged DLCs and models are refused, and the page does not hang", { skip }, async () => {
  const dlc = readFileSync(join(files.folder, "model.dlc"));
  const model = join(files.folder, "hurt_ctx.onnx");
  wrapped(model);
  const onnx = readFileSync(model);
  const changed = (bytes: Buffer, at: number, value: number) => Buffer.concat([bytes.subarray(0, at), Buffer.from([value]), bytes.subarray(at + 1)]);
  const hurt: [string, Buffer, RegExp][] = [
    ["cut.dlc", dlc.subarray(0, dlc.length - 30), /no end of a ZIP archive/],
    ["many.dlc", changed(dlc, dlc.length - 22 - 20 - 56 + 34, 0x7f), /entries in a directory/],
    ["moved.dlc", changed(dlc, dlc.length - 22 - 20 - 56 + 48, dlc[dlc.length - 22 - 20 - 56 + 48]! ^ 1), /does not end where/],
    ["cut.onnx", onnx.subarray(0, onnx.length - 7), /longer than what it is in|begins no field|no number/],
    ["short.onnx", Buffer.from([8, 8]), /it has no graph/],
    ["empty.fatctx", Buffer.alloc(0), /./],
    ["list.json", Buffer.from('{"info": {"graphs": 7}}'), /neither info\.graphs/],
    ["cut.json", Buffer.from(convertedNet().slice(0, -9)), /JSON/],
    ["node.json", Buffer.from('{"graph": {"tensors": {}, "nodes": {"n": 1}}}'), /node "n" has no type/],
  ];
  for (const [name, buffer, message] of hurt) {
    const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
    await page.locator("#chosen-file").setInputFiles({ name, mimeType: "application/octet-stream", buffer });
    await page.locator("#status.problem").waitFor();
    assert.match(await textOf(page, "#status"), message, name);
    await context.close();
  }
  assert.deepEqual(faults, []);
});

test("a damaged file is refused with its rule", { skip }, async () => {
  const { page, context } = await opened(`file://${join(BUILD, "look.html")}`);
  const bytes = readFileSync(files.first).subarray(0, 100_000);
  await page.locator("#chosen-file").setInputFiles({ name: "cut.fatctx", mimeType: "application/octet-stream", buffer: bytes });
  await page.locator("#status.problem").waitFor();
  assert.match(await textOf(page, "#status"), /cut\.fatctx: .*\[F10\]/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("an address is only asked for ranges of itself", { skip }, async () => {
  const bytes = readFileSync(files.later);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.range} ${request.headers.cookie ?? ""}${request.headers.referer ?? ""}`);
    const [first = 0, last = 0] = (request.headers.range ?? "").replace("bytes=", "").split("-").map(Number);
    const end = Math.min(last + 1, bytes.length);
    response.writeHead(206, {
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Expose-Headers": "Content-Range, ETag",
      "Content-Range": `bytes ${first}-${end - 1}/${bytes.length}`,
      ETag: '"one"',
    });
    response.end(bytes.subarray(first, end));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/later.fatctx`;
  try {
    const { page, context } = await opened(`file://${join(BUILD, "look.html")}`, "light", (other) => other === url);
    await page.locator("#address").fill(url);
    await page.locator("button[type=submit]").click();
    await page.locator("#records tbody tr").first().waitFor();
    assert.ok(asked.length >= 1 && asked.every((one) => /^GET \/later\.fatctx bytes=\d+-\d+ $/.test(one)), asked.join("\n"));
    assert.deepEqual(faults, []);
    await context.close();
  } finally {
    server.close();
  }
});
