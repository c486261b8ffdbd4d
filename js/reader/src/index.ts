/**
 * Reads fatctx containers in browsers and in Node.
 *
 *     const container = await Container.open(fromBlob(file));
 *     for (const record of container.records) console.log(record.name, record.logicalSize);
 */
export { Container, type OpenOptions } from "./container.js";
export { FatctxError, type ErrorCode } from "./error.js";
export { fromBlob, fromBuffer, fromUrl, type Source } from "./source.js";
export { toHex } from "./bytes.js";
export type { Finding, SlotSignature } from "./header.js";
export type { Trust } from "./signature.js";
export type { Problem } from "./verify.js";
export type { Sharing, RecordSharing } from "./sharing.js";
export type { Tensor } from "./tensors.js";
export type { Description, Graph, GraphTensor, Note, Option, RecordFacts, Scale } from "./description.js";
export type { GenerationRow, Key, RecordRow, Reference, Segment, Slice, Version } from "./tables.js";
