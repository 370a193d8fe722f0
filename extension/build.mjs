// Builds everything Python ships: the page bundle, the widget stub, the lab extension.
//
//   node build.mjs             minified
//   node build.mjs --dev       readable, with inline source maps
//   node build.mjs --playground FOLDER   only the page of the documentation site
//
// Outputs (git-ignored, packed into the wheel):
//   gradviz/render/static/gradviz.js   one classic script: globalThis.gradviz
//   gradviz/render/static/widget.js    the anywidget module, under 1 kB
//   gradviz/labextension/              a prebuilt JupyterLab extension
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { inlineWorker } from "./scripts/inline-worker.mjs";
import { minifyCss } from "./scripts/minify-css.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const python = join(here, "..", "gradviz");
const staticFolder = join(python, "render", "static");
const labFolder = join(python, "labextension");
const labName = "gradviz";
const widgetLimit = 1024; // every widget instance syncs this text with the kernel
const dev = process.argv.includes("--dev");

const common = {
  absWorkingDir: here,
  bundle: true,
  write: false,
  minify: !dev,
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  loader: { ".css": "text", ".html": "text" },
  alias: { "gradviz:page": join(python, "render", "page.html") },
  plugins: [inlineWorker({ minify: !dev }), ...(dev ? [] : [minifyCss])],
  logLevel: "warning",
  ...(dev ? { sourcemap: "inline" } : {}),
};

/** The script that pages inline and that the widget loads once per page. */
async function pageBundle() {
  const result = await build({
    ...common,
    format: "iife",
    stdin: {
      resolveDir: join(here, "src"),
      sourcefile: "bundle.ts",
      loader: "ts",
      contents: `
        import { mountPage } from "./hosts/static.js";
        import { widget } from "./hosts/anywidget.js";
        globalThis.gradviz = { mountPage, widget };
      `,
    },
  });
  return result.outputFiles[0].text;
}

/** The anywidget module itself: it only finds or fetches the page bundle. */
async function widgetStub() {
  const result = await build({
    ...common,
    sourcemap: false,
    minify: true,
    format: "esm",
    entryPoints: ["src/hosts/widget-stub.ts"],
  });
  const text = result.outputFiles[0].text;
  const size = Buffer.byteLength(text);
  if (size >= widgetLimit) {
    throw new Error(`widget.js is ${size} bytes; it must stay under ${widgetLimit}.`);
  }
  return text;
}

/** Wrap the plugin as a module-federation container, as JupyterLab's loader expects.
 *
 * The plugin is an ordinary module that imports `@jupyterlab/*` and friends; those
 * stay external, are taken from JupyterLab's share scope, and are all loaded before the
 * plugin's code runs, so `require` can answer at once. */
function container(code, shared, bundleName) {
  return `(() => {
  const gradvizScript = document.currentScript?.src ?? null;
  const gradvizBundle = ${JSON.stringify(bundleName)};
  let scope;
  const load = async (name) => {
    const versions = scope[name];
    if (!versions) throw new Error("gradviz: this JupyterLab does not share " + name);
    const order = (a, b) => a.localeCompare(b, undefined, { numeric: true });
    const newest = Object.keys(versions).sort(order).pop();
    const factory = await versions[newest].get();
    return typeof factory === "function" ? factory() : factory;
  };
  const names = ${JSON.stringify(shared)};
  const run = (module, exports, require) => {
${code}
  };
  const get = async () => {
    const loaded = await Promise.all(names.map(load));
    const module = { exports: {} };
    run(module, module.exports, (name) => loaded[names.indexOf(name)]);
    return () => module.exports;
  };
  (globalThis._JUPYTERLAB ??= {})[${JSON.stringify(labName)}] = {
    init: (shareScope) => { scope = shareScope; },
    get,
  };
})();
`;
}

async function labExtension(bundleName) {
  const result = await build({
    ...common,
    format: "cjs",
    metafile: true,
    external: ["@jupyterlab/*", "@jupyter/*", "@lumino/*", "@codemirror/*", "react"],
    entryPoints: ["src/hosts/jupyterlab.ts"],
  });
  const imports = Object.values(result.metafile.outputs).flatMap((o) => o.imports);
  const shared = [...new Set(imports.filter((i) => i.external).map((i) => i.path))];
  return container(result.outputFiles[0].text, shared.sort(), bundleName);
}

async function writeLabExtension(text, bundle) {
  const load = `static/remoteEntry.${digestOf(text)}.js`;
  const { version, description, license } = JSON.parse(
    await readFile(join(here, "package.json"), "utf8"),
  );
  const manifest = {
    name: labName,
    version,
    description,
    license,
    jupyterlab: { extension: true, _build: { load, extension: "./extension" } },
  };
  const install = {
    packageManager: "python",
    packageName: "gradviz",
    uninstallInstructions: "Use your Python package manager to uninstall gradviz.",
  };
  await rm(labFolder, { recursive: true, force: true });
  await mkdir(join(labFolder, "static"), { recursive: true });
  await writeFile(join(labFolder, load), text);
  await writeFile(join(labFolder, "static", bundle.name), bundle.text);
  await writeFile(join(labFolder, "package.json"), JSON.stringify(manifest, null, 2));
  await writeFile(join(labFolder, "install.json"), JSON.stringify(install, null, 2));
}

/** The scripts of the site's playground: its page, and the worker that Python runs in. */
async function playground(folder) {
  // The page's is no module: opened from a file it runs, and says that it is to be served.
  const formats = { iife: ["page.tsx", "page.css"], esm: ["worker.ts"] };
  for (const [format, names] of Object.entries(formats)) {
    await build({
      ...common,
      write: true,
      format,
      outdir: folder,
      loader: {},
      plugins: [],
      entryPoints: names.map((name) => join("src", "playground", name)),
    });
  }
}

const asked = process.argv.indexOf("--playground");
if (asked > 0) {
  await playground(resolve(process.argv[asked + 1]));
  process.exit();
}

const [page, widget] = await Promise.all([pageBundle(), widgetStub()]);
const digestOf = (text) => createHash("sha256").update(text).digest("hex").slice(0, 16);
// Beside the plugin lies what it puts into pages that a user saves.
const bundle = { name: `page.${digestOf(page)}.js`, text: page };
const lab = await labExtension(bundle.name);
await mkdir(staticFolder, { recursive: true });
await writeFile(join(staticFolder, "gradviz.js"), page);
await writeFile(join(staticFolder, "widget.js"), widget);
await writeLabExtension(lab, bundle);
const kilobytes = (text) => `${(Buffer.byteLength(text) / 1000).toFixed(1)} kB`;
console.log(
  `gradviz.js ${kilobytes(page)}, widget.js ${kilobytes(widget)}, lab ${kilobytes(lab)}`,
);
