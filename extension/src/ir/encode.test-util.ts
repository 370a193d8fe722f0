// Writes a snapshot as columns, for the tests of the reader.
import { HEADER, type Snapshot, TABLES, type TableName } from "./types.js";

type Cell = number | boolean | string | null | readonly number[] | readonly string[];

export function encodeColumns(snapshot: Snapshot): Uint8Array {
  const strings: string[] = [];
  const chunks: Uint8Array[] = [];
  let offset = 0;
  const text = (value: string) => {
    const known = strings.indexOf(value);
    return known >= 0 ? known : strings.push(value) - 1;
  };
  const append = (
    dtype: string,
    array: Uint8Array | Int32Array | Uint32Array | Float64Array,
  ) => {
    const place = { dtype, offset, length: array.length };
    const padded = new Uint8Array(Math.ceil(array.byteLength / 8) * 8);
    padded.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    chunks.push(padded);
    offset += padded.length;
    return place;
  };
  const items = (kind: string, values: Cell[]) => {
    if (kind.startsWith("string")) {
      return append(
        "u32",
        Uint32Array.from(values, (value) => text(value as string)),
      );
    }
    if (kind === "bool") return append("u8", Uint8Array.from(values, Number));
    const isSmall = (value: Cell) => Math.abs(value as number) < 2 ** 31;
    if (kind === "float" || !values.every(isSmall)) {
      return append("f64", Float64Array.from(values, Number));
    }
    return append("i32", Int32Array.from(values, Number));
  };
  const column = (kind: string, values: Cell[]) => {
    const present = values.includes(null)
      ? {
          present: append(
            "u8",
            Uint8Array.from(values, (value) => +(value !== null)),
          ),
        }
      : {};
    if (!kind.endsWith("s")) {
      const empty = kind === "string" ? "" : 0;
      return {
        kind,
        ...items(
          kind,
          values.map((value) => value ?? empty),
        ),
        ...present,
      };
    }
    const lists = values.map((value) => (value ?? []) as readonly (number | string)[]);
    const starts = [0];
    for (const list of lists) starts.push((starts.at(-1) ?? 0) + list.length);
    const place = append("u32", Uint32Array.from(starts));
    return { kind, ...items(kind, lists.flat()), starts: place, ...present };
  };
  const tables = Object.fromEntries(
    (Object.keys(TABLES) as TableName[]).map((name) => {
      const rows = snapshot[name] as unknown as Record<string, Cell>[];
      const columns = Object.entries(TABLES[name]).flatMap(
        ([field, { kind, fallback }]) => {
          const values = rows.map((row) => row[field] ?? null);
          const isDefault = (value: Cell) =>
            value === fallback ||
            (Array.isArray(value) && value.length === 0 && Array.isArray(fallback));
          return fallback !== undefined && values.every(isDefault)
            ? []
            : [[field, column(kind, values)]];
        },
      );
      return [name, { count: rows.length, columns: Object.fromEntries(columns) }];
    }),
  );
  const fields = Object.keys(HEADER).map((name) => [
    name,
    snapshot[name as keyof Snapshot],
  ]);
  const header = {
    schema: snapshot.schema,
    ...Object.fromEntries(fields),
    strings,
    tables,
  };
  const written = new TextEncoder().encode(JSON.stringify(header));
  const end = Math.ceil((8 + written.length) / 8) * 8;
  const result = new Uint8Array(end + offset).fill(0x20, 8, end);
  result.set(new TextEncoder().encode("GVC1"));
  new DataView(result.buffer).setUint32(4, end - 8, true);
  result.set(written, 8);
  let at = end;
  for (const chunk of chunks) {
    result.set(chunk, at);
    at += chunk.length;
  }
  return result;
}
