/** Section 8 of docs/format.md. */
export const LIMITS = {
  tocBytes: 67108864,
  committedEnd: 140737488355328,
  segments: 131072,
  records: 65536,
  slices: 262144,
  keys: 65536,
  references: 131072,
  generations: 1024,
  entryBytes: 4096,
  segmentBytes: 2 ** 40,
  nameBytes: 255,
  tensorNameBytes: 4096,
  descriptionBytes: 1048576,
  descriptionNesting: 32,
  tensors: 1048576,
  tensorTableBytes: 268435456,
  tensorRank: 8,
  codecBytes: 1073741824,
  codecExpansion: 255,
  codecExtra: 64,
  programBytes: 268435456,
  programSteps: 4194304,
} as const;

export const NONE = 0xffffffff;
export const LEAF_SIZE = 65536;
export const LEAVES_IN_PAGE = 4096;
export const PAGE_SIZE = 4096;
