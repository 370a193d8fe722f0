import { describe, expect, it } from "vitest";
import { decodeSnapshot } from "../ir/decode.js";
import { encodeSnapshot } from "../ir/encode.js";
import type { Snapshot, Statistics, Thumbnail } from "../ir/types.js";
import { nothing } from "./snapshots.test-util.js";
import { CLEAR, cellsOf, LEVELS, NAN_PIXEL, thumbnailWords } from "./thumbnail.js";

const STATISTICS: Statistics = {
  count: 8,
  minimum: -1,
  maximum: 3,
  mean: 0,
  std: 1,
  norm: 4,
  zeros: 0,
  nans: 1,
  infs: 0,
  first_bad: null,
  histogram: [1, 4, 0, 2],
  histogram_low: -1,
  histogram_high: 3,
};
const THUMBNAIL: Thumbnail = {
  statistics: 0,
  kind: "filters",
  rows: 1,
  columns: 2,
  tiles: 3,
  pixels: [0, 30, 15, NAN_PIXEL, 1, 2],
  low: -3,
  high: 3,
  how: "a pixel is an element",
};

function snapshotOf(thumbnails: readonly Thumbnail[]): Snapshot {
  return { ...nothing(), statistics: [STATISTICS], thumbnails };
}

describe("cells of a thumbnail", () => {
  it("lays tiles side by side with a cell between them", () => {
    const snapshot = snapshotOf([THUMBNAIL]);
    const cells = cellsOf(snapshot, snapshot.statistics[0] ?? null);
    expect([cells?.width, cells?.height, cells?.isSigned]).toEqual([5, 3, true]);
    expect([...(cells?.codes ?? [])]).toEqual([
      ...[0, 30, CLEAR, 15, NAN_PIXEL],
      ...[CLEAR, CLEAR, CLEAR, CLEAR, CLEAR],
      ...[1, 2, CLEAR, CLEAR, CLEAR],
    ]);
  });

  it("is the histogram where no thumbnail was kept", () => {
    const snapshot = snapshotOf([]);
    const cells = cellsOf(snapshot, snapshot.statistics[0] ?? null);
    expect([cells?.width, cells?.height, cells?.thumbnail]).toEqual([4, 16, null]);
    const filled = [0, 1, 2, 3].map(
      (bin) =>
        cells?.codes.filter((code, at) => at % 4 === bin && code === LEVELS / 2).length,
    );
    expect(filled).toEqual([4, 16, 0, 8]);
  });

  it("is not that of statistics which a delta has replaced", () => {
    const snapshot = snapshotOf([THUMBNAIL]);
    const later = { ...STATISTICS, histogram: [] };
    const changed = { ...snapshot, statistics: [later] };
    expect(cellsOf(snapshot, STATISTICS)?.thumbnail).toEqual(THUMBNAIL);
    expect(cellsOf(changed, later)).toBeNull();
  });

  it("says the extremes, what is not finite, and how it came about", () => {
    expect(thumbnailWords(THUMBNAIL, STATISTICS)).toBe(
      "-1 to 3; 1 NaN; a pixel is an element",
    );
  });
});

describe("thumbnails on the wire", () => {
  it("come back as they were", () => {
    const snapshot = snapshotOf([THUMBNAIL]);
    expect(decodeSnapshot(encodeSnapshot(snapshot)).thumbnails).toEqual([THUMBNAIL]);
  });

  it.each([
    ["too few", { pixels: [1] }],
    ["none", { pixels: [], tiles: 0 }],
    ["too many", { tiles: 1, rows: 1, columns: 1025, pixels: Array(1025).fill(0) }],
  ])("are refused with %s pixels", (_, part) => {
    const bytes = encodeSnapshot(snapshotOf([{ ...THUMBNAIL, ...part }]));
    expect(() => decodeSnapshot(bytes)).toThrow(/thumbnails\[0\] has another number/);
  });
});
