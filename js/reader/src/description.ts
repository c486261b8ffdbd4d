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
  // The number that was read last, in two halves without a sign. With a BigInt of 64 bits in the loop of varint(), V8 of
  // Node 20 ends the process when it optimises it.
  private low = 0;
  private high = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Bytes) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.at >= this.bytes.length;
  }

  /** Reads a number of at most `mostBytes` bytes; bits above 64 are dropped. */
  private varint(mostBytes: number): void {
    this.low = 0;
    this.high = 0;
    for (let i = 0; i < mostBytes; i++) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) broken("it ends inside a number");
      const bits = byte & 0x7f;
      if (i < 5) this.low = (this.low | (bits << (7 * i))) >>> 0;
      if (i === 4) this.high = bits >>> 4;
      if (i > 4) this.high = (this.high | (bits << (7 * i - 32))) >>> 0;
      if ((byte & 0x80) === 0) return;
    }
    broken("a number has too many bytes");
  }

  /** Reads a number and returns its lowest 32 bits. */
  u32(): number {
    this.varint(10);
    return this.low;
  }

  u64(): bigint {
    this.varint(10);
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  /** Reads a number whose lowest bit is its sign (sint64 of protobuf). */
  s64(): bigint {
    this.varint(10);
    const flip = -(this.low & 1);
    const low = (((this.low >>> 1) | (this.high << 31)) ^ flip) >>> 0;
    const high = (this.high >>> 1) ^ flip;
    return (BigInt(high) << 32n) | BigInt(low);
  }

  tag(): { field: number; wire: number } {
    this.varint(5);
    if (this.high !== 0) broken("a tag is above 32 bits");
    const field = this.low >>> 3;
    if (field === 0) broken("a field has the number 0");
    return { field, wire: this.low & 7 };
  }

  cut(): Bytes {
    this.varint(5);
    return this.take(this.high * 4294967296 + this.low);
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
      while (!inner.done) (value[field.name] as unknown[]).push(inner.s64());
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
      return wire.u32();
    case "u64":
      return wire.u64();
    case "s64":
      return wire.s64();
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
