// What changed between two files, and what an update costs.
import type { Diff } from "./data.js";
import { percent, shortSize, size, words } from "./format.js";
import { table, type Cell } from "./tables.js";
import { h, type VNode } from "./vnode.js";

function grown(before: number, after: number): string {
  if (before === after) return "keeps its size";
  return after > before ? `grows by ${size(after - before)}` : `shrinks by ${size(before - after)}`;
}

export function changesOf(diff: Diff): VNode {
  const { before, after } = diff;
  const fresh = after.stored_bytes - after.stored_bytes_in_both;
  const rows = diff.records.map((record): Cell[] => {
    const one = record.after ?? record.before;
    const [was, is] = [record.before?.size_bytes ?? 0, record.after?.size_bytes ?? 0];
    const retargeted = record.before && record.after && record.before.target !== record.after.target ? `was ${record.before.target}, is ` : "";
    const renamed = record.before && record.after && record.before.name !== record.after.name ? ` (was ${record.before.name})` : "";
    const tensors = record.tensors.length + record.same_tensors > 0 ? `${record.tensors.length} of ${record.tensors.length + record.same_tensors} tensors differ` : "";
    return [
      { text: record.change, class: `change-${record.change}` },
      `${one?.name ?? ""}${renamed}`,
      words(record.type),
      `${retargeted}${one?.target ?? ""}`,
      { text: record.before === null || record.after === null || was === is ? shortSize(is || was) : `${shortSize(was)} → ${shortSize(is)}`, number: is - was },
      tensors,
    ];
  });
  const words_ = diff.description.map((one): Cell[] => [one.what, one.before ?? "", one.after ?? ""]);
  return h(
    "div",
    {},
    h(
      "p",
      { id: "update-cost" },
      `From ${before.file} (generation ${before.generation}) to ${after.file} (generation ${after.generation}): `,
      h("strong", {}, `an update costs ${size(fresh)}`),
      `, ${percent(fresh, after.stored_bytes)} of the new payload: pieces of 64 KiB that both files have are not sent again.`,
    ),
    h("p", { id: "growth" }, `The file ${grown(before.file_size, after.file_size)}, from ${size(before.file_size)} to ${size(after.file_size)}.`),
    diff.same ? h("p", {}, "Records and descriptions are the same.") : null,
    rows.length > 0 ? table(`${diff.same_records} records are the same; these are not`, ["change", "name", "type", "target", "size", "tensors"], rows, "changes") : null,
    words_.length > 0 ? table("Changes of the description", ["what", "before", "after"], words_) : null,
  );
}
