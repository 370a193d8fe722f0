// Style sheets are inlined as text, which esbuild leaves as it is: this makes them small.
import { readFile } from "node:fs/promises";
import { transform } from "esbuild";

/** An esbuild plugin that answers `import css from "./x.css"` with its minified text. */
export const minifyCss = {
  name: "minify-css",
  setup(context) {
    context.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const { code } = await transform(text, { loader: "css", minify: true });
      return { contents: code, loader: "text" };
    });
  },
};
