// The device that records are compared with: docs/selection.md, section 9, schema fatctx.device/1.
import type { Version } from "../tables.js";

/** What is not known is left out, which is never the same as zero. */
export interface Device {
  readonly backend: string;
  readonly part?: string;
  readonly qnn_soc?: number;
  readonly arch?: string;
  readonly features?: readonly string[];
  readonly vtcm_mb?: number;
  readonly sdk?: string;
  readonly api?: string;
  readonly blob?: string;
}

export interface CpuArch {
  readonly isa: string;
  /** 0: this instruction set has no levels. */
  readonly level: number;
}

function plainNumber(text: string): number | null {
  return /^[1-9][0-9]*$/.test(text) && Number(text) <= 0xffffffff ? Number(text) : null;
}

export function parseCpuArch(arch: string): CpuArch {
  const x86 = "x86-64";
  if (arch === x86) return { isa: x86, level: 1 };
  const level = arch.startsWith(`${x86}-v`) ? plainNumber(arch.slice(x86.length + 2)) : null;
  return level === null ? { isa: arch, level: 0 } : { isa: x86, level };
}

export function hexagonNumber(arch: string): number | null {
  return arch.startsWith("v") ? plainNumber(arch.slice(1)) : null;
}

export function featureWords(list: string): string[] {
  return list.split(",").filter((word) => word !== "");
}

export const UNSTATED: Version = [0, 0, 0, 0];

export function parseVersion(text: string | undefined | null): Version {
  if (!text) return UNSTATED;
  const [major = 0, minor = 0, patch = 0, build = 0] = text.split(".").map(Number);
  return [major, minor, patch, build];
}

export function isKnown(version: Version): boolean {
  return version.some((part) => part !== 0);
}

export function compareVersions(a: Version, b: Version): number {
  for (let i = 0; i < 4; i++) {
    if (a[i] !== b[i]) return (a[i] as number) - (b[i] as number);
  }
  return 0;
}

export function versionText([major, minor, patch, build]: Version): string {
  if (build !== 0) return `${major}.${minor}.${patch}.${build}`;
  return patch !== 0 ? `${major}.${minor}.${patch}` : `${major}.${minor}`;
}
