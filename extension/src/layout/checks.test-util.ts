// What every placement must be, whatever the graph.
import { expect } from "vitest";
import type { LayoutGraph, Placement } from "./index.js";

const SLACK = 0.1; // positions are float32

interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function boxOf(placement: Placement, item: number): Box {
  const halfWidth = (placement.width[item] ?? 0) / 2;
  const halfHeight = (placement.height[item] ?? 0) / 2;
  const x = placement.x[item] ?? Number.NaN;
  const y = placement.y[item] ?? Number.NaN;
  return {
    left: x - halfWidth,
    top: y - halfHeight,
    right: x + halfWidth,
    bottom: y + halfHeight,
  };
}

/** Siblings do not overlap, children lie in their parents, all numbers are finite. */
export function expectSound(graph: LayoutGraph, placement: Placement): void {
  const siblings = new Map<number, number[]>();
  for (let item = 0; item < graph.parent.length; item++) {
    const parent = graph.parent[item] ?? -1;
    siblings.set(parent, [...(siblings.get(parent) ?? []), item]);
    const box = boxOf(placement, item);
    expect(Object.values(box).every(Number.isFinite)).toBe(true);
    if (parent < 0) continue;
    const around = boxOf(placement, parent);
    expect(box.left).toBeGreaterThanOrEqual(around.left - SLACK);
    expect(box.right).toBeLessThanOrEqual(around.right + SLACK);
    expect(box.top).toBeGreaterThanOrEqual(around.top - SLACK);
    expect(box.bottom).toBeLessThanOrEqual(around.bottom + SLACK);
  }
  for (const items of siblings.values()) expectApart(items, placement);
}

function expectApart(items: readonly number[], placement: Placement): void {
  const boxes = items.map((item) => boxOf(placement, item));
  boxes.sort((a, b) => a.top - b.top);
  for (let i = 0; i < boxes.length; i++) {
    for (let k = i + 1; k < boxes.length; k++) {
      const a = boxes[i] as Box;
      const b = boxes[k] as Box;
      if (b.top >= a.bottom - SLACK) break;
      const apart = a.right <= b.left + SLACK || b.right <= a.left + SLACK;
      expect(apart, `boxes overlap: ${JSON.stringify([a, b])}`).toBe(true);
    }
  }
}

/** Edges begin at the bottom of their source and end at the top of their target. */
function expectConnected(graph: LayoutGraph, placement: Placement): void {
  const { points, starts } = placement;
  graph.source.forEach((source, edge) => {
    const from = boxOf(placement, source);
    const to = boxOf(placement, graph.target[edge] ?? -1);
    const start = starts[edge] ?? 0;
    const end = starts[edge + 1] ?? 0;
    expect(points[start + 1]).toBeCloseTo(from.bottom, 0);
    expect(points[end - 1]).toBeCloseTo(to.top, 0);
    expect(points[end - 2]).toBeGreaterThanOrEqual(to.left - SLACK);
    expect(points[end - 2]).toBeLessThanOrEqual(to.right + SLACK);
  });
}

/** The straight (vertical) parts of edges pass no box; between ranks there are none. */
export function expectClear(graph: LayoutGraph, placement: Placement): void {
  const { points, starts, overlay } = placement;
  const leaves = Array.from(graph.open.keys()).filter((item) => graph.open[item] === 0);
  for (let edge = 0; edge < graph.source.length; edge++) {
    if (overlay[edge] === 1) continue;
    for (let i = starts[edge] ?? 0; i + 3 < (starts[edge + 1] ?? 0); i += 2) {
      const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = points.subarray(i, i + 4);
      if (x0 !== x1) continue;
      for (const item of leaves) {
        const box = boxOf(placement, item);
        const isInside = x0 > box.left + SLACK && x0 < box.right - SLACK;
        const passes = y0 < box.bottom - SLACK && y1 > box.top + SLACK;
        expect(isInside && passes, `edge ${edge} runs through item ${item}`).toBe(
          false,
        );
      }
    }
  }
}

export function expectGood(graph: LayoutGraph, placement: Placement): void {
  expectSound(graph, placement);
  expectConnected(graph, placement);
  expectClear(graph, placement);
}
