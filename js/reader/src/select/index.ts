/** Which record a device gets, and why not the others. */
export { select, groupsOf, type Selection, type Verdict } from "./select.js";
export { SocTable, processor, type Soc, type SocFile, type Quirk } from "./socs.js";
export { parseVersion, versionText, UNSTATED, type Device } from "./device.js";
export { targetText } from "./explain.js";
export type { Axis, Candidate, Level, Policy } from "./rules.js";
