// Referees the import directions of README.md: who may import whom.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const source = dirname(fileURLToPath(import.meta.url));

/** Per folder: the folders that it may import from, besides itself. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  ir: [],
  geometry: [],
  graph: ["ir"],
  layout: ["graph"],
  state: ["ir", "graph"],
  scene: ["ir", "graph", "geometry", "layout", "state"],
  render: ["ir", "graph", "geometry", "layout", "state", "scene"],
  panel: ["ir", "graph", "state", "scene", "render"],
  styles: [],
  hosts: ["ir", "state", "app"],
  playground: ["panel", "hosts"],
  app: ["ir", "graph", "state", "scene", "render", "panel", "styles"],
};
/** Only these name packages from outside. */
const WITH_PACKAGES = ["state", "panel", "app", "hosts", "playground"];
const IMPORT = /^(?:import|export)\s[^;]*?from\s+"([^"]+)"/gms;

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    return /(?<!\.d|\.test|\.test-util)\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** "render/paint.ts" is in render, "app.ts" is app. */
function roomOf(path: string): string {
  return relative(source, path).split(/[/.]/)[0] ?? "";
}

const imports = filesIn(source).flatMap((file) =>
  Array.from(readFileSync(file, "utf8").matchAll(IMPORT), ([, name = ""]) => ({
    file: relative(source, file),
    from: roomOf(file),
    name,
    to: name.startsWith(".") ? roomOf(resolve(dirname(file), name)) : null,
  })),
);

describe("imports", () => {
  test("are found at all", () => {
    expect(imports.length).toBeGreaterThan(100);
  });

  test("go one way", () => {
    const wrong = imports.filter(
      ({ from, to }) => to !== null && to !== from && !ALLOWED[from]?.includes(to),
    );
    expect(wrong.map(({ file, name }) => `${file} imports ${name}`)).toEqual([]);
  });

  test("of packages stay out of the pure rooms and the canvas", () => {
    const wrong = imports.filter(
      ({ from, to, name }) =>
        to === null && !name.startsWith("gradviz:") && !WITH_PACKAGES.includes(from),
    );
    expect(wrong.map(({ file, name }) => `${file} imports ${name}`)).toEqual([]);
  });
});
