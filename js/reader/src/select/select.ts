// Selection: docs/selection.md. The best target that has every unit of a group, with a reason for every other record.
import { Sentences } from "./explain.js";
import type { Device } from "./device.js";
import {
  breakTie,
  compareTargets,
  compareTexts,
  isSource,
  Rules,
  vtcmUnverified,
  type Axis,
  type Candidate,
  type Fit,
  type Level,
  type Policy,
} from "./rules.js";
import type { SocTable } from "./socs.js";

export interface Verdict {
  readonly candidate: Candidate;
  readonly tier: number | null;
  readonly level: Level;
  readonly axis: Axis | null;
  readonly chosen: boolean;
  readonly reason: string;
}

export interface Selection {
  readonly group: string;
  readonly verdicts: readonly Verdict[];
  /** One for each unit, in the order of units; empty if nothing matches. */
  readonly chosen: readonly Verdict[];
  readonly tier: number | null;
  readonly level: Level;
  readonly warnings: readonly string[];
  /** The vendor's code if nothing matches. */
  readonly code: { readonly decimal: number; readonly name: string } | null;
}

interface Judged {
  readonly candidate: Candidate;
  fit: Fit;
}

interface Fitting extends Judged {
  fit: { readonly tier: number; readonly level: Level };
}

type Picks = readonly Fitting[];

const isFitting = (judged: Judged): judged is Fitting => "tier" in judged.fit;
const CONTEXT_BINARY = 1;

export function groupsOf(candidates: readonly Candidate[]): string[] {
  const binaries = candidates.filter((candidate) => candidate.key.type === CONTEXT_BINARY);
  const of = binaries.length > 0 ? binaries : candidates.filter(isSource);
  return [...new Set(of.map((candidate) => candidate.key.group))].sort(compareTexts);
}

function better(a: Fitting, b: Fitting): boolean {
  if (a.fit.tier !== b.fit.tier) return a.fit.tier < b.fit.tier;
  return breakTie(a.candidate, b.candidate, a.fit.tier).firstWins;
}

const worstTier = (picks: Picks): number => Math.max(...picks.map((pick) => pick.fit.tier));

function betterTarget(a: Picks, b: Picks): boolean {
  const [x, y] = [worstTier(a), worstTier(b)];
  return x !== y ? x < y : breakTie((a[0] as Fitting).candidate, (b[0] as Fitting).candidate, x).firstWins;
}

/** The best record for each unit; null if a unit has none. */
function pickUnits(records: readonly Fitting[], units: readonly string[]): Picks | null {
  const best = new Map<string, Fitting>();
  for (const record of records) {
    const before = best.get(record.candidate.key.unit);
    if (before === undefined || better(record, before)) best.set(record.candidate.key.unit, record);
  }
  const picks = units.map((unit) => best.get(unit));
  return picks.length > 0 && picks.every((pick) => pick !== undefined) ? (picks as Fitting[]) : null;
}

function pickTarget(records: readonly Judged[], units: readonly string[], mixTargets: boolean): Picks | null {
  const fitting = records.filter(isFitting);
  if (units.length === 1) return pickUnits(fitting, units);
  const sorted = [...fitting].sort((a, b) => compareTargets(a.candidate.key, b.candidate.key));
  let best: Picks | null = null;
  const incomplete: Judged[] = [];
  for (let first = 0; first < sorted.length; ) {
    const key = (sorted[first] as Fitting).candidate.key;
    let last = first;
    while (last < sorted.length && compareTargets((sorted[last] as Fitting).candidate.key, key) === 0) last++;
    const target = sorted.slice(first, last);
    const picks = pickUnits(target, units);
    if (picks === null) incomplete.push(...target);
    else if (best === null || betterTarget(picks, best)) best = picks;
    first = last;
  }
  if (best === null && mixTargets) {
    best = pickUnits(sorted, units);
    if (best !== null) return best;
  }
  for (const record of incomplete) record.fit = { axis: "incomplete" };
  return best;
}

/** The source models that serve every unit: for each its own, or else the one without a unit; each once. */
function pickSources(sources: readonly Judged[], ofBinaries: readonly string[]): Picks | null {
  const units =
    ofBinaries.length > 0
      ? ofBinaries
      : [...new Set(sources.map((source) => source.candidate.key.unit))].sort(compareTexts);
  const best = new Map<string, Fitting>();
  for (const source of sources.filter(isFitting)) {
    const before = best.get(source.candidate.key.unit);
    if (before === undefined || better(source, before)) best.set(source.candidate.key.unit, source);
  }
  const picks = new Set<Fitting>();
  for (const unit of units) {
    const pick = best.get(unit) ?? best.get("");
    if (pick === undefined) return null;
    picks.add(pick);
  }
  return picks.size > 0 ? [...picks] : null;
}

const CODE_NAMES: Readonly<Record<number, string>> = {
  1008: "INCOMPATIBLE_BINARIES",
  5004: "BINARY_VERSION",
  5005: "CREATE_FROM_BINARY",
  5008: "BINARY_CONFIGURATION",
  5011: "BINARY_SUBOPTIMAL",
};
const CODE_OF: Partial<Record<Axis, number>> = { A1: 1008, A3: 5004, A2: 5005, A7: 5005, strict: 5011 };
const OTHER_CODE = 5008;
const SUBOPTIMAL = 5011;

function codeOf(records: readonly Judged[]): { decimal: number; name: string } {
  const axes = new Set(records.map(({ fit }) => ("axis" in fit ? fit.axis : null)).filter((axis) => axis !== "no_hook"));
  const [only] = axes;
  const decimal =
    axes.size === 1 ? ((only && CODE_OF[only]) ?? OTHER_CODE) : axes.has("strict") ? SUBOPTIMAL : OTHER_CODE;
  return { decimal, name: CODE_NAMES[decimal] as string };
}

const LEVELS: readonly Level[] = ["OPTIMAL", "PREFER_RECOMPILATION", "FALLBACK", "UNSUPPORTED"];

/** Throws a RangeError if the policy names no group and there are several, or one that does not exist. */
export function select(
  candidates: readonly Candidate[],
  device: Device,
  table: SocTable,
  policy: Policy = {},
): Selection {
  const groups = groupsOf(candidates);
  if (policy.group === undefined && groups.length > 1) throw new RangeError(`name one of the groups ${groups.join(", ")}`);
  const group = policy.group ?? groups[0] ?? "";
  if (policy.group !== undefined && !groups.includes(group)) throw new RangeError(`there is no group ${group}`);

  const rules = new Rules(device, policy, table);
  const judged = candidates
    .filter((candidate) => candidate.key.type === CONTEXT_BINARY || isSource(candidate))
    .map((candidate): Judged => ({
      candidate,
      fit: candidate.key.group === group ? rules.judge(candidate) : { axis: "group" },
    }));
  const ofGroup = judged.filter(({ candidate }) => candidate.key.group === group);
  const records = ofGroup.filter(({ candidate }) => !isSource(candidate));
  const sources = ofGroup.filter(({ candidate }) => isSource(candidate));
  const units = [...new Set(records.map(({ candidate }) => candidate.key.unit))].sort(compareTexts);
  const picks = pickTarget(records, units, policy.mixTargets === true) ?? pickSources(sources, units) ?? [];

  const sentences = new Sentences(rules, judged, picks);
  const verdicts = judged.map((one): Verdict => {
    const chosen = picks.some((pick) => pick === one);
    const axis = chosen ? null : "axis" in one.fit ? one.fit.axis : "outranked";
    return {
      candidate: one.candidate,
      tier: "tier" in one.fit ? one.fit.tier : null,
      level: "level" in one.fit ? one.fit.level : "UNSUPPORTED",
      axis,
      chosen,
      reason: sentences.of(one, axis),
    };
  });
  const chosen = picks.map((pick) => verdicts.find((verdict) => verdict.candidate === pick.candidate) as Verdict);
  return {
    group,
    verdicts,
    chosen,
    tier: picks.length > 0 ? worstTier(picks) : null,
    level: LEVELS[Math.max(...chosen.map((verdict) => LEVELS.indexOf(verdict.level)))] ?? "UNSUPPORTED",
    warnings: warningsOf(picks, device),
    code: picks.length > 0 ? null : codeOf(records),
  };
}

function warningsOf(picks: Picks, device: Device): string[] {
  const warnings = new Set<string>();
  for (const { candidate, fit } of picks) {
    if (fit.tier === 7) {
      warnings.add("source_model");
      continue;
    }
    if (fit.tier === 6) warnings.add("generic_record");
    if (fit.tier <= 3 && vtcmUnverified(candidate.key, device)) warnings.add("vtcm_unverified");
    if (compareTargets(candidate.key, (picks[0] as Fitting).candidate.key) !== 0) warnings.add("mixed_targets");
  }
  return [...warnings].sort();
}
