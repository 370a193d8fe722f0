// Reads a snapshot from JSON (`*.gradviz.json`, the notebook's MIME data).
import { damaged, NOT_A_SNAPSHOT, SnapshotError } from "./errors.js";
import {
  type FieldKind,
  type FieldSpec,
  HEADER,
  type Snapshot,
  TABLES,
} from "./types.js";
import { checkSchema, checkSnapshot, TABLE_NAMES, type Value } from "./validate.js";

type Json = Readonly<Record<string, unknown>>;

/** Check JSON that came from outside and return it as a snapshot.
 *
 * Missing fields get their defaults, unknown fields are dropped.
 * @throws SnapshotError with one sentence. */
export function parseSnapshot(json: unknown): Snapshot {
  if (!isRecord(json) || json.format !== "gradviz") {
    throw new SnapshotError(NOT_A_SNAPSHOT);
  }
  const snapshot: Record<string, unknown> = { schema: checkSchema(json.schema) };
  for (const [name, field] of Object.entries(HEADER)) {
    snapshot[name] = readValue(json[name], field, () => name);
  }
  for (const table of TABLE_NAMES) {
    const rows = json[table] ?? [];
    if (!Array.isArray(rows)) throw damaged(`${table} is not a list`);
    const fields = Object.entries(TABLES[table]);
    snapshot[table] = rows.map((row: unknown, index) =>
      readRow(row, fields, `${table}[${index}]`),
    );
  }
  return checkSnapshot(snapshot as unknown as Snapshot);
}

function readRow(
  row: unknown,
  fields: readonly (readonly [string, FieldSpec])[],
  where: string,
): Json {
  if (!isRecord(row)) throw damaged(`${where} is not a record`);
  const result: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    result[name] = readValue(row[name], field, () => `${where}.${name}`);
  }
  return result;
}

function readValue(value: unknown, field: FieldSpec, where: () => string): Value {
  if (value === undefined) {
    if (field.fallback === undefined) throw damaged(`${where()} is missing`);
    return field.fallback;
  }
  if (value === null && field.optional) return null;
  const read = readers[field.kind](value);
  if (read === undefined) {
    throw damaged(`${where()} should be ${descriptions[field.kind]}`);
  }
  return read;
}

const nonFinite: ReadonlyMap<unknown, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

const readers: Record<FieldKind, (value: unknown) => Value | undefined> = {
  int: (value) => (Number.isInteger(value) ? (value as number) : undefined),
  float: (value) => (typeof value === "number" ? value : nonFinite.get(value)),
  bool: (value) => (typeof value === "boolean" ? value : undefined),
  string: (value) => (typeof value === "string" ? value : undefined),
  ints: (value) =>
    Array.isArray(value) && value.every(Number.isInteger) ? value : undefined,
  strings: (value) =>
    Array.isArray(value) && value.every((item) => typeof item === "string")
      ? value
      : undefined,
};

const descriptions: Record<FieldKind, string> = {
  int: "a whole number",
  float: "a number",
  bool: "true or false",
  string: "a text",
  ints: "a list of whole numbers",
  strings: "a list of texts",
};

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
