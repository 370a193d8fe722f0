// Unit tests sit beside their sources; panel and render tests ask for jsdom themselves.
import { readFileSync } from "node:fs";
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
    include: ["src/**/*.test.{ts,tsx}"],
    environment: "node",
    css: true,
    testTimeout: 60_000, // a busy machine is no fault
  },
});
