// Devices and what they get: the selection of docs/selection.md, run in the page.
import { groupsOf, select, SocTable, type Policy, type Selection } from "fatctx-reader/select";

import { candidatesOf, type FileData, type NamedDevice } from "./data.js";
import { plural } from "./format.js";
import { h, type VNode } from "./vnode.js";

export interface Covered {
  readonly device: NamedDevice;
  readonly selection: Selection;
}

export function cover(data: FileData, policy: Policy): Covered[] {
  const candidates = candidatesOf(data.info);
  const table = new SocTable(data.socs);
  return data.devices.map((device) => ({ device, selection: select(candidates, device.device, table, policy) }));
}

export function groupNames(data: FileData): string[] {
  return groupsOf(candidatesOf(data.info));
}

const CLASS_OF: Readonly<Record<string, string>> = {
  OPTIMAL: "optimal",
  PREFER_RECOMPILATION: "recompile",
  FALLBACK: "fallback",
};
const LEVEL_WORDS: Readonly<Record<string, string>> = {
  OPTIMAL: "uses the device fully",
  PREFER_RECOMPILATION: "runs; one built for the device would use more of it",
  FALLBACK: "a fallback for every device",
  UNSUPPORTED: "nothing fits",
};

export function levelWords(level: string): string {
  return LEVEL_WORDS[level] ?? level;
}

/** True if a record was built for the device: another would not use more of it. */
function hasOwn({ selection }: Covered): boolean {
  return selection.chosen.length > 0 && selection.level === "OPTIMAL";
}

/** The rows that somebody asks for: all, those that get nothing, or those without a binary of their own. */
export interface Asked {
  readonly uncovered: boolean;
  readonly withoutOwn: boolean;
}

/** A row for each device and a column for each record of the group. */
export function coverageMatrix(covered: readonly Covered[], asked: Asked): VNode {
  const rows = covered.filter((one) => (!asked.uncovered || one.selection.chosen.length === 0) && (!asked.withoutOwn || !hasOwn(one)));
  const columns = (covered[0]?.selection.verdicts ?? []).filter((verdict) => verdict.axis !== "group").map((verdict) => verdict.candidate);
  const got = covered.filter(({ selection }) => selection.chosen.length > 0).length;
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "device"),
    h("th", { scope: "col" }, "arch"),
    h("th", { scope: "col" }, "gets"),
    ...columns.map((candidate) => h("th", { scope: "col", class: "slanted" }, h("span", {}, candidate.name))),
  );
  const body = rows.map(({ device, selection }) => {
    const verdicts = new Map(selection.verdicts.map((verdict) => [verdict.candidate.id, verdict]));
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("button", { type: "button", class: "link", "data-device": device.name }, device.name)),
      h("td", {}, device.device.arch ?? ""),
      h("td", { class: selection.chosen.length > 0 ? (CLASS_OF[selection.level] ?? "") : "nothing" }, selection.tier === null ? "nothing" : `T${selection.tier}`),
      ...columns.map((candidate) => {
        const verdict = verdicts.get(candidate.id);
        if (verdict === undefined) return h("td", {});
        const text = verdict.chosen ? `T${verdict.tier}` : (verdict.axis ?? "");
        const kind = verdict.chosen ? (CLASS_OF[verdict.level] ?? "") : verdict.axis === "outranked" || verdict.axis === "incomplete" ? "passed" : "refused";
        return h("td", { class: kind, title: `${device.name}, ${candidate.name}: ${verdict.reason}` }, text);
      }),
    );
  });
  return h(
    "div",
    {},
    h("p", { id: "covered" }, `${got} of ${plural(covered.length, "device")} get a record, ${covered.length - got} get nothing.`),
    h("p", { id: "own" }, `${covered.filter(hasOwn).length} have a binary of their own: it uses them fully, although it may be named after another chip of the same arch.`),
    rows.length < covered.length ? h("p", { id: "shown" }, `The table shows ${rows.length} of ${plural(covered.length, "device")}.`) : null,
    h(
      "div",
      { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Devices and records" },
      h("table", { class: "matrix coverage" }, h("caption", {}, "T0 to T7: how well the record fits, the lower the better. Other cells: the rule that refused it (outranked: another fits better). Choose a device for the words"), h("thead", {}, head), h("tbody", {}, ...body)),
    ),
  );
}

/** The verdicts on one device. */
export function verdictsOf({ device, selection }: Covered): VNode {
  const chosen = selection.chosen.map((verdict) =>
    h("li", { class: CLASS_OF[verdict.level] ?? "" }, h("strong", {}, verdict.candidate.name), verdict.candidate.key.unit === "" ? "" : ` for unit ${verdict.candidate.key.unit}`, `: T${verdict.tier} ${verdict.level}, ${verdict.reason} – ${levelWords(verdict.level)}`),
  );
  const others = selection.verdicts.filter((verdict) => !verdict.chosen).map((verdict) => h("li", {}, h("strong", {}, verdict.candidate.name), `: ${verdict.reason}`));
  return h(
    "div",
    { id: "verdicts", "aria-live": "polite" },
    h("h4", {}, device.name),
    chosen.length > 0 ? h("ul", { class: "verdicts" }, ...chosen) : h("p", { class: "nothing" }, `No record matches this device (${selection.code?.name} ${selection.code?.decimal}).`),
    selection.warnings.length > 0 ? h("p", {}, `Warnings: ${selection.warnings.join(", ")}`) : null,
    others.length > 0 ? h("ul", { class: "verdicts others" }, ...others) : null,
  );
}
