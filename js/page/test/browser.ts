// The browser that the tests of the page run in.
import { statSync } from "node:fs";

import { run, withoutCommand } from "./command.js";

export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => statSync(path, { throwIfNoEntry: false }));

const canReport = (): boolean => {
  try {
    return run(["--help"]).includes("report");
  } catch {
    return false;
  }
};

/** Why tests that open a report are skipped, or false. */
export const withoutBrowser: string | false =
  withoutCommand || (CHROMIUM === undefined ? "no Chromium: apt-get install chromium" : !canReport() ? "this fatctx has no report" : false);
