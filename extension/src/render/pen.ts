// The part of a canvas context that painting uses; an SVG file can be written with it too.

/** What pictures are painted with; whoever paints with more of a context adds it here and
 * to the pen that writes SVG. */
export type Pen = Pick<
  CanvasRenderingContext2D,
  | "arc"
  | "beginPath"
  | "bezierCurveTo"
  | "clearRect"
  | "clip"
  | "closePath"
  | "fill"
  | "fillRect"
  | "fillStyle"
  | "fillText"
  | "font"
  | "globalAlpha"
  | "lineCap"
  | "lineJoin"
  | "lineTo"
  | "lineWidth"
  | "moveTo"
  | "quadraticCurveTo"
  | "rect"
  | "restore"
  | "roundRect"
  | "save"
  | "setLineDash"
  | "setTransform"
  | "stroke"
  | "strokeRect"
  | "strokeStyle"
  | "textAlign"
  | "textBaseline"
>;
