// Writes a snapshot as columns, the binary form that a page holds; decode.ts reads it.
import {
  type FieldKind,
  type FieldSpec,
  HEADER,
  type Snapshot,
  TABLES,
  type TableName,
} from "./types.js";

type Cell = number | boolean | string | null | readonly (number | string)[];
type Items = Uint8Array | Int32Array | Uint32Array | Float64Array;

const MAGIC = "GVC1";
const INT32_END = 2 ** 31;

export function encodeSnapshot(snapshot: Snapshot): Uint8Array<ArrayBuffer> {
  const body = new Body();
  const tables: Record<string, unknown> = {};
  for (const name of Object.keys(TABLES) as TableName[]) {
    const rows = snapshot[name] as unknown as readonly Record<string, Cell>[];
    tables[name] = { count: rows.length, columns: columnsOf(body, name, rows) };
  }
  const header: Record<string, unknown> = { schema: snapshot.schema };
  for (const name of Object.keys(HEADER)) header[name] = snapshot[name as "title"];
  const strings = [...body.strings.keys()];
  const text = new TextEncoder().encode(JSON.stringify({ ...header, strings, tables }));
  return joined(text, body);
}

function columnsOf(
  body: Body,
  table: TableName,
  rows: readonly Record<string, Cell>[],
): Record<string, unknown> {
  const columns: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(TABLES[table])) {
    const values = rows.map((row) => row[name] ?? null);
    if (values.every((value) => isDefault(value, field))) continue;
    columns[name] = columnOf(body, field.kind, values);
  }
  return columns;
}

/** Whether a value is what the reader puts in place of what is left out. */
export function isDefault(value: unknown, { fallback }: FieldSpec): boolean {
  if (fallback === undefined) return false;
  if (Array.isArray(value)) return value.length === 0 && Array.isArray(fallback);
  return value === fallback;
}

function columnOf(body: Body, kind: FieldKind, values: readonly Cell[]) {
  const present = values.includes(null)
    ? {
        present: body.add(
          "u8",
          Uint8Array.from(values, (value) => +(value !== null)),
        ),
      }
    : {};
  if (kind !== "ints" && kind !== "strings") {
    const empty = kind === "string" ? "" : 0;
    const filled = values.map((value) => value ?? empty);
    return { kind, ...body.items(kind, filled), ...present };
  }
  const lists = values.map((value) => (value ?? []) as readonly (number | string)[]);
  const starts = new Uint32Array(lists.length + 1);
  lists.forEach((list, row) => {
    starts[row + 1] = (starts[row] ?? 0) + list.length;
  });
  const place = body.add("u32", starts);
  return { kind, ...body.items(kind, lists.flat()), starts: place, ...present };
}

/** The typed arrays, each at a multiple of eight bytes, and the texts they refer to. */
class Body {
  readonly strings = new Map<string, number>();
  readonly chunks: Uint8Array[] = [];
  length = 0;

  add(dtype: string, array: Items) {
    const place = { dtype, offset: this.length, length: array.length };
    const padded = new Uint8Array(Math.ceil(array.byteLength / 8) * 8);
    padded.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    this.chunks.push(padded);
    this.length += padded.length;
    return place;
  }

  items(kind: FieldKind, values: readonly Cell[]) {
    if (kind === "string" || kind === "strings") {
      const rows = Uint32Array.from(values, (value) => this.text(String(value)));
      return this.add("u32", rows);
    }
    if (kind === "bool") return this.add("u8", Uint8Array.from(values, Number));
    if (
      kind === "ints" &&
      values.every((value) => value === Number(value) && isByte(value))
    )
      return this.add("u8", Uint8Array.from(values, Number));
    const isSmall = (value: Cell) => Math.abs(Number(value)) < INT32_END;
    return kind === "float" || !values.every(isSmall)
      ? this.add("f64", Float64Array.from(values, Number))
      : this.add("i32", Int32Array.from(values, Number));
  }

  private text(value: string): number {
    const known = this.strings.get(value);
    if (known !== undefined) return known;
    this.strings.set(value, this.strings.size);
    return this.strings.size - 1;
  }
}

/** As pixels are. */
function isByte(value: number): boolean {
  return value >= 0 && value < 256 && Number.isInteger(value);
}

function joined(header: Uint8Array, body: Body): Uint8Array<ArrayBuffer> {
  const start = Math.ceil((8 + header.length) / 8) * 8;
  const bytes = new Uint8Array(start + body.length).fill(0x20, 8, start);
  bytes.set(new TextEncoder().encode(MAGIC));
  new DataView(bytes.buffer).setUint32(4, start - 8, true);
  bytes.set(header, 8);
  let at = start;
  for (const chunk of body.chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
