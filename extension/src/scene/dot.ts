// What is drawn, in the DOT language: open modules as clusters, closed ones as boxes.
import { visibleText } from "../state/visible-text.js";
import type { Box, Scene } from "./scene.js";

const SHAPES: Readonly<Partial<Record<Box["shape"], string>>> = {
  pill: "ellipse",
  stack: "box3d",
  ghost: "octagon",
};

export function writeDot(scene: Scene, title: string): string {
  const lines = [
    "digraph gradviz {",
    `  graph [label=${quote(title)}, rankdir=TB];`,
    '  node [shape=box, fontname="monospace"];',
    ...boxLines(scene),
    ...edgeLines(scene),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

/** Children by parent, walked with a stack: scopes may nest deeper than calls may. */
function boxLines({ boxes, visible }: Scene): string[] {
  const inside = new Map<number, Box[]>();
  for (const box of boxes) {
    const parent = visible.parent[box.item] ?? -1;
    const known = inside.get(parent);
    if (known === undefined) inside.set(parent, [box]);
    else known.push(box);
  }
  const lines: string[] = [];
  const waiting: (Box | string)[] = [...(inside.get(-1) ?? [])].reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next === "string") lines.push(next);
    else if (next.shape !== "frame") lines.push(boxLine(next));
    else {
      lines.push(`  subgraph cluster_${next.item} {`);
      lines.push(`  graph [label=${quote(next.title)}];`);
      waiting.push("  }", ...[...(inside.get(next.item) ?? [])].reverse());
    }
  }
  return lines;
}

function boxLine({ item, shape, title, subtitle, isBad }: Box): string {
  const attributes = [`label=${quote(title, subtitle)}`];
  const drawn = SHAPES[shape];
  if (drawn !== undefined) attributes.push(`shape=${drawn}`);
  if (isBad) attributes.push('color="red"');
  return `  n${item} [${attributes.join(", ")}];`;
}

function edgeLines({ edges, visible }: Scene): string[] {
  return edges.map(({ kind, label }, edge) => {
    const attributes = label === "" ? [] : [`label=${quote(label)}`];
    if (kind === "cut") attributes.push("style=dashed");
    if (kind === "bad") attributes.push('color="red"');
    const suffix = attributes.length === 0 ? "" : ` [${attributes.join(", ")}]`;
    return `  n${visible.source[edge]} -> n${visible.target[edge]}${suffix};`;
  });
}

/** In DOT a backslash escapes, so it is doubled first. */
function quote(...lines: string[]): string {
  const escaped = lines
    .filter((line) => line !== "")
    .map((line) => visibleText(line).replaceAll("\\", "\\\\").replaceAll('"', '\\"'));
  return `"${escaped.join("\\n")}"`;
}
