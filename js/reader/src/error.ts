/** Why a file was refused. `rule` is the one of docs/format.md, section 9, or null if no rule decides. */
export type ErrorCode =
  | "bad_magic"
  | "truncated"
  | "trailing_data"
  | "unsupported"
  | "malformed"
  | "checksum_mismatch"
  | "not_present"
  | "limit_exceeded"
  | "bad_reference"
  | "codec"
  | "not_found"
  | "rollback"
  | "signature_missing"
  | "signature_bad"
  | "io";

export class FatctxError extends Error {
  readonly code: ErrorCode;
  readonly rule: string | null;

  constructor(code: ErrorCode, rule: string | null, what: string) {
    super(rule === null ? what : `${what} [${rule}]`);
    this.name = "FatctxError";
    this.code = code;
    this.rule = rule;
  }
}

/** Refuses the file with the error that section 9.2 gives for most rules. */
export function refuse(rule: string, what: string, code: ErrorCode = "malformed"): never {
  throw new FatctxError(code, rule, what);
}
