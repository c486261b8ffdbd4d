// Axes, tiers, levels and ties: docs/selection.md, sections 3 to 5. Tables, as there.
import type { Key } from "../tables.js";
import {
  compareVersions,
  featureWords,
  hexagonNumber,
  isKnown,
  parseCpuArch,
  parseVersion,
  type CpuArch,
  type Device,
} from "./device.js";
import type { Quirk, SocTable } from "./socs.js";

export const CPU = "cpu";
export const HTP = "htp";
const SOURCE_MODEL = 4;

export interface Candidate {
  readonly id: number;
  readonly name: string;
  readonly key: Key;
  /** Every weight blob that it refers to exists with the bound hash; a container that opens says so. */
  readonly weightsOk?: boolean;
  readonly damaged?: boolean;
}

export interface Policy {
  readonly group?: string;
  readonly strict?: boolean;
  readonly allowLowerArch?: boolean;
  readonly allowGeneric?: boolean;
  readonly mixTargets?: boolean;
  readonly prepareHook?: boolean;
  readonly maxSdk?: string;
}

export type Level = "OPTIMAL" | "PREFER_RECOMPILATION" | "FALLBACK" | "UNSUPPORTED";
export type Axis =
  | "A1" | "A2" | "A3" | "A4" | "A5" | "A6" | "A7" | "A8" | "C1" | "C2"
  | "no_tier" | "strict" | "strict_lower" | "no_hook" | "group" | "incomplete" | "outranked";

/** A verdict about one record by itself: a tier, or the axis that refuses it. */
export type Fit = { readonly tier: number; readonly level: Level } | { readonly axis: Axis };

export function isSource(candidate: Candidate): boolean {
  return candidate.key.type === SOURCE_MODEL;
}

export function isGeneric(key: Key): boolean {
  const namesPart = key.part !== "" && key.part !== "ALL";
  return key.generic || (!namesPart && key.qnnSoc === 0 && key.arch === "" && key.features === "");
}

export function missingWords(features: string, have: readonly string[]): string[] {
  return featureWords(features).filter((word) => !have.includes(word));
}

function newerThan(version: Key["sdk"], device: string | undefined): boolean {
  const known = parseVersion(device);
  if (!isKnown(known)) return false;
  return version[0] !== known[0] ? version[0] > known[0] : version[1] > known[1];
}

export function vtcmSmaller(key: Key, device: Device): boolean {
  return device.backend !== CPU && device.vtcm_mb !== undefined && key.vtcmMb !== 0 && key.vtcmMb < device.vtcm_mb;
}

export function vtcmUnverified(key: Key, device: Device): boolean {
  if (device.backend === CPU || device.vtcm_mb !== undefined || isGeneric(key)) return false;
  return device.backend === HTP || key.vtcmMb !== 0;
}

export function archLower(key: Key, device: Device): boolean {
  if (device.backend !== HTP || device.arch === undefined) return false;
  const record = hexagonNumber(key.arch);
  const own = hexagonNumber(device.arch);
  return record !== null && own !== null && record < own;
}

/** Which version of the record is above the device's, as the words and both values of its sentence. */
export function newerVersion(key: Key, device: Device): [string, Key["sdk"], string] | null {
  const rows: [string, Key["sdk"], string | undefined][] = [
    ["blob version", key.blob, device.blob],
    ["api", key.api, device.api],
    ["sdk", key.sdk, device.sdk],
  ];
  for (const [word, version, own] of rows) {
    if (newerThan(version, own)) return [word, version, own as string];
  }
  return null;
}

export class Rules {
  private readonly cpu: boolean;
  private readonly cpuArch: CpuArch;
  private readonly hexagon: number | null;

  constructor(
    readonly device: Device,
    readonly policy: Policy,
    readonly table: SocTable,
  ) {
    this.cpu = device.backend === CPU;
    this.cpuArch = parseCpuArch(device.arch ?? "");
    this.hexagon = device.backend === HTP ? hexagonNumber(device.arch ?? "") : null;
  }

  private recordHexagon(key: Key): number | null {
    return this.hexagon === null ? null : hexagonNumber(key.arch);
  }

  private archsKnown(key: Key): boolean {
    return (this.device.arch ?? "") !== "" && key.arch !== "";
  }

  private sameArch(key: Key): boolean {
    return this.archsKnown(key) && key.arch === this.device.arch;
  }

  private sameIsa(key: Key): boolean {
    return this.archsKnown(key) && parseCpuArch(key.arch).isa === this.cpuArch.isa;
  }

  private usesOwnLevel(key: Key): boolean {
    const { level } = parseCpuArch(key.arch);
    if (!this.sameIsa(key) || level !== this.cpuArch.level) return false;
    return level !== 0 || featureWords(key.features).length === (this.device.features ?? []).length;
  }

  private afterBoundary(key: Key): boolean {
    const record = this.recordHexagon(key);
    const own = this.hexagon;
    return record !== null && own !== null && this.table.boundaries.some((at) => record < at && at <= own);
  }

  quirk(key: Key): Quirk | null {
    const is = (part: string, name: string, number: number): boolean =>
      name !== ""
        ? this.table.samePart(part, name)
        : number !== 0 && this.table.find(part)?.qnn_soc === number;
    return (
      this.table.quirks.find(
        (quirk) =>
          is(quirk.record, key.part, key.qnnSoc) && is(quirk.device, this.device.part ?? "", this.device.qnn_soc ?? 0),
      ) ?? null
    );
  }

  /** The first axis that refuses a record, in the order of section 3. */
  rejection(candidate: Candidate): Axis | null {
    const { key } = candidate;
    const { device, policy, cpu } = this;
    const record = this.recordHexagon(key);
    if (key.backend !== device.backend) return "A1";
    if (candidate.damaged === true) return "A2";
    if (!cpu) {
      if (newerVersion(key, device) !== null || newerThan(key.sdk, policy.maxSdk)) return "A3";
      if (record !== null && record > (this.hexagon as number)) return "A4";
      if (this.afterBoundary(key)) return "A5";
      if (device.vtcm_mb !== undefined && key.vtcmMb > device.vtcm_mb) return "A6";
      if (this.quirk(key) !== null) return "A8";
    } else {
      if (this.archsKnown(key) && !this.sameIsa(key)) return "C1";
      const above = parseCpuArch(key.arch).level > this.cpuArch.level;
      if (this.archsKnown(key) && (above || missingWords(key.features, device.features ?? []).length > 0)) return "C2";
    }
    return candidate.weightsOk === false ? "A7" : null;
  }

  private tier(key: Key): number | null {
    const { device, policy } = this;
    if (this.cpu) {
      if (!key.generic && this.usesOwnLevel(key)) return 3;
      if (!key.generic && this.sameIsa(key)) return 5;
    } else {
      if (device.part !== undefined && key.part !== "" && this.table.samePart(key.part, device.part)) return 1;
      if (device.qnn_soc !== undefined && key.qnnSoc !== 0 && key.qnnSoc === device.qnn_soc) return 2;
      if (this.sameArch(key)) return device.vtcm_mb === undefined || key.vtcmMb === device.vtcm_mb ? 3 : 4;
      if (policy.allowLowerArch === true && archLower(key, device)) return 5;
    }
    return policy.allowGeneric !== false && isGeneric(key) ? 6 : null;
  }

  private accept(tier: number, key: Key): Fit {
    if (this.policy.strict === true) {
      if (tier >= 5) return { axis: "strict_lower" };
      if (tier === 4 || vtcmSmaller(key, this.device)) return { axis: "strict" };
    }
    if (tier <= 2) return { tier, level: vtcmSmaller(key, this.device) ? "PREFER_RECOMPILATION" : "OPTIMAL" };
    return { tier, level: tier === 3 ? "OPTIMAL" : tier <= 5 ? "PREFER_RECOMPILATION" : "FALLBACK" };
  }

  judge(candidate: Candidate): Fit {
    const { key } = candidate;
    if (isSource(candidate)) {
      if (key.backend !== "" && key.backend !== this.device.backend) return { axis: "A1" };
      if (candidate.damaged === true) return { axis: "A2" };
      return this.policy.prepareHook === true ? this.accept(7, key) : { axis: "no_hook" };
    }
    const axis = this.rejection(candidate);
    if (axis !== null) return { axis };
    const tier = this.tier(key);
    return tier === null ? { axis: "no_tier" } : this.accept(tier, key);
  }
}

export type TieRule = "level" | "features" | "arch" | "vtcm" | "sdk" | "key" | "record";

const DEFAULT_VTCM_MB = 4;
const vtcmForOrder = (key: Key): number => key.vtcmMb || DEFAULT_VTCM_MB;

/** Which of two records of one tier comes first, and by what. */
export function breakTie(a: Candidate, b: Candidate, tier: number): { firstWins: boolean; rule: TieRule } {
  const decide = (x: number, y: number, rule: TieRule) => (x === y ? null : { firstWins: x > y, rule });
  const decided =
    a.key.backend === CPU && b.key.backend === CPU
      ? (decide(parseCpuArch(a.key.arch).level, parseCpuArch(b.key.arch).level, "level") ??
        decide(featureWords(a.key.features).length, featureWords(b.key.features).length, "features"))
      : ((tier === 5 ? decide(hexagonNumber(a.key.arch) ?? -1, hexagonNumber(b.key.arch) ?? -1, "arch") : null) ??
        decide(vtcmForOrder(a.key), vtcmForOrder(b.key), "vtcm") ??
        decide(compareVersions(a.key.sdk, b.key.sdk), 0, "sdk"));
  if (decided !== null) return decided;
  const order = compareKeys(a.key, b.key);
  return order !== 0 ? { firstWins: order < 0, rule: "key" } : { firstWins: a.id < b.id, rule: "record" };
}

const ENCODER = new TextEncoder();

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  // UTF-16 and UTF-8 order texts differently above the basic plane.
  const [x, y] = [ENCODER.encode(a), ENCODER.encode(b)];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    if (x[i] !== y[i]) return (x[i] as number) - (y[i] as number);
  }
  return x.length - y.length;
}

export function compareTargets(a: Key, b: Key): number {
  return (
    compareTexts(a.backend, b.backend) ||
    a.qnnSoc - b.qnnSoc ||
    compareTexts(a.part, b.part) ||
    compareTexts(a.arch, b.arch) ||
    compareTexts(a.features, b.features) ||
    a.vtcmMb - b.vtcmMb ||
    compareVersions(a.sdk, b.sdk) ||
    compareTexts(a.variant, b.variant)
  );
}

/** The canonical order of docs/format.md, section 5.4. */
export function compareKeys(a: Key, b: Key): number {
  return a.type - b.type || compareTexts(a.group, b.group) || compareTexts(a.unit, b.unit) || compareTargets(a, b);
}

export { compareTexts };
