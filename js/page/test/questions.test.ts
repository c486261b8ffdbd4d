// Five questions that readers ask of a report, each answered on the path that docs/report.md names: a link of the page's
// parts, then a click or a search. Numbers are those of the command.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { chromium, type Browser, type Page } from "playwright-core";

import type { Diff, Info } from "../src/data.js";
import { shortSize, size } from "../src/format.js";
import { CHROMIUM, withoutBrowser } from "./browser.js";
import { chipFiles, json, run, type Chips } from "./command.js";

const BUILD = join(new URL("../../../", import.meta.url).pathname, "js/build");
const skip = withoutBrowser;

let browser: Browser;
let files: Chips;
let page: Page;

before(async () => {
  if (skip) return;
  files = chipFiles();
  const template = ["--page", join(BUILD, "report.html")];
  run(["report", files.three, "-o", join(files.folder, "report.html"), ...template]);
  run(["report", files.three, files.four, "-o", join(files.folder, "changes.html"), ...template]);
  browser = await chromium.launch({ executablePath: CHROMIUM as string, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
});

/** Opens a report and goes to one of its parts as a reader does. */
async function partOf(report: string, title: string): Promise<Page> {
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  await page.goto(`file://${join(files.folder, report)}`);
  await page.locator("nav").getByRole("link", { name: title, exact: true }).click();
  return page;
}

const textOf = async (selector: string): Promise<string> => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ");

test("which chip has no binary of its own?", { skip }, async () => {
  await partOf("report.html", "Devices");
  await page.locator("#policy-allowLowerArch").check();
  await page.locator("#without-own").check();
  const shown = await page.locator(".coverage tbody th").allInnerTexts();
  const { devices } = json<{ devices: { name: string; level: string | null }[] }>(["select", files.three, "--all-devices", "--allow-lower-arch"]);
  assert.deepEqual(shown, devices.filter(({ level }) => level !== "OPTIMAL").map(({ name }) => name));
  assert.ok(shown.includes("SM8850") && !shown.includes("SM8750") && !shown.includes("SM8550"), shown.join(" "));
  assert.equal(await textOf("#own"), `${devices.length - shown.length} have a binary of their own: it uses them fully, although it may be named after another chip of the same arch.`);
  assert.equal(await textOf("#shown"), `The table shows ${shown.length} of ${devices.length} devices.`);
  await page.locator("button[data-device=SM8850]").click();
  assert.match(await textOf("#verdicts"), /SM8850 .*net\.prefill\.v79: T\d+ PREFER_RECOMPILATION/);
  await page.close();
});

test("how much do v73 and v79 share?", { skip }, async () => {
  await partOf("report.html", "Who shares what with whom");
  const info = json<Info>(["info", files.three, "--sharing"]);
  const id = (name: string): number => info.records.find((record) => record.name === name)?.id ?? 0;
  const both = info.sharing?.records.find(({ record }) => record === id("net.prefill.v73"))?.shared_with.find(({ record }) => record === id("net.prefill.v79"))?.bytes ?? 0;
  assert.ok(both > 100_000, String(both));
  const heads = await page.locator("#sharing .matrix thead th").allInnerTexts();
  const row = page.locator("#sharing .matrix tbody tr").filter({ has: page.locator("th", { hasText: "net.prefill.v73" }) });
  const cell = row.locator("td").nth(heads.indexOf("net.prefill.v79"));
  assert.ok((await cell.innerText()).includes(shortSize(both)), await cell.innerText());
  assert.equal(await cell.getAttribute("title"), `net.prefill.v73 and net.prefill.v79: ${size(both)}`);
  await page.close();
});

test("what does graph prefill take?", { skip }, async () => {
  await partOf("report.html", "Graphs");
  await page.locator("#graph-search").fill("prefill in net.prefill.v75");
  assert.equal(await textOf("#graph-count"), "1 graph");
  await page.locator("#graphs summary:visible").click();
  assert.match(await textOf("#graphs details[open] table"), /input ids int32 \[1, 128\].*input mask uint8 \[1, 128\] scale 0\.5, offset -3.*output logits float16 \[1, 32000\]/);
  await page.close();
});

test("was it quantised, and how?", { skip }, async () => {
  await partOf("report.html", "Options and evidence");
  assert.equal(await textOf("#model-line"), "Graph: prefill (ids int32 [1, 128], mask uint8 [1, 128] → logits float16 [1, 32000]). Quantised: activation type uint16, weight type uint8.");
  assert.match(await textOf("#facts table"), /net\.prefill\.v75 .*activation type uint16, weight type uint8/);
  await page.close();
});

test("what would adding SM8850 cost?", { skip }, async () => {
  await partOf("changes.html", "What changed");
  const diff = json<Diff>(["diff", files.three, files.four], [0, 1]);
  const cost = diff.after.stored_bytes - diff.after.stored_bytes_in_both;
  assert.ok(cost > 60_000 && cost < 700_000, String(cost));
  assert.ok((await textOf("#update-cost")).includes(`an update costs ${size(cost)}`));
  assert.match(await textOf("#changes"), /added net\.prefill\.v81 context binary .*SM8850/);
  await page.close();
});
