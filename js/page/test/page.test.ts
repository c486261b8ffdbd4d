// The page in headless Chromium: what it shows is what the command says, it asks nobody for anything, and names that
// mean harm stay text.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { mkdirSync, readFileSync, statSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

import { groupsOf } from "fatctx-reader/select";
import { candidatesOf, type Diff, type Info } from "../src/data.js";
import { size } from "../src/format.js";
import { piecesOf } from "../src/pieces.js";
import { shown } from "../src/vnode.js";
import { HOSTILE, json, packedFiles, run, withoutCommand, type Files } from "./command.js";

const ROOT = new URL("../../../", import.meta.url).pathname;
const BUILD = join(ROOT, "js/build");
const SHOTS = process.env["FATCTX_SHOTS"] ?? join(BUILD, "shots");
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => statSync(path, { throwIfNoEntry: false }));
const canReport = (): boolean => {
  try {
    return run(["--help"]).includes("report");
  } catch {
    return false;
  }
};
const skip = withoutCommand || (CHROMIUM === undefined ? "no Chromium: apt-get install chromium" : !canReport() ? "this fatctx has no report" : false);

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

const textOf = async (page: Page, selector: string): Promise<string> => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ");

test("the report is one small file that shows what info says", { skip }, async () => {
  assert.ok(statSync(report).size < 1_000_000, `${statSync(report).size} bytes`);
  const { page, context } = await opened(`file://${report}`);
  const info = json<Info>(["info", files.later]);
  assert.equal(await textOf(page, "#uuid"), info.uuid);
  assert.equal(await textOf(page, "#file-size"), size(info.file_size));
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
  await tiles.nth(1).hover();
  assert.notEqual(await textOf(page, "#figure-treemap .facts"), facts);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#figure-treemap .save").click()]);
  const picture = readFileSync(await download.path(), "utf8");
  assert.ok(picture.startsWith("<svg xmlns=") && !picture.includes("var(--") && !picture.includes("<script"));
  assert.deepEqual(faults, []);
  await context.close();
});

test("devices get in the page what select gives them", { skip }, async () => {
  const { page, context } = await opened(`file://${report}`);
  const { devices, covered } = json<{ covered: number; devices: { name: string; chosen: string[]; tier: number | null }[] }>(["select", files.later, "--all-devices"]);
  assert.equal(await textOf(page, "#covered"), `${covered} of ${devices.length} devices get a record.`);
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
