// Reads a snapshot from columns: the binary form that pages and widgets receive.
import { checkRows } from "./bounds.js";
import { CUT_SHORT, damaged, NOT_A_SNAPSHOT, SnapshotError } from "./errors.js";
import {
  type FieldKind,
  type FieldSpec,
  HEADER,
  type Snapshot,
  TABLES,
  type TableName,
} from "./types.js";
import {
  checkSchema,
  checkSnapshot,
  isCount,
  TABLE_NAMES,
  type Value,
} from "./validate.js";

export { SnapshotError } from "./errors.js";
export { parseSnapshot } from "./parse.js";

const MAGIC = "GVC1";
const PREFIX = 8; // magic and header length, four bytes each

type Json = Readonly<Record<string, unknown>>;
type Items = Uint8Array | Int32Array | Uint32Array | Float64Array;

const ITEM_BYTES = { u8: 1, i32: 4, u32: 4, f64: 8 } as const;
type Dtype = keyof typeof ITEM_BYTES;

const ALLOWED: Readonly<Record<FieldKind, readonly Dtype[]>> = {
  int: ["i32", "u32", "u8", "f64"],
  ints: ["i32", "u32", "u8", "f64"],
  float: ["f64"],
  bool: ["u8"],
  string: ["u32"],
  strings: ["u32"],
};

/** What a reader of columns needs to know: the typed arrays' bytes and the texts. */
interface Body {
  readonly bytes: Uint8Array;
  readonly strings: readonly string[];
}

/** Check columns that came from outside and return them as a snapshot.
 *
 * `packed` is the number of bytes that they came as.
 * @throws SnapshotError with one sentence. */
export function decodeSnapshot(bytes: Uint8Array, packed = bytes.length): Snapshot {
  const header = readHeader(bytes);
  const snapshot: Record<string, unknown> = {
    schema: checkSchema(header.value.schema),
  };
  const tables = asRecord(header.value.tables ?? {}, "tables");
  const claimed = claims(tables);
  checkRows(claimed.rows, packed);
  if (claimed.end > bytes.length - header.end) throw new SnapshotError(CUT_SHORT);
  if (claimed.end < bytes.length - header.end) {
    throw damaged("its columns end before it does");
  }
  const strings = header.value.strings ?? [];
  if (!isTexts(strings)) throw damaged("its table of texts cannot be read");
  const body = { bytes: alignedBody(bytes, header.end), strings };
  for (const [name, field] of Object.entries(HEADER)) {
    const value = header.value[name] ?? field.fallback;
    const fits =
      field.kind === "string" ? typeof value === "string" : Array.isArray(value);
    if (!fits) throw damaged(`it has no ${name} that can be read`);
    snapshot[name] = value;
  }
  for (const name of TABLE_NAMES) {
    snapshot[name] = name in tables ? readTable(body, name, tables[name]) : [];
  }
  return checkSnapshot(snapshot as unknown as Snapshot);
}

function readHeader(bytes: Uint8Array): { value: Json; end: number } {
  const magic = String.fromCharCode(...bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new SnapshotError(NOT_A_SNAPSHOT);
  if (bytes.length < PREFIX) throw new SnapshotError(CUT_SHORT);
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const end = PREFIX + view.getUint32(MAGIC.length, true);
  if (end > bytes.length) throw new SnapshotError(CUT_SHORT);
  const text = new TextDecoder("utf-8").decode(bytes.subarray(PREFIX, end));
  try {
    return { value: asRecord(JSON.parse(text), "its header"), end };
  } catch (error) {
    if (error instanceof SnapshotError) throw error;
    throw damaged("its header is not JSON");
  }
}

/** How many rows a header announces, and bytes of columns.
 *
 * The columns lie one after another, with no overlap and no hole: rows that the body
 * does not have cannot be claimed. Columns that only a newer gradviz knows count too. */
function claims(tables: Json): { rows: number; end: number } {
  let rows = 0;
  const places: { offset: number; length: number; where: string }[] = [];
  for (const [table, described] of Object.entries(tables)) {
    const entry = asRecord(described, table);
    if (!isCount(entry.count))
      throw damaged(`the number of its ${table} cannot be read`);
    rows += entry.count;
    for (const [name, column] of Object.entries(asRecord(entry.columns, table))) {
      const where = `${table}.${name}`;
      const place = asRecord(column, where);
      for (const part of [place, place.present, place.starts]) {
        if (part !== undefined) places.push(placeOf(asRecord(part, where), where));
      }
    }
  }
  places.sort((a, b) => a.offset - b.offset || a.length - b.length);
  let end = 0;
  for (const { offset, length, where } of places) {
    if (offset !== end) {
      throw damaged(`${where} does not begin where the column before it ends`);
    }
    end = Math.ceil((end + length) / 8) * 8;
  }
  return { rows, end };
}

function placeOf(part: Json, where: string) {
  const { dtype, offset, length } = part;
  const bytes = Object.hasOwn(ITEM_BYTES, String(dtype)) && ITEM_BYTES[dtype as Dtype];
  if (!bytes || !isCount(offset) || !isCount(length)) throw unreadable(where);
  return { offset, length: length * bytes, where };
}

/** The bytes after the header, copied only where typed arrays could not look into them. */
function alignedBody(bytes: Uint8Array, start: number): Uint8Array {
  const body = bytes.subarray(start);
  return body.byteOffset % 8 === 0 ? body : body.slice();
}

function readTable(body: Body, table: TableName, described: unknown): object[] {
  const entry = asRecord(described, table);
  const columns = asRecord(entry.columns, table);
  const count = entry.count;
  if (!isCount(count)) throw damaged(`the number of its ${table} cannot be read`);
  // Required columns come first: they have an entry per row, so the size of the body
  // bounds the count before anything of that length is made.
  const fields = Object.entries(TABLES[table]).sort(
    ([, a], [, b]) =>
      Number(b.fallback === undefined) - Number(a.fallback === undefined),
  );
  const values = new Map<string, readonly Value[] | Value>();
  for (const [name, field] of fields) {
    const where = `${table}.${name}`;
    if (name in columns) {
      values.set(name, readColumn(body, field, columns[name], count, where));
    } else if (field.fallback !== undefined) {
      values.set(name, field.fallback);
    } else if (count > 0) {
      throw damaged(`it has no ${where}`);
    }
  }
  const present = Object.keys(TABLES[table]).map(
    (name) => [name, name in columns, values.get(name)] as const,
  );
  return Array.from({ length: count }, (_, row) => {
    const record: Record<string, unknown> = {};
    for (const [name, stored, value] of present) {
      record[name] = stored ? (value as readonly Value[])[row] : value;
    }
    return record;
  });
}

function readColumn(
  body: Body,
  field: FieldSpec,
  described: unknown,
  count: number,
  where: string,
): Value[] {
  const column = asRecord(described, where);
  if (column.kind !== field.kind) throw unreadable(where);
  const items = readArray(body, column, ALLOWED[field.kind], where);
  const present = readPresent(body, field, column, count, where);
  if (field.kind === "ints" || field.kind === "strings") {
    const starts = readStarts(body, column, items.length, count, where);
    const flat = readItems(body, field.kind, items, null, where);
    return Array.from({ length: count }, (_, row) =>
      present?.[row] === 0
        ? null
        : (flat.slice(starts[row], starts[row + 1]) as number[] | string[]),
    );
  }
  if (items.length !== count) throw unreadable(where);
  return readItems(body, field.kind, items, present, where);
}

function readPresent(
  body: Body,
  field: FieldSpec,
  column: Json,
  count: number,
  where: string,
): Items | null {
  if (column.present === undefined) return null;
  const flags = readArray(body, asRecord(column.present, where), ["u8"], where);
  if (flags.length !== count || !field.optional) throw unreadable(where);
  return flags;
}

function readStarts(
  body: Body,
  column: Json,
  items: number,
  count: number,
  where: string,
): Items {
  const starts = readArray(body, asRecord(column.starts, where), ["u32"], where);
  if (starts.length !== count + 1 || starts[0] !== 0 || starts[count] !== items) {
    throw unreadable(where);
  }
  for (let row = 0; row < count; row++) {
    if ((starts[row + 1] ?? 0) < (starts[row] ?? 0)) throw unreadable(where);
  }
  return starts;
}

function readItems(
  body: Body,
  kind: FieldKind,
  items: Items,
  present: Items | null,
  where: string,
): (number | string | boolean | null)[] {
  return Array.from(items, (item: number, row: number) => {
    if (present?.[row] === 0) return null;
    switch (kind) {
      case "float":
        return item;
      case "bool":
        return item !== 0;
      case "int":
      case "ints":
        if (!Number.isInteger(item)) throw unreadable(where);
        return item;
      default: {
        const text = body.strings[item];
        if (text === undefined) throw unreadable(where);
        return text;
      }
    }
  });
}

function readArray(
  body: Body,
  place: Json,
  allowed: readonly Dtype[],
  where: string,
): Items {
  const { offset, length } = place;
  const dtype = allowed.find((name) => name === place.dtype);
  if (dtype === undefined || !isCount(offset) || !isCount(length) || offset % 8 !== 0) {
    throw unreadable(where);
  }
  const { buffer, byteOffset } = body.bytes;
  if (length === 0) return new Uint8Array(0);
  switch (dtype) {
    case "u8":
      return new Uint8Array(buffer, byteOffset + offset, length);
    case "i32":
      return new Int32Array(buffer, byteOffset + offset, length);
    case "u32":
      return new Uint32Array(buffer, byteOffset + offset, length);
    case "f64":
      return new Float64Array(buffer, byteOffset + offset, length);
  }
}

function unreadable(where: string): SnapshotError {
  return damaged(`${where} cannot be read`);
}

function asRecord(value: unknown, where: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw unreadable(where);
  }
  return value as Json;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
