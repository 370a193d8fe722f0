// What build.mjs turns into strings: style sheets and the bundled layout worker.

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "gradviz:layout-worker" {
  /** The layout worker, bundled as one classic script. */
  const source: string;
  export default source;
}
