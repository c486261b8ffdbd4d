// The selection of the page gives the verdicts of `fatctx select`: tier, level, axis and every word of the reason.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { select, SocTable, parseVersion, type Candidate, type Device, type Policy, type SocFile } from "fatctx-reader/select";

import { candidatesOf, type Info } from "../src/data.js";
import { parseSocTable } from "../src/fromfile.js";
import { json, packedFiles, withoutCommand } from "./command.js";

const ROOT = new URL("../../../", import.meta.url).pathname;
const CSV = readFileSync(`${ROOT}data/soc_table.csv`, "utf8");

interface Vector {
  readonly id: string;
  readonly shows: string;
  readonly device: Record<string, unknown>;
  readonly records: readonly string[];
  readonly call?: Record<string, unknown>;
  readonly expect: { readonly record: string | null; readonly tier: number | null; readonly level: string | null; readonly rejected: Record<string, string> };
}

interface Vectors {
  readonly defaults: { readonly record: Record<string, unknown>; readonly device: Record<string, unknown>; readonly call: Record<string, unknown> };
  readonly records: Record<string, Record<string, unknown>>;
  readonly selection: readonly Vector[];
}

const backendOf = (value: unknown): string => (typeof value === "string" ? value : value === 6 ? "htp" : `backend${value}`);
const archOf = (value: unknown): string => (typeof value === "number" ? (value === 0 ? "" : `v${value}`) : String(value ?? ""));

function candidate(name: string, id: number, value: Record<string, unknown>): Candidate {
  return {
    id,
    name,
    damaged: value["digest_ok"] === false,
    weightsOk: value["weights_ok"] !== false,
    key: {
      recordId: id,
      type: value["kind"] === "context" ? 1 : 4,
      generic: value["generic"] === true,
      group: String(value["group"] ?? ""),
      unit: String(value["unit"] ?? ""),
      backend: backendOf(value["backend"]),
      qnnSoc: Number(value["qnn_soc"] ?? 0),
      part: String(value["part"] ?? ""),
      arch: archOf(value["arch"]),
      features: String(value["features"] ?? ""),
      vtcmMb: Number(value["vtcm_mb"] ?? 0),
      sdk: parseVersion(value["sdk"] as string),
      variant: String(value["variant"] ?? ""),
      api: parseVersion(value["api"] as string),
      blob: parseVersion(value["blob"] as string),
    },
  };
}

function deviceOf(value: Record<string, unknown>): Device {
  const stated: [string, unknown][] = [
    ["part", value["part"]],
    ["qnn_soc", value["qnn_soc"]],
    ["arch", archOf(value["arch"])],
    ["features", value["features"]],
    ["vtcm_mb", value["vtcm_mb"]],
    ["sdk", value["sdk"]],
    ["api", value["api"]],
    ["blob", value["blob"]],
  ];
  return { backend: backendOf(value["backend"]), ...Object.fromEntries(stated.filter(([, fact]) => fact !== undefined && fact !== "" && fact !== 0)) };
}

for (const name of ["select_soc_vectors.json", "select_cpu_vectors.json"]) {
  test(`the worked cases of ${name}`, () => {
    const vectors = JSON.parse(readFileSync(`${ROOT}tests/runtime/select/${name}`, "utf8")) as Vectors;
    let run = 0;
    for (const vector of vectors.selection) {
      const call = { ...vectors.defaults.call, ...vector.call };
      // The page lets nobody name a record, and takes devices that are known.
      if (call["record_override"] || call["soc_override"]) continue;
      const table = new SocTable({ ...parseSocTable(CSV), boundaries: (call["boundaries"] as number[] | undefined) ?? [73] });
      const policy: Policy = {
        strict: call["policy"] === "strict",
        allowLowerArch: call["allow_lower_arch"] === true,
        prepareHook: call["prepare_hook"] === true,
        allowGeneric: call["allow_generic"] !== false,
        mixTargets: call["mix_targets"] === true,
        ...(typeof call["group"] === "string" ? { group: call["group"] } : {}),
        ...(typeof call["max_sdk"] === "string" ? { maxSdk: call["max_sdk"] } : {}),
      };
      const candidates = vector.records.map((record, i) => candidate(record, i + 1, { ...vectors.defaults.record, ...vectors.records[record] }));
      const device = deviceOf({ ...vectors.defaults.device, ...vector.device });
      if (vector.expect.record === undefined) continue;
      const selection = select(candidates, device, table, policy);
      const where = `${vector.id}: ${vector.shows}`;
      assert.equal(selection.chosen.map((verdict) => verdict.candidate.name).join(",") || null, [vector.expect.record].flat().join(",") || null, where);
      assert.equal(selection.tier, vector.expect.tier ?? null, where);
      if (vector.expect.level) assert.equal(selection.level, vector.expect.level, where);
      const rejected = Object.fromEntries(
        selection.verdicts.filter(({ axis }) => axis !== null && axis !== "outranked").map((verdict) => [verdict.candidate.name, verdict.axis]),
      );
      assert.deepEqual(rejected, vector.expect.rejected, where);
      run++;
    }
    assert.ok(run >= 30, `${run} cases`);
  });
}

test("the table of SoCs in the page is that of the command", { skip: withoutCommand }, () => {
  const { version, boundaries, quirks, socs } = json<SocFile>(["socs"]);
  const mine = parseSocTable(CSV);
  assert.deepEqual([mine.version, mine.boundaries, mine.quirks], [version, boundaries, quirks]);
  const facts = (soc: SocFile["socs"][number]) => [soc.part, soc.alias_of ?? "", soc.qnn_soc ?? 0, soc.arch ?? "", soc.vtcm_mb ?? 0, soc.runtime ?? "", soc.aliases ?? []];
  const sorted = (file: SocFile) => file.socs.map(facts).sort((a, b) => String(a).localeCompare(String(b)));
  assert.deepEqual(sorted(mine), sorted({ version, boundaries, quirks, socs }));
});

interface Selected {
  readonly device: Device;
  readonly candidates: readonly { readonly record: string; readonly tier: number | null; readonly level: string; readonly chosen: boolean; readonly axis: string | null; readonly reason: string }[];
  readonly decision: { readonly warnings: readonly (string | { readonly id?: string })[]; readonly code: { readonly decimal: number } | null };
}

test("the verdicts of all devices of the table are those of the command, word by word", { skip: withoutCommand }, () => {
  const { later } = packedFiles();
  const candidates = candidatesOf(json<Info>(["info", later]));
  const table = new SocTable(json<SocFile>(["socs"]));
  const { devices } = json<{ devices: { name: string; device: Device }[] }>(["select", later, "--all-devices"]);
  assert.ok(devices.length > 40, `${devices.length} devices`);
  const policies: [Policy, string[]][] = [[{}, []], [{ strict: true }, ["--strict"]], [{ allowLowerArch: true }, ["--allow-lower-arch"]]];
  for (const [policy, flags] of policies) {
    // Every device by the first policy, every fifth by the others.
    for (const { name } of devices.filter((_, i) => flags.length === 0 || i % 5 === 0)) {
      const said = json<Selected>(["select", later, "--device", name, ...flags], [0, 4]);
      const selection = select(candidates, said.device, table, policy);
      const mine = selection.verdicts.map((verdict) => ({
        record: verdict.candidate.name, tier: verdict.tier, level: verdict.level, chosen: verdict.chosen, axis: verdict.axis, reason: verdict.reason,
      }));
      const theirs = said.candidates.map(({ record, tier, level, chosen, axis, reason }) => ({ record, tier, level, chosen, axis, reason }));
      assert.deepEqual(mine, theirs, `${name} ${flags.join(" ")}`);
      assert.equal(selection.code?.decimal ?? null, said.decision.code?.decimal ?? null, name);
    }
  }
});
