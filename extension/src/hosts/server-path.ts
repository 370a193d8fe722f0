// From a file's path in the kernel to its path in the server that shows it.

/** The path below the server's folder, or null for a file outside of it.
 *
 * Servers tell their folder with the user's home as "~". */
export function pathInServer(file: string, root: string): string | null {
  const path = file.replaceAll("\\", "/");
  const folder = root.replaceAll("\\", "/").replace(/\/+$/, "");
  if (!/^(\/|[A-Za-z]:\/)/.test(path)) return null; // "<string>" and the like
  if (!folder.startsWith("~")) {
    return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null;
  }
  const [home] = /^([A-Za-z]:)?\/(home|Users)\/[^/]+\/|^\/root\//.exec(path) ?? [];
  if (home === undefined) return null;
  const below = folder === "~" ? "" : `${folder.slice(2)}/`;
  const inHome = path.slice(home.length);
  return inHome.startsWith(below) ? inHome.slice(below.length) : null;
}
