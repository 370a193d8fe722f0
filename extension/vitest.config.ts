// Unit tests sit beside their sources; panel and render tests ask for jsdom themselves.
import { defineConfig } from "vitest/config";
import { inlineWorkerForVite } from "./scripts/inline-worker.mjs";

export default defineConfig({
  plugins: [inlineWorkerForVite()],
  test: {
    include: ["src/**/*.test.{ts,tsx}"],
    environment: "node",
    css: true,
  },
});
