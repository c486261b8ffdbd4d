// Builds what js/ gives to others, into js/build: the page that `fatctx report` fills (report.html), the same page for
// looking at any file (look.html), the reader as one file for browsers (fatctx-reader.min.js), and the tests.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const OUT = new URL("build/", import.meta.url);
const MOST_READER_BYTES = 300 * 1024;

const common = { bundle: true, write: false, target: "es2022", legalComments: "none", logLevel: "warning", charset: "ascii" };

async function bundle(entry, options) {
  const result = await build({ ...common, entryPoints: [fileURLToPath(new URL(entry, import.meta.url))], ...options });
  return result.outputFiles[0].text;
}

const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Puts style and script into the page, with a policy that allows these and nothing else. */
async function page(script, style, mayFetch) {
  const policy = [
    "default-src 'none'",
    // XXH3 is WebAssembly.
    `script-src ${hashOf(script)} 'wasm-unsafe-eval'`,
    `style-src ${hashOf(style)}`,
    // A page with data asks nobody for anything.
    mayFetch ? "connect-src http: https:" : "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const values = { FETCH: mayFetch ? "yes" : "no", POLICY: policy, STYLE: style, SCRIPT: script };
  const empty = await readFile(new URL("page/src/page.html", import.meta.url), "utf8");
  return empty.replace(/@([A-Z]+)@/g, (_, name) => values[name]);
}

await mkdir(new URL("test/", OUT), { recursive: true });

const alias = {
  "fatctx-reader": fileURLToPath(new URL("reader/src/index.ts", import.meta.url)),
  "fatctx-reader/select": fileURLToPath(new URL("reader/src/select/index.ts", import.meta.url)),
};
const script = await bundle("page/src/main.ts", { alias, minify: true, format: "iife", loader: { ".csv": "text" } });
// The parser of HTML ends a script at this word, wherever it is.
if (/<\/script|<!--/i.test(script)) throw new Error("the script has a text that ends its element");
const style = (await bundle("page/src/style.css", { minify: true })).trim();
await writeFile(new URL("report.html", OUT), await page(script, style, false));
await writeFile(new URL("look.html", OUT), await page(script, style, true));

const reader = await bundle("reader/src/index.ts", { minify: true, format: "esm", platform: "browser" });
if (reader.length > MOST_READER_BYTES) throw new Error(`the reader has ${reader.length} bytes; at most ${MOST_READER_BYTES}`);
await writeFile(new URL("fatctx-reader.min.js", OUT), reader);

for (const folder of ["reader/test", "page/test"]) {
  const names = await readdir(new URL(`${folder}/`, import.meta.url)).catch(() => []);
  for (const name of names.filter((candidate) => candidate.endsWith(".ts"))) {
    const text = await bundle(`${folder}/${name}`, {
      alias,
      platform: "node",
      format: "esm",
      target: "node18",
      external: ["playwright-core"],
      loader: { ".csv": "text" },
    });
    await writeFile(new URL(`test/${name.replace(/\.ts$/, ".mjs")}`, OUT), text);
  }
}
console.log(`built: report.html and look.html, the reader (${reader.length} bytes) and the tests`);
