// Numbers, shapes and sizes as the panels print them.

/** A tuple as Python prints it: "()", "(8,)", "(8, 1, 3, 3)". */
export function formatTuple(values: readonly number[]): string {
  if (values.length === 1) return `(${values[0]},)`;
  return `(${values.join(", ")})`;
}

/** Four significant digits; exponents where fixed notation would be long. */
export function formatNumber(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Inf" : "-Inf";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) {
    return value
      .toExponential(3)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  }
  return String(Number(value.toPrecision(4)));
}

/** Digits in groups of three: "1,234,567". */
export function formatCount(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** "1 node", "2 nodes", "1,200 nodes". */
export function formatPlural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** "12.6 M": a large number, in thousands. */
export function formatLarge(value: number): string {
  const units = ["", " k", " M", " G", " T", " P"];
  const unit = Math.max(0, Math.min(5, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${Number((value / 1000 ** unit).toPrecision(3))}${units[unit]}`;
}

export function formatPercent(part: number, whole: number): string {
  if (whole === 0) return "–";
  const percent = (100 * part) / whole;
  if (part > 0 && percent < 0.1) return "< 0.1 %";
  if (part < whole && percent > 99.9) return "> 99.9 %";
  return `${Number(percent.toFixed(1))} %`;
}

export function formatBytes(nbytes: number): string {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  if (nbytes < 1024) return `${nbytes} B`;
  let size = nbytes;
  let unit = -1;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${Number(size.toPrecision(3))} ${units[unit] ?? ""}`;
}

export function formatNanoseconds(elapsed_ns: number): string {
  if (elapsed_ns < 1e3) return `${elapsed_ns} ns`;
  if (elapsed_ns < 1e6) return `${Number((elapsed_ns / 1e3).toPrecision(3))} µs`;
  if (elapsed_ns < 1e9) return `${Number((elapsed_ns / 1e6).toPrecision(3))} ms`;
  return `${Number((elapsed_ns / 1e9).toPrecision(3))} s`;
}

/** The last part of a path, for narrow places; the full path goes into the title. */
export function baseName(path: string): string {
  return path.split(/[\\/]/).pop() || path;
}
