// The lines of docs/selection.md, section 14, word by word.
import type { Key } from "../tables.js";
import { parseVersion, versionText, isKnown, type Device } from "./device.js";
import {
  archLower,
  breakTie,
  compareTargets,
  compareTexts,
  CPU,
  isGeneric,
  isSource,
  missingWords,
  newerVersion,
  type Axis,
  type Candidate,
  type Fit,
  type Rules,
} from "./rules.js";

interface Judged {
  readonly candidate: Candidate;
  readonly fit: Fit;
}

function cpuText(arch: string, features: readonly string[]): string {
  return [arch === "" ? "cpu" : arch, ...features].join("+");
}

const words = (features: string): string[] => (features === "" ? [] : features.split(","));
const keyCpu = (key: Key): string => cpuText(key.arch, words(key.features));

function deviceCpu(device: Device): string {
  return device.arch === undefined ? "an unknown instruction set" : cpuText(device.arch, device.features ?? []);
}

function chipText(arch: string, part: string, number: number): string {
  const names = [part, number === 0 ? "" : `soc ${number}`].filter((name) => name !== "").join(", ");
  if (arch === "") return names === "" ? "no stated chip" : names;
  return names === "" ? arch : `${arch} (${names})`;
}

function deviceChip(device: Device): string {
  const text = chipText(device.arch ?? "", device.part ?? "", device.qnn_soc ?? 0);
  return text === "no stated chip" ? "unknown" : text;
}

function builtFor(key: Key, device: Device): string {
  if (device.backend === CPU) return `built for ${keyCpu(key)}, device is ${deviceCpu(device)}`;
  return `built for ${chipText(key.arch, key.part, key.qnnSoc)}, device is ${deviceChip(device)}`;
}

const vtcmText = (megabytes: number): string => (megabytes === 0 ? "no stated VTCM" : `${megabytes} MB of VTCM`);
const deviceVtcm = (device: Device): string => (device.vtcm_mb === undefined ? "unknown VTCM" : vtcmText(device.vtcm_mb));

/** A target in words, as every table of the command shows it. */
export function targetText(key: Key): string {
  const text = [
    key.backend,
    key.part,
    key.qnnSoc === 0 ? "" : `soc ${key.qnnSoc}`,
    [key.arch, ...words(key.features)].join("+"),
    key.vtcmMb === 0 ? "" : `vtcm ${key.vtcmMb}`,
    isKnown(key.sdk) ? `sdk ${versionText(key.sdk)}` : "",
    key.variant,
    key.generic ? "generic" : "",
  ]
    .filter((word) => word !== "")
    .join(" ");
  return text === "" ? "no target" : text;
}

export class Sentences {
  constructor(
    private readonly rules: Rules,
    private readonly judged: readonly Judged[],
    private readonly picks: readonly Judged[],
  ) {}

  of(one: Judged, axis: Axis | null): string {
    const sentence = axis === null ? this.fits(one) : this.refused(one, axis);
    return axis === null ? sentence : `${sentence} [${axis}]`;
  }

  private fits({ candidate: { key }, fit }: Judged): string {
    const { device } = this.rules;
    const tier = "tier" in fit ? fit.tier : -1;
    const vtcm = `with ${vtcmText(key.vtcmMb)}; device has ${deviceVtcm(device)}`;
    switch (tier) {
      case 1: {
        const same = device.part === undefined || device.part === key.part;
        return `built for this part, ${same ? key.part : `${device.part}, which the record calls ${key.part}`}, ${vtcm}`;
      }
      case 2:
        return `built for this vendor number, ${key.qnnSoc}, ${vtcm}`;
      case 3:
      case 4: {
        if (device.backend !== CPU) return `same arch, ${key.arch}, ${vtcm}`;
        const [own, has] = [keyCpu(key), deviceCpu(device)];
        if (own === has) return `level and features of the record and the device are ${own}`;
        return `built for the device's own level: ${own}; device has ${has}`;
      }
      case 5:
        if (device.backend === CPU) return `runs here, but uses ${keyCpu(key)} where the device has ${deviceCpu(device)}`;
        return `${builtFor(key, device)}: a lower arch of the same generation`;
      case 7:
        return "a source model, to be compiled on the device";
      default:
        return `generic: fits every device of backend ${key.backend}`;
    }
  }

  private refused(one: Judged, axis: Axis): string {
    const { key } = one.candidate;
    const { device, policy } = this.rules;
    switch (axis) {
      case "A1":
        return `built for backend ${key.backend === "" ? "(none)" : key.backend}, device has backend ${device.backend}`;
      case "A2":
        return "its bytes are damaged or cannot be read";
      case "A3": {
        const newer = newerVersion(key, device);
        if (newer === null) return `made with sdk ${versionText(key.sdk)}, at most ${versionText(parseVersion(policy.maxSdk))} is allowed`;
        return `needs ${newer[0]} ${versionText(newer[1])}, device has ${versionText(parseVersion(newer[2]))}`;
      }
      case "A4":
      case "C1":
        return builtFor(key, device);
      case "A5":
        return `${builtFor(key, device)}: another generation`;
      case "A6":
        return `needs ${vtcmText(key.vtcmMb)}, device has ${vtcmText(device.vtcm_mb ?? 0)}`;
      case "A7":
        return "a weight blob it refers to is missing, damaged or has other contents";
      case "A8": {
        const quirk = this.rules.quirk(key);
        if (quirk === null) return `${builtFor(key, device)}: known not to work`;
        return (
          `${builtFor(key, device)}: a binary for ${quirk.record} is known not to work on ${quirk.device}: ` +
          `${quirk.reason} (${quirk.source})`
        );
      }
      case "C2": {
        const missing = missingWords(key.features, device.features ?? []);
        const needs = `needs ${keyCpu(key)}, device has ${deviceCpu(device)}`;
        return missing.length === 0 ? needs : `${needs}: ${missing.join(", ")} missing`;
      }
      case "no_tier":
        if (isGeneric(key)) return "a generic record, and the policy does not allow generic records";
        if (archLower(key, device)) return `${builtFor(key, device)}: a lower arch is taken only if allowed`;
        return `${builtFor(key, device)}: nothing says that they fit`;
      case "strict":
        return `would run, but strict asks for full use: built for ${vtcmText(key.vtcmMb)}, device has ${deviceVtcm(device)}`;
      case "strict_lower":
        if (isSource(one.candidate)) return "could be compiled, but strict asks for a record of this device";
        return `would run, but strict asks for full use: ${isGeneric(key) ? "a generic record" : builtFor(key, device)}`;
      case "no_hook":
        return "a source model, and nobody here compiles it";
      case "group":
        return `belongs to group "${key.group}"`;
      case "incomplete":
        return this.incomplete(one);
      case "outranked":
        return this.outranked(one);
    }
  }

  private incomplete(one: Judged): string {
    const { key } = one.candidate;
    const missing = new Set<string>();
    const served = new Set<string>();
    for (const other of this.judged) {
      if (other.candidate.key.group !== key.group || isSource(other.candidate)) continue;
      missing.add(other.candidate.key.unit);
      const serves = "tier" in other.fit || other.fit.axis === "incomplete";
      if (serves && compareTargets(other.candidate.key, key) === 0) served.add(other.candidate.key.unit);
    }
    const left = [...missing].filter((unit) => !served.has(unit)).sort(compareTexts);
    return `fits, but ${targetText(key)} has no usable record for unit "${left.join('", "')}"`;
  }

  private outranked(one: Judged): string {
    const tier = "tier" in one.fit ? one.fit.tier : -1;
    const level = "level" in one.fit ? one.fit.level : "UNSUPPORTED";
    const winner = isSource(one.candidate)
      ? this.picks.at(-1)
      : this.picks.find((pick) => pick.candidate.key.unit === one.candidate.key.unit);
    if (winner === undefined) return `fits as T${tier} ${level}, but another record fits better`;
    const fits = `fits as T${tier} ${level}, but ${winner.candidate.name}`;
    const winnerTier = "tier" in winner.fit ? winner.fit.tier : -1;
    if (tier !== winnerTier) return `${fits} fits as T${winnerTier}`;
    return `${fits} comes first: ${tieText(winner.candidate, one.candidate, tier)}`;
  }
}

function tieText(winner: Candidate, loser: Candidate, tier: number): string {
  switch (breakTie(winner, loser, tier).rule) {
    case "level":
    case "arch":
      return `${winner.key.arch} is above ${loser.key.arch}`;
    case "features":
      return `${keyCpu(winner.key)} uses more than ${keyCpu(loser.key)}`;
    case "vtcm":
      return `${vtcmText(winner.key.vtcmMb)} before ${vtcmText(loser.key.vtcmMb)}`;
    case "sdk":
      return `sdk ${versionText(winner.key.sdk)} before ${versionText(loser.key.sdk)}`;
    case "key":
      return "equal otherwise, first in key order";
    case "record":
      return "equal otherwise, first in record order";
  }
}
