// What build.mjs turns into strings: style sheets, the bundled layout worker, the page's template.

declare module "*.css" {
  const text: string;
  export default text;
}

declare module "gradviz:page" {
  /** gradviz/render/page.html: the template of a page. */
  const text: string;
  export default text;
}

declare module "gradviz:layout-worker" {
  /** The layout worker, bundled as one classic script. */
  const source: string;
  export default source;
}
