// The command that the tests compare the page with, and files that it packs.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = new URL("../../../", import.meta.url).pathname;
export const COMMAND = process.env["FATCTX"] ?? join(ROOT, "build/release/tools/fatctx");

/** Why tests that need the command are skipped, or false. */
export const withoutCommand: string | false = existsSync(COMMAND) ? false : `${COMMAND} is not there: scripts/build.sh, or FATCTX=PATH`;

/** Runs the command; `codes` are the exit codes that are no error. */
export function run(args: readonly string[], codes: readonly number[] = [0]): string {
  try {
    return execFileSync(COMMAND, args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const ended = error as { status: number; stdout: string; stderr: string };
    if (codes.includes(ended.status)) return ended.stdout;
    throw new Error(`fatctx ${args.join(" ")}: ${ended.stderr}`);
  }
}

export function json<T>(args: readonly string[], codes?: readonly number[]): T {
  return JSON.parse(run([...args, "--json"], codes)) as T;
}

/** Bytes that no two seeds have in common. */
function noise(size: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = seed * 2654435761 + 1;
  for (let i = 0; i < size; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export const HOSTILE = "<script>alert(1)<img src=x onerror=alert(2)> & \u202egnp.exe";

export interface Files {
  readonly folder: string;
  readonly first: string;
  readonly later: string;
}

/** Two units for four chips that share most of their bytes, weights with tensors, and a name that means harm. */
export function packedFiles(): Files {
  const folder = mkdtempSync(join(tmpdir(), "fatctx-page-"));
  const at = (name: string) => join(folder, name);
  const common = noise(600_000, 1);
  const records: unknown[] = [];
  const header: Record<string, unknown> = {};
  for (let i = 0; i < 700; i++) {
    header[`layers.${Math.floor(i / 10)}.w${i % 10}`] = { dtype: "F16", shape: [8, 11], data_offsets: [i * 176, (i + 1) * 176] };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const size = new Uint8Array(8);
  new DataView(size.buffer).setBigUint64(0, BigInt(text.length), true);
  writeFileSync(at("weights.safetensors"), Buffer.concat([size, text, noise(700 * 176, 9)]));
  records.push({ type: "weight_blob", name: "chat.weights", file: "weights.safetensors", format: "safetensors", tensors: { format: "safetensors" } });
  const chips = [["v73", "SM8550"], ["v75", "SM8650"], ["v79", "SM8750"], ["v81", "SM8850"]] as const;
  chips.forEach(([arch, part], i) => {
    for (const unit of ["prefill", "decode"]) {
      const file = `${unit}.${arch}.bin`;
      writeFileSync(at(file), Buffer.concat([common.subarray(0, 4096 * 140), noise(70_000, 10 * i + unit.length)]));
      records.push({
        type: "context_binary", name: `chat.${unit}.${arch}`, file, format: "qnn-context-binary", unit, producer: "made up 1.0",
        target: { backend: "htp", arch, part, vtcm_mb: 8, sdk: "2.47" }, weights: ["chat.weights"], options: { level: String(i) },
        graphs: [{ name: unit, inputs: [{ name: "ids", dtype: "int32", shape: [1, 128] }], outputs: [{ name: "logits", dtype: "float16", shape: [1, 32000] }] }],
      });
    }
  });
  writeFileSync(at("words"), "a few words, told apart from others");
  records.push({ type: "opaque", name: HOSTILE, file: "words" });
  writeFileSync(at("manifest.json"), JSON.stringify({ schema: "fatctx.manifest/1", name: "chat", records }));
  const first = at("first.fatctx");
  run(["pack", at("manifest.json"), "-o", first]);
  execFileSync("python3", [join(ROOT, "tests/support/dlc_archive.py"), at("model.dlc")]);
  const later = at("later.fatctx");
  run(["compact", first, "-o", later]);
  writeFileSync(at("new.bin"), noise(200_000, 77));
  run(["append", later, "--binary", `${at("new.bin")}@htp:v68,part=SM8350,unit=prefill,name=chat.prefill.v68`]);
  run(["note", later, "chat.prefill.v75", "--device", "Galaxy S24", "--metric", "latency_ms=3.1", "--date", "2026-11-22"]);
  return { folder, first, later };
}

export interface Chips {
  readonly folder: string;
  readonly three: string;
  readonly four: string;
}

/** A quantised model for three chips whose binaries share most of their pages, and the same with SM8850 added. */
export function chipFiles(): Chips {
  const folder = mkdtempSync(join(tmpdir(), "fatctx-page-"));
  const at = (name: string) => join(folder, name);
  const common = noise(600_000, 3);
  const tensor = (name: string, type: string, dimensions: number[], quantizeParams = {}) => ({ info: { name, dataType: `QNN_DATATYPE_${type}`, dimensions, quantizeParams } });
  const scaled = { definition: "QNN_DEFINITION_DEFINED", quantizationEncoding: "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", scaleOffset: { scale: 0.5, offset: -3 } };
  const graph = {
    graphName: "prefill",
    graphInputs: [tensor("ids", "INT_32", [1, 128]), tensor("mask", "UFIXED_POINT_8", [1, 128], scaled)],
    graphOutputs: [tensor("logits", "FLOAT_16", [1, 32000])],
  };
  writeFileSync(at("net.json"), JSON.stringify({ info: { buildId: "v2.47.0", graphs: [{ info: graph }] } }));
  const record = (arch: string, part: string, seed: number) => {
    writeFileSync(at(`${arch}.bin`), Buffer.concat([common.subarray(0, 4096 * 140), noise(70_000, seed)]));
    return {
      type: "context_binary", name: `net.prefill.${arch}`, file: `${arch}.bin`, format: "qnn-context-binary", producer: "made up 1.0",
      target: { backend: "htp", arch, part, vtcm_mb: 8, sdk: "2.47" }, quant: { activation_type: "uint16", weight_type: "uint8" },
      graphs: { from: "net.json" },
    };
  };
  const chips = [["v73", "SM8550"], ["v75", "SM8650"], ["v79", "SM8750"], ["v81", "SM8850"]] as const;
  const records = chips.map(([arch, part], i) => record(arch, part, 10 * i + 7));
  for (const [name, count] of [["three", 3], ["four", 4]] as const) {
    writeFileSync(at(`${name}.json`), JSON.stringify({ schema: "fatctx.manifest/1", name: "net", records: records.slice(0, count) }));
    run(["pack", at(`${name}.json`), "-o", at(`${name}.fatctx`)]);
  }
  return { folder, three: at("three.fatctx"), four: at("four.fatctx") };
}
