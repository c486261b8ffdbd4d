// The table of SoCs: docs/selection.md, section 10. Only what selection asks it: which spellings are one part, where
// generations begin, and which pairs of parts are known not to work.
import { featureWords, type Device } from "./device.js";

export interface Soc {
  readonly part: string;
  readonly alias_of?: string;
  readonly aliases?: readonly string[];
  readonly name?: string;
  readonly vendor?: string;
  readonly qnn_soc?: number;
  readonly arch?: string;
  readonly vtcm_mb?: number;
  readonly runtime?: string;
}

export interface Quirk {
  readonly record: string;
  readonly device: string;
  readonly source: string;
  readonly reason: string;
}

/** Schema fatctx.socs/1, as far as it is used. */
export interface SocFile {
  readonly version: string;
  readonly boundaries: readonly number[];
  readonly quirks: readonly Quirk[];
  readonly socs: readonly Soc[];
}

const SUFFIXES = ["-1-AB", "-AB", "-AC"];
const BACKENDS: Readonly<Record<string, string>> = {
  HTP: "htp",
  DSP: "dsp",
  NeuroPilot: "neuropilot",
  EdgeTPU: "edgetpu",
  "OpenVINO NPU": "openvino",
  Enn: "enn",
  "TensorRT/CUDA": "cuda",
};

function partKey(name: string): string {
  return name.replace(/^[ \t\r\n\0]+|[ \t\r\n\0]+$/g, "").replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

export class SocTable {
  readonly version: string;
  readonly boundaries: readonly number[];
  readonly quirks: readonly Quirk[];
  readonly socs: readonly Soc[];
  private readonly parts = new Map<string, Soc>();
  private readonly aliases = new Map<string, Soc>();

  constructor(file: SocFile) {
    this.version = file.version;
    this.boundaries = file.boundaries;
    this.quirks = file.quirks;
    this.socs = file.socs;
    for (const soc of file.socs) {
      this.parts.set(partKey(soc.part), soc);
      for (const alias of soc.aliases ?? []) this.aliases.set(partKey(alias), soc);
    }
  }

  private known(key: string): Soc | null {
    const part = this.parts.get(key);
    if (part === undefined) return this.aliases.get(key) ?? null;
    return part.alias_of ? (this.parts.get(partKey(part.alias_of)) ?? part) : part;
  }

  /** The row of a part in any of its spellings, or null if the table does not know it. */
  find(name: string): Soc | null {
    const key = partKey(name);
    const exact = this.known(key);
    if (exact !== null) return exact;
    const suffix = SUFFIXES.find((candidate) => key.endsWith(candidate));
    const shorter = suffix === undefined ? key : key.slice(0, -suffix.length);
    return this.known(shorter) ?? (shorter.endsWith("P") ? this.known(shorter.slice(0, -1)) : null);
  }

  /** Two names that the table does not know may be one part too: `SM9999-AC` and `SM9999P` are not, `a` and `A` are. */
  private partOf(name: string): string {
    return this.find(name)?.part ?? partKey(name);
  }

  samePart(a: string, b: string): boolean {
    return a === b || this.partOf(a) === this.partOf(b);
  }

  /** The device that a row of the table describes. */
  deviceOf(soc: Soc): Device {
    return {
      backend: BACKENDS[soc.runtime ?? ""] ?? "htp",
      part: soc.part,
      ...(soc.qnn_soc === undefined ? {} : { qnn_soc: soc.qnn_soc }),
      ...(soc.arch === undefined ? {} : { arch: soc.arch }),
      ...(soc.vtcm_mb === undefined ? {} : { vtcm_mb: soc.vtcm_mb }),
    };
  }
}

/** A processor in words, as `fatctx select --device` takes it: `aarch64+dotprod`. */
export function processor(text: string): Device {
  const [arch = "", ...features] = text.split("+");
  return { backend: "cpu", arch, features: featureWords(features.join(",")).sort() };
}
