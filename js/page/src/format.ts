// Sizes and numbers, as the command prints them.
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function shortSize(bytes: number): string {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${grouped(bytes)} bytes` : `${value.toFixed(1)} ${UNITS[unit]}`;
}

export function size(bytes: number): string {
  return bytes < 1024 ? shortSize(bytes) : `${shortSize(bytes)} (${grouped(bytes)} bytes)`;
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return "0 %";
  const value = (100 * part) / whole;
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}

export function hex(value: number): string {
  return `0x${value.toString(16)}`;
}

export function plural(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function words(text: string): string {
  return text.replaceAll("_", " ");
}
