// Writes a snapshot as JSON, as gradviz.export_json does: one row a line, defaults left out.
import { isDefault } from "./encode.js";
import {
  type FieldSpec,
  HEADER,
  type Snapshot,
  TABLES,
  type TableName,
} from "./types.js";

type Fields = Readonly<Record<string, FieldSpec>>;

/** The text of a `.gradviz.json` file; numbers that JSON cannot hold are spelled. */
export function writeJson(snapshot: Snapshot): string {
  const head = {
    format: "gradviz",
    schema: snapshot.schema,
    ...kept(snapshot, HEADER),
  };
  const parts = [toText(head).slice(0, -1)];
  for (const name of Object.keys(TABLES) as TableName[]) {
    const rows: readonly object[] = snapshot[name];
    if (rows.length === 0) continue;
    const lines = rows.map((row) => toText(kept(row, TABLES[name])));
    parts.push(`"${name}": [\n${lines.join(",\n")}\n]`);
  }
  return `${parts.join(",\n")}}\n`;
}

function kept(row: object, fields: Fields): Record<string, unknown> {
  const values = row as Readonly<Record<string, unknown>>;
  const written = Object.entries(fields).filter(
    ([name, field]) => !isDefault(values[name], field),
  );
  return Object.fromEntries(written.map(([name]) => [name, spelled(values[name])]));
}

function spelled(value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}

/** In ASCII, so that halves of surrogate pairs and rare letters survive any editor. */
function toText(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
