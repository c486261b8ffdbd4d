// What the page shows of a file that is no container: the same data, as far as its form has them.
import { processor, type SocTable } from "fatctx-reader/select";

import type { Info, NamedDevice } from "./data.js";

export interface Part {
  readonly record: number;
  readonly offset: number;
  readonly size: number;
}

/** The facts of a file that has these parts, each of them a record. Requires: ascending parts without overlap. */
export function otherFile(form: string, file: string, size: number, parts: readonly Part[]): Info {
  const extents = parts.map((part, segment) => ({ kind: "payload", offset: part.offset, size: part.size, segment, generation: 1, records: [part.record], leaves: null }));
  let end = 0;
  // Bytes between the parts are headers and directories.
  const between = [...parts, { offset: size, size: 0 }].flatMap((part) => {
    const gap = { kind: "structure", offset: end, size: part.offset - end, segment: null, generation: 1, records: [], leaves: null };
    end = part.offset + part.size;
    return gap.size > 0 ? [gap] : [];
  });
  return {
    form, purpose: "fatctx pack makes a container of it, which has hashes, and stores equal bytes once.", file, model: "", format: "", writer: "", uuid: "", generation: 1, earlier_generations: [], sealed: false, signed: false, key_id: null, toc_hash: "",
    file_size: size, committed_end: size, tail_bytes: 0, dead_bytes: 0, degraded: [], records: [],
    extents: {
      extents: [...extents, ...between].sort((a, b) => a.offset - b.offset),
      records: parts.map((part, segment) => ({ record: part.record, slices: [{ segment, offset: part.offset, size: part.size }] })),
    },
  };
}

const PROCESSORS = ["x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"];

/** The devices to judge a file by: those of the table whose backend it has records for. */
export function devicesOf(info: Info, table: SocTable): NamedDevice[] {
  const backends = new Set(info.records.map((record) => record.key?.backend).filter((backend) => backend !== undefined));
  const processors = backends.has("cpu") ? PROCESSORS.map((name) => ({ name, device: processor(name) })) : [];
  const socs = table.socs
    .filter((soc) => !soc.alias_of)
    .map((soc) => ({ name: soc.part, device: table.deviceOf(soc), known: Boolean(soc.arch ?? soc.runtime) }))
    .filter(({ device, known, name }) => {
      const named = info.records.some(({ key }) => key?.part === name || (device.qnn_soc !== undefined && key?.qnn_soc === device.qnn_soc));
      return backends.has(device.backend) && (known || named);
    });
  return [...processors, ...socs.map(({ name, device }) => ({ name, device }))];
}
