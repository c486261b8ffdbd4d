// The data of the page: what `fatctx info --json` says (docs/schemas/info.json), with tensors, devices and a diff
// beside it. The same shape is made from a file that somebody opens in the page (fromfile.ts).
import type { Candidate, Device, SocFile } from "fatctx-reader/select";
import { parseVersion } from "fatctx-reader/select";
import type { Key } from "fatctx-reader";

export interface InfoKey {
  readonly group?: string;
  readonly unit?: string;
  readonly backend?: string;
  readonly qnn_soc?: number;
  readonly part?: string;
  readonly arch?: string;
  readonly features?: string;
  readonly vtcm_mb?: number;
  readonly sdk?: string;
  readonly variant?: string;
  readonly api?: string;
  readonly blob?: string;
  readonly generic?: boolean;
}

export interface Note {
  readonly device: string;
  readonly tool: string;
  readonly metric: string;
  readonly value: string;
  readonly date: string;
}

export interface InfoRecord {
  readonly id: number;
  readonly type: string;
  readonly name: string;
  readonly size_bytes: number;
  readonly stored_bytes: number;
  readonly codec: string;
  readonly slice_count: number;
  readonly recipe: boolean;
  readonly access_path?: string;
  readonly file_offset: number | null;
  readonly xxh3_128: string;
  readonly key: InfoKey | null;
  readonly weights: readonly number[];
  readonly format?: string | null;
  readonly producer?: string | null;
  readonly spill_fill_bytes?: number;
  readonly quant?: Readonly<Record<string, string>>;
  readonly notes?: readonly Note[];
}

export interface Extent {
  readonly kind: string;
  readonly offset: number;
  readonly size: number;
  readonly segment: number | null;
  readonly generation: number;
  readonly records: readonly number[];
  readonly leaves: { readonly count: number; readonly xxh3_128: string } | null;
}

export interface InfoSlice {
  readonly segment: number;
  readonly offset: number;
  readonly size: number;
}

export interface GraphTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly scales?: readonly { readonly scale: number; readonly offset: number }[];
  readonly axis?: number;
}

export interface Option {
  readonly owner: string;
  readonly key: string;
  readonly value: string;
}

export interface NodeTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[] | null;
  readonly weight: boolean;
}

export interface GraphNode {
  readonly index: number;
  readonly name: string;
  readonly op: string;
  readonly inputs: readonly NodeTensor[];
  readonly outputs: readonly NodeTensor[];
  readonly parameters: readonly { readonly key: string; readonly value: string }[];
  readonly macs: number | null;
}

export interface InfoGraph {
  readonly record: number;
  readonly name: string;
  readonly inputs?: readonly GraphTensor[];
  readonly outputs?: readonly GraphTensor[];
  readonly ops?: readonly unknown[];
  /** Operators, of a file that has them; the page of a container does not. */
  readonly nodes?: readonly GraphNode[];
  readonly spill_fill_bytes?: number;
  readonly options?: readonly Option[];
}

export interface SharingRow {
  readonly record: number;
  readonly own_bytes: number;
  readonly shared_bytes: number;
  readonly composed_bytes?: number;
  readonly layout_group: number | null;
  readonly shared_with: readonly { readonly record: number; readonly bytes: number }[];
}

export interface InfoSharing {
  readonly records: readonly SharingRow[];
  readonly layout_groups: readonly {
    readonly records: readonly number[];
    readonly size_bytes: number;
    readonly stored_bytes: number;
    readonly distinct_bytes: number;
  }[];
  readonly totals: {
    readonly input_bytes: number;
    readonly off_bytes: number;
    readonly stored_bytes: number;
    readonly pages: readonly { readonly page_bytes: number; readonly bytes: number }[];
    readonly bytes_at_most: number | null;
  };
  readonly targets: readonly { readonly target: string; readonly records: readonly number[]; readonly alone_bytes: number }[];
}

export interface Info {
  /** Of a file that is no container: what it is. */
  readonly form?: string;
  /** Of such a file: what it is good for. */
  readonly purpose?: string;
  readonly file: string;
  readonly model: string;
  readonly format: string;
  readonly writer: string;
  readonly uuid: string;
  readonly generation: number;
  readonly earlier_generations: readonly { readonly number: number; readonly committed_end: number }[];
  readonly sealed: boolean;
  readonly signed: boolean;
  readonly key_id: string | null;
  readonly toc_hash: string;
  readonly file_size: number;
  readonly committed_end: number;
  readonly tail_bytes: number;
  readonly dead_bytes: number;
  readonly degraded: readonly string[];
  readonly records: readonly InfoRecord[];
  readonly graphs?: readonly InfoGraph[];
  readonly options?: {
    readonly all: readonly Option[];
    readonly records: readonly { readonly record: number; readonly options: readonly Option[] }[];
  };
  readonly extents: {
    readonly extents: readonly Extent[];
    readonly records: readonly { readonly record: number; readonly slices: readonly InfoSlice[] }[];
  };
  readonly sharing?: InfoSharing;
}

export interface TensorRow {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly offset_in_blob: number;
  readonly size_bytes: number;
  readonly alias: boolean;
}

export interface TensorTable {
  readonly record: number;
  readonly count?: number;
  readonly tensors?: readonly TensorRow[];
  readonly error?: string;
}

export interface NamedDevice {
  readonly name: string;
  readonly device: Device;
}

export interface FileData {
  readonly info: Info;
  readonly tensors: readonly TensorTable[];
  readonly devices: readonly NamedDevice[];
  readonly socs: SocFile;
  /** What could not be read. */
  readonly problems: readonly string[];
}

export interface DiffSide {
  readonly file: string;
  readonly generation: number;
  readonly file_size: number;
  readonly stored_bytes: number;
  readonly stored_bytes_in_both: number;
  readonly record_bytes: number;
  readonly record_bytes_in_both: number;
}

export interface DiffedRecord {
  readonly name: string;
  readonly target: string;
  readonly size_bytes: number;
  readonly weights: readonly string[];
}

export interface Diff {
  readonly same: boolean;
  readonly before: DiffSide;
  readonly after: DiffSide;
  readonly same_records: number;
  readonly records: readonly {
    readonly change: string;
    readonly type: string;
    readonly before: DiffedRecord | null;
    readonly after: DiffedRecord | null;
    readonly tensors: readonly { readonly change?: string; readonly name: string }[];
    readonly same_tensors: number;
  }[];
  readonly description: readonly { readonly what: string; readonly before: string | null; readonly after: string | null }[];
}

export interface PageData {
  readonly page: 1;
  readonly file: FileData;
  readonly before?: FileData;
  readonly diff?: Diff;
}

const TYPES = ["", "context_binary", "weight_blob", "tensor_table", "source_model", "wrapper_model", "description", "opaque"];

export function keyOf(record: InfoRecord): Key {
  const key = record.key ?? {};
  return {
    recordId: record.id,
    type: Math.max(TYPES.indexOf(record.type), 0),
    generic: key.generic ?? false,
    group: key.group ?? "",
    unit: key.unit ?? "",
    backend: key.backend ?? "",
    qnnSoc: key.qnn_soc ?? 0,
    part: key.part ?? "",
    arch: key.arch ?? "",
    features: key.features ?? "",
    vtcmMb: key.vtcm_mb ?? 0,
    sdk: parseVersion(key.sdk),
    variant: key.variant ?? "",
    api: parseVersion(key.api),
    blob: parseVersion(key.blob),
  };
}

export function candidatesOf(info: Info): Candidate[] {
  return info.records
    .filter((record) => record.type === "context_binary" || record.type === "source_model")
    .map((record) => ({ id: record.id, name: record.name, key: keyOf(record) }));
}

export function recordsById(info: Info): Map<number, InfoRecord> {
  return new Map(info.records.map((record) => [record.id, record]));
}
