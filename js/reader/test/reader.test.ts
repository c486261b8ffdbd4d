// The reader on its ways in: buffers, blobs, files and addresses; and what it does with damage and signatures.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { open, readFile, readdir } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { Hashes } from "../src/hash.js";
import { Container, FatctxError, fromBlob, fromBuffer, fromFile, fromUrl, toHex } from "../src/node.js";

const ROOT = new URL("../../../", import.meta.url).pathname;
const GOLDEN = join(ROOT, "tests/golden/v1");
const golden = (name: string): Promise<Uint8Array> => readFile(join(GOLDEN, name));

async function refusal(open: Promise<unknown>): Promise<FatctxError> {
  try {
    await open;
  } catch (error) {
    assert.ok(error instanceof FatctxError, String(error));
    return error;
  }
  return assert.fail("it was not refused");
}

/** A server of one file that answers ranges, and counts requests. */
async function served(size: number, read: (offset: number, size: number) => Promise<Uint8Array>, ranges = true): Promise<{ url: string; server: Server; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers.range ?? ""}`);
    const range = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "");
    if (!ranges || range === null) {
      response.writeHead(200).end("the whole file");
      return;
    }
    const [first, last] = [Number(range[1]), Math.min(Number(range[2]), size - 1)];
    void read(first, last - first + 1).then((bytes) =>
      response.writeHead(206, { "Content-Range": `bytes ${first}-${last}/${size}`, ETag: '"one"' }).end(bytes),
    );
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.fatctx`, server, asked };
}

test("hashes are those of the format, with and without a seed, for every kind of length", async () => {
  const hashes = await Hashes.make();
  // Of XXH3's own test data: the empty text, and texts on both sides of its changes of method at 16, 128 and 240.
  const text = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 7 + 3) % 251);
  assert.equal(toHex(hashes.hash(text(0))), "99aa06d3014798d86001c324468d497f");
  const expected = JSON.parse(await readFile(join(ROOT, "js/reader/test/hashes.json"), "utf8")) as Record<string, string[]>;
  for (const [length, [plain, seeded, small]] of Object.entries(expected)) {
    const bytes = text(Number(length));
    assert.equal(toHex(hashes.hash(bytes)), plain, length);
    assert.equal(toHex(await Hashes.seeded(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), bytes)), seeded, length);
    assert.equal(toHex(hashes.hash64(bytes)), small, length);
  }
});

test("every golden file is whole by each way in", async () => {
  for (const name of (await readdir(GOLDEN)).filter((file) => file.endsWith(".fatctx"))) {
    const bytes = await golden(name);
    const file = await fromFile(join(GOLDEN, name));
    for (const source of [fromBuffer(bytes), fromBlob(new Blob([bytes.slice()])), file]) {
      const container = await Container.open(source);
      assert.deepEqual(await container.verify(), [], name);
      assert.deepEqual(container.findings, [], name);
      assert.ok(container.records.length >= 4, name);
    }
    await file.close();
  }
});

test("a blob is read in slices, never as a whole", async () => {
  // With a tail, as an unfinished append leaves it: bytes that no reader needs.
  const sizes: number[] = [];
  const blob = new Blob([new Uint8Array(await golden("appended.fatctx")), new Uint8Array(3_000_000)]);
  const sliced = { size: blob.size, slice: (from: number, to: number) => (sizes.push(to - from), blob.slice(from, to)) };
  await Container.open(fromBlob(sliced as unknown as Blob));
  assert.ok(sizes.length > 1 && sizes.reduce((sum, size) => sum + size) < 100_000, String(sizes));
});

test("a remote file of 1 GB is listed with at most three requests", async () => {
  // A large form: 1 GB of payload, most of which is a hole on the disk. The file is made by the command.
  const path = process.env["FATCTX_LARGE"];
  const file = path === undefined ? null : await open(path, "r");
  const bytes = await golden("shared.fatctx");
  const size = file === null ? bytes.length : (await file.stat()).size;
  const read = async (offset: number, length: number) => {
    if (file === null) return bytes.subarray(offset, offset + length);
    const into = new Uint8Array(length);
    await file.read(into, 0, length, offset);
    return into;
  };
  const { url, server, asked } = await served(size, read);
  try {
    const source = fromUrl(url);
    const container = await Container.open(source);
    assert.ok(container.records.length >= 2);
    assert.equal((await container.describe()).records.length > 0 || container.records.length > 0, true);
    assert.ok(asked.length <= 3, asked.join("; "));
    assert.equal(source.requests, asked.length);
    assert.ok(asked.every((one) => one.startsWith("GET bytes=")));
  } finally {
    server.close();
    await file?.close();
  }
});

test("a server without ranges is refused with what it must do", async () => {
  const { url, server } = await served(10, async () => new Uint8Array(0), false);
  try {
    const error = await refusal(Container.open(fromUrl(url)));
    assert.equal(error.code, "io");
    assert.match(error.message, /206/);
  } finally {
    server.close();
  }
});

test("a file that changes between two requests is refused", async () => {
  const bytes = await golden("shared.fatctx");
  let version = 0;
  const fetcher = (async (_: unknown, init: RequestInit) => {
    const [first = 0, last = 0] = ((init.headers as Record<string, string>)["Range"] ?? "").replace("bytes=", "").split("-").map(Number);
    // The first answer is short, so that a second one is needed.
    const end = Math.min(last + 1, version === 0 ? 40_000 : bytes.length);
    const headers = { "Content-Range": `bytes ${first}-${end - 1}/${bytes.length}`, ETag: `"${version++}"` };
    return new Response(bytes.slice(first, end), { status: 206, headers });
  }) as unknown as typeof fetch;
  const error = await refusal(Container.open(fromUrl("http://127.0.0.1/x", fetcher)).then((container) => container.verify()));
  assert.match(error.message, /changed meanwhile/);
});

test("every byte of a file counts: a changed one is found by open or by verify", async () => {
  const bytes = await golden("plain.fatctx");
  for (let at = 0; at < bytes.length; at += 97) {
    const damaged = bytes.slice();
    damaged[at] = (damaged[at] as number) ^ 0x41;
    let seen = false;
    try {
      const container = await Container.open(fromBuffer(damaged));
      seen = container.findings.length > 0 || (await container.verify()).length > 0;
    } catch (error) {
      seen = error instanceof FatctxError;
    }
    assert.ok(seen, `byte ${at}`);
  }
});

test("errors name rule and code", async () => {
  const bytes = await golden("sealed.fatctx");
  const longer = new Uint8Array(bytes.length + 1);
  longer.set(bytes);
  for (const [data, code, rule] of [
    [new Uint8Array(0), "truncated", "F1"],
    [new Uint8Array(100).fill(7), "bad_magic", "F1"],
    [bytes.slice(0, 5000), "truncated", "F1"],
    [bytes.slice(0, -1), "truncated", "F10"],
    [longer, "trailing_data", "F10"],
  ] as const) {
    const error = await refusal(Container.open(fromBuffer(data)));
    assert.deepEqual([error.code, error.rule], [code, rule]);
  }
});

test("a trusted key opens what it has signed, and nothing else", async () => {
  const bytes = await golden("signed.fatctx");
  const text = await readFile(join(GOLDEN, "signed.pub"), "utf8");
  const key = publicKey(text);
  const container = await Container.open(fromBuffer(bytes), { trust: { keys: [key] } });
  assert.deepEqual(await container.verify(), []);
  const record = container.records.find((candidate) => candidate.type === 1);
  assert.ok(record && (await container.bytes(record)).length === record.logicalSize);

  const stranger = key.slice();
  stranger[0] = (stranger[0] as number) ^ 1;
  assert.equal((await refusal(Container.open(fromBuffer(bytes), { trust: { keys: [stranger] } }))).code, "signature_bad");
  const plain = await golden("plain.fatctx");
  assert.equal((await refusal(Container.open(fromBuffer(plain), { trust: { keys: [key] } }))).code, "signature_missing");
  const later = { trust: { keys: [key], minimumGeneration: 99n } };
  assert.equal((await refusal(Container.open(fromBuffer(bytes), later))).code, "rollback");
});

/** The 32 bytes of a public key file: its last line, in hex or in base64. */
function publicKey(text: string): Uint8Array {
  const last = text.trim().split("\n").at(-1)?.trim() ?? "";
  const word = last.split(/\s+/).at(-1) ?? "";
  const bytes = /^[0-9a-f]{64}$/i.test(word) ? Buffer.from(word, "hex") : Buffer.from(word, "base64");
  return new Uint8Array(bytes.subarray(bytes.length - 32));
}

test("tensors are found, and their bytes are those of the blob", async () => {
  const container = await Container.open(fromBuffer(await golden("plain.fatctx")));
  const blob = container.record("weights");
  const tensors = await container.tensors(blob);
  assert.ok(tensors !== null && tensors.length >= 3);
  const whole = await container.bytes(blob);
  for (const tensor of tensors) {
    const own = await container.tensorBytes(blob, tensor);
    assert.equal(toHex(own), toHex(whole.subarray(tensor.offset, tensor.offset + tensor.size)));
  }
});

test("a file that grew while it was opened is opened again", async () => {
  const bytes = await golden("appended.fatctx");
  let asked = 0;
  const whole = fromBuffer(bytes);
  const growing = { name: "growing", size: async () => (asked++ === 0 ? 40_000 : bytes.length), read: whole.read.bind(whole) };
  const container = await Container.open(growing);
  assert.equal(asked, 2);
  assert.equal(container.fileSize, bytes.length);
});
