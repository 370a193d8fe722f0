// Unit tests sit beside their sources; panel and render tests ask for jsdom themselves.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { inlineWorkerForVite } from "./scripts/inline-worker.mjs";

/** What esbuild's text loader does for the template of a page. */
function pageTemplate() {
  return {
    name: "page-template",
    enforce: "pre" as const,
    load: (id: string) =>
      id.endsWith(".html")
        ? `export default ${JSON.stringify(readFileSync(id, "utf8"))}`
        : undefined,
  };
}

/** The files of tests; those apart change modules or globals, or want a DOM. */
function testFiles(apart: boolean): string[] {
  return readdirSync("src", { encoding: "utf8", recursive: true })
    .filter((name) => /\.test\.tsx?$/.test(name))
    .map((name) => `src/${name}`)
    .filter((name) => {
      const text = readFileSync(name, "utf8");
      return /@vitest-environment|\bvi\b/.test(text) === apart;
    });
}

export default defineConfig({
  resolve: {
    alias: {
      "gradviz:page": fileURLToPath(
        new URL("../gradviz/render/page.html", import.meta.url),
      ),
    },
  },
  plugins: [inlineWorkerForVite(), pageTemplate()],
  test: {
    environment: "node",
    css: true,
    testTimeout: 60_000, // a busy machine is no fault
    pool: "threads",
    // Pure code needs no thread for each file: to start one takes longer than most tests.
    projects: [
      { extends: true, test: { name: "apart", include: testFiles(true) } },
      {
        extends: true,
        test: { name: "pure", include: testFiles(false), isolate: false },
      },
    ],
  },
});
