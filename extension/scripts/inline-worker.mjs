// Bundles the layout worker into a string, for esbuild and for the test runner alike.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export const WORKER_MODULE = "gradviz:layout-worker";
const entry = fileURLToPath(new URL("../src/layout/worker.ts", import.meta.url));

/** Return the layout worker as the text of one classic script (workers from a blob
 * must be classic: module workers fail on file:// and in sandboxed frames). */
export async function layoutWorkerText({ minify = true } = {}) {
  const result = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify,
    format: "iife",
    target: "es2022",
    logLevel: "silent",
  });
  return result.outputFiles[0].text;
}

/** An esbuild plugin that answers `import source from "gradviz:layout-worker"`. */
export function inlineWorker(options) {
  return {
    name: "inline-worker",
    setup(context) {
      context.onResolve({ filter: /^gradviz:layout-worker$/ }, () => ({
        path: WORKER_MODULE,
        namespace: "inline-worker",
      }));
      context.onLoad({ filter: /.*/, namespace: "inline-worker" }, async () => ({
        contents: await layoutWorkerText(options),
        loader: "text",
        watchFiles: [entry],
      }));
    },
  };
}

/** The same answer for vitest. */
export function inlineWorkerForVite() {
  const resolved = `\0${WORKER_MODULE}`;
  return {
    name: "inline-worker",
    resolveId: (id) => (id === WORKER_MODULE ? resolved : undefined),
    load: async (id) =>
      id === resolved
        ? `export default ${JSON.stringify(await layoutWorkerText())};`
        : undefined,
  };
}
