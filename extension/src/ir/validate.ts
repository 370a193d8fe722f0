// Checks that a snapshot does not contradict itself: versions, references, the scope tree.
import { damaged, SnapshotError } from "./errors.js";
import {
  type FieldSpec,
  HEADER,
  SCHEMA_VERSION,
  type Snapshot,
  TABLES,
  type TableName,
} from "./types.js";

const MAX_PIXELS = 1024; // of a thumbnail

export const TABLE_NAMES = Object.keys(TABLES) as readonly TableName[];

/** What a field can hold. */
export type Value =
  | number
  | boolean
  | string
  | null
  | readonly number[]
  | readonly string[];

/** Return the schema version if this reader understands it. */
export function checkSchema(schema: unknown): readonly [number, number] {
  const [major, minor] = Array.isArray(schema) ? (schema as unknown[]) : [];
  if (!isCount(major) || !isCount(minor) || (schema as unknown[]).length !== 2) {
    throw damaged("its schema version is missing or not a pair of numbers");
  }
  const [ours, oursMinor] = SCHEMA_VERSION;
  if (major > ours) {
    throw new SnapshotError(
      `The snapshot was written by a newer gradviz (schema ${major}.${minor}, this one ` +
        `reads ${ours}.${oursMinor}); please update gradviz to open it.`,
    );
  }
  if (major < ours) {
    throw new SnapshotError(
      `The snapshot has the old schema ${major}.${minor}, which this gradviz (schema ` +
        `${ours}.${oursMinor}) no longer reads; please record it again.`,
    );
  }
  return [major, minor];
}

/** Return the snapshot if every reference is a row that exists and scopes are a tree. */
export function checkSnapshot(snapshot: Snapshot): Snapshot {
  checkRow(snapshot, snapshot, Object.entries(HEADER), () => "");
  for (const table of TABLE_NAMES) {
    const fields = Object.entries(TABLES[table]).filter(
      ([, field]) => field.refers !== undefined || field.values !== undefined,
    );
    snapshot[table].forEach((row, index) => {
      checkRow(snapshot, row, fields, () => `${table}[${index}].`);
    });
  }
  checkScopes(snapshot);
  snapshot.thumbnails.forEach(({ tiles, rows, columns, pixels }, row) => {
    const fits =
      pixels.length <= MAX_PIXELS && tiles * rows * columns === pixels.length;
    if (!fits || Math.min(tiles, rows, columns) < 1) {
      throw damaged(`thumbnails[${row}] has another number of pixels than it says`);
    }
  });
  return snapshot;
}

function checkRow(
  snapshot: Snapshot,
  row: object,
  fields: readonly (readonly [string, FieldSpec])[],
  where: () => string,
): void {
  const values = row as Readonly<Record<string, unknown>>;
  for (const [name, field] of fields) {
    const value = values[name];
    checkWord(snapshot, value, field, () => `${where()}${name}`);
    if (field.refers === undefined || value === null) continue;
    const lowest = field.sparse === true ? -1 : 0;
    const count = snapshot[field.refers].length;
    if (typeof value === "number") {
      if (value < lowest || value >= count) {
        throw dangling(`${where()}${name}`, value, field.refers, count);
      }
      continue;
    }
    const list = value as readonly number[];
    for (let item = 0; item < list.length; item++) {
      const row = list[item] ?? 0;
      if (row < lowest || row >= count) {
        throw dangling(`${where()}${name}[${item}]`, row, field.refers, count);
      }
    }
  }
}

/** A newer minor version may know words that this one does not; it draws them plainly. */
function checkWord(
  snapshot: Snapshot,
  value: unknown,
  field: FieldSpec,
  where: () => string,
): void {
  const known = field.values;
  if (known === undefined || snapshot.schema[1] > SCHEMA_VERSION[1]) return;
  if (!known.includes(value as string)) {
    throw damaged(
      `${where()} is "${String(value)}", which is none of ${known.join(", ")}`,
    );
  }
}

function dangling(where: string, value: number, table: TableName, count: number) {
  return damaged(`${where} is ${value}, but ${table} has length ${count}`);
}

function checkScopes(snapshot: Snapshot): void {
  const { scopes } = snapshot;
  const settled = new Uint8Array(scopes.length);
  for (let start = 0; start < scopes.length; start++) {
    const path: number[] = [];
    let scope: number | null = start;
    while (scope !== null && settled[scope] === 0) {
      settled[scope] = 1;
      path.push(scope);
      scope = scopes[scope]?.parent ?? null;
    }
    if (scope !== null && settled[scope] === 1) {
      throw damaged(`scopes[${scope}] is inside itself`);
    }
    for (const done of path) settled[done] = 2;
  }
}

export function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}
