// Runs a script on the Python of an npm package `pyodide`: node in_pyodide.mjs
// FOLDER-OF-PYODIDE FOLDER-OF-GRADVIZ SCRIPT
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, gradviz, script] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(pyodide, "pyodide.mjs")).href);
const python = await loadPyodide();
python.FS.mkdirTree("/sources/gradviz");
python.mountNodeFS("/sources/gradviz", gradviz);
python.runPython("import sys; sys.path.insert(0, '/sources')");
try {
  python.runPython(readFileSync(script, "utf8"));
} catch (error) {
  console.error(error.message); // the rest would be the whole of Pyodide, in one line
  process.exitCode = 1;
}
