// Section 7 of docs/format.md: the description, one protobuf message. The decoder is generic, and the messages are
// tables of fields. It stays small because it knows only what section 7 uses.
import { utf8, type Bytes } from "./bytes.js";
import { refuse } from "./error.js";
import { LIMITS } from "./limits.js";

export interface Option {
  key: string;
  value: string;
  owner: string;
}

export interface Scale {
  scale: number;
  offset: bigint;
}

export interface GraphTensor {
  name: string;
  dtype: string;
  shape: bigint[];
  scales: Scale[];
  axis: number;
}

export interface Graph {
  name: string;
  inputs: GraphTensor[];
  outputs: GraphTensor[];
  options: Option[];
  spill_fill_bytes: bigint;
}

export interface Note {
  device: string;
  tool: string;
  metric: string;
  value: string;
  date: string;
}

export interface RecordFacts {
  record_id: number;
  producer: string;
  format: string;
  graphs: Graph[];
  options: Option[];
  notes: Note[];
}

export interface Description {
  name: string;
  writer: string;
  options: Option[];
  records: RecordFacts[];
}

type FieldType = "text" | "u32" | "u64" | "s64" | "double" | Message;
interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly repeated?: boolean;
}
interface Message {
  readonly fields: Readonly<Record<number, Field>>;
}

const text = (name: string): Field => ({ name, type: "text" });
const many = (name: string, type: FieldType): Field => ({ name, type, repeated: true });

const OPTION: Message = { fields: { 1: text("key"), 2: text("value"), 3: text("owner") } };
const SCALE: Message = { fields: { 1: { name: "scale", type: "double" }, 2: { name: "offset", type: "s64" } } };
const TENSOR: Message = {
  fields: {
    1: text("name"),
    2: text("dtype"),
    3: many("shape", "s64"),
    4: many("scales", SCALE),
    5: { name: "axis", type: "u32" },
  },
};
const GRAPH: Message = {
  fields: {
    1: text("name"),
    2: many("inputs", TENSOR),
    3: many("outputs", TENSOR),
    4: many("options", OPTION),
    5: { name: "spill_fill_bytes", type: "u64" },
  },
};
const NOTE: Message = {
  fields: { 1: text("device"), 2: text("tool"), 3: text("metric"), 4: text("value"), 5: text("date") },
};
const RECORD: Message = {
  fields: {
    1: { name: "record_id", type: "u32" },
    2: text("producer"),
    3: text("format"),
    4: many("graphs", GRAPH),
    5: many("options", OPTION),
    6: many("notes", NOTE),
  },
};
const CONTAINER: Message = {
  fields: { 1: text("name"), 2: text("writer"), 3: many("options", OPTION), 4: many("records", RECORD) },
};

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const START_GROUP = 3;
const END_GROUP = 4;
const FIXED32 = 5;

function broken(what: string): never {
  return refuse("F32", `description: ${what}`);
}

class Wire {
  at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Bytes) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  varint(mostBytes: number): bigint {
    let value = 0n;
    for (let i = 0; i < mostBytes; i++) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) return broken("it ends inside a number");
      value |= BigInt(byte & 0x7f) << BigInt(7 * i);
      if ((byte & 0x80) === 0) return BigInt.asUintN(64, value);
    }
    return broken("a number has too many bytes");
  }

  tag(): { field: number; wire: number } {
    const tag = this.varint(5);
    if (tag >= 1n << 32n) broken("a tag is above 32 bits");
    const field = Number(tag >> 3n);
    if (field === 0) broken("a field has the number 0");
    return { field, wire: Number(tag & 7n) };
  }

  cut(): Bytes {
    const size = Number(this.varint(5));
    return this.take(size);
  }

  take(size: number): Bytes {
    if (size > this.bytes.length - this.at) broken("a field ends behind it");
    this.at += size;
    return this.bytes.subarray(this.at - size, this.at);
  }

  double(): number {
    this.take(8);
    return this.view.getFloat64(this.at - 8, true);
  }

  /** Steps over a field that nobody asked for. Groups count as nesting. */
  skip(field: number, wire: number, depth: number): void {
    switch (wire) {
      case VARINT:
        this.varint(10);
        return;
      case FIXED64:
        this.take(8);
        return;
      case BYTES:
        this.cut();
        return;
      case FIXED32:
        this.take(4);
        return;
      case START_GROUP:
        if (depth + 1 > LIMITS.descriptionNesting) refuse("F32", "the description is nested too deep", "limit_exceeded");
        for (;;) {
          if (this.done) broken("a group does not end");
          const inner = this.tag();
          if (inner.wire === END_GROUP) {
            if (inner.field !== field) broken("a group ends with another number");
            return;
          }
          this.skip(inner.field, inner.wire, depth + 1);
        }
      default:
        broken(`a field has the wire type ${wire}`);
    }
  }
}

const signed = (value: bigint): bigint => BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
const WIRE_OF = { text: BYTES, u32: VARINT, u64: VARINT, s64: VARINT, double: FIXED64 } as const;

function emptyOf(message: Message): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const field of Object.values(message.fields)) {
    const empty = { text: "", u32: 0, u64: 0n, s64: 0n, double: 0 };
    value[field.name] = field.repeated ? [] : typeof field.type === "string" ? empty[field.type] : null;
  }
  return value;
}

function decode(bytes: Bytes, message: Message, depth: number): Record<string, unknown> {
  if (depth > LIMITS.descriptionNesting) refuse("F32", "the description is nested too deep", "limit_exceeded");
  const wire = new Wire(bytes);
  const value = emptyOf(message);
  while (!wire.done) {
    const tag = wire.tag();
    const field = message.fields[tag.field];
    const expected = field === undefined ? -1 : typeof field.type === "string" ? WIRE_OF[field.type] : BYTES;
    const packed = field !== undefined && field.repeated === true && expected === VARINT && tag.wire === BYTES;
    if (field === undefined || (tag.wire !== expected && !packed)) {
      wire.skip(tag.field, tag.wire, depth);
      continue;
    }
    if (packed) {
      const inner = new Wire(wire.cut());
      while (!inner.done) (value[field.name] as unknown[]).push(signed(inner.varint(10)));
      continue;
    }
    const one = decodeField(wire, field.type, depth);
    if (field.repeated) (value[field.name] as unknown[]).push(one);
    else value[field.name] = one;
  }
  return value;
}

function decodeField(wire: Wire, type: FieldType, depth: number): unknown {
  switch (type) {
    case "text": {
      const decoded = utf8(wire.cut());
      return decoded ?? broken("a text is not well-formed UTF-8");
    }
    case "u32":
      return Number(BigInt.asUintN(32, wire.varint(10)));
    case "u64":
      return wire.varint(10);
    case "s64":
      return signed(wire.varint(10));
    case "double":
      return wire.double();
    default:
      return decode(wire.cut(), type, depth + 1);
  }
}

const STORED = "given at run time";

function checkOptions(options: readonly Option[]): void {
  for (const { key, value } of options) {
    const last = key.slice(key.lastIndexOf(".") + 1);
    if (/_(path|dir)$/.test(last) && value !== STORED) {
      refuse("F34", `the option ${JSON.stringify(key)} has the value of a place on some host`);
    }
  }
}

export function parseDescription(bytes: Bytes): Description {
  const description = decode(bytes, CONTAINER, 0) as unknown as Description;
  checkOptions(description.options);
  let before = 0;
  for (const record of description.records) {
    if (record.record_id <= before) broken("its records are not in ascending order");
    before = record.record_id;
    checkOptions(record.options);
    for (const graph of record.graphs) checkOptions(graph.options);
  }
  return description;
}
