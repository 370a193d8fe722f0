// A growing list of paths, each a run of points.

const SAME = 0.01;

export class PointList {
  private values = new Float32Array(1024);
  private used = 0;
  private pathStart = 0;

  /** The number of values so far: where the next path starts. */
  get length(): number {
    return this.used;
  }

  /** Start a new path; return where it starts. */
  begin(): number {
    this.pathStart = this.used;
    return this.used;
  }

  /** Add a point to the path; points on a vertical line are joined. */
  add(x: number, y: number): void {
    const { values, used } = this;
    const points = used - this.pathStart;
    const sameX = points > 0 && Math.abs((values[used - 2] ?? 0) - x) < SAME;
    const level = Math.abs((values[used - 1] ?? 0) - y) < SAME;
    if (sameX && level) return;
    const wasVertical =
      points > 2 && Math.abs((values[used - 4] ?? 0) - (values[used - 2] ?? 0)) < SAME;
    if (sameX && wasVertical && y > (values[used - 1] ?? 0)) {
      values[used - 1] = y;
      return;
    }
    this.push(x, y);
  }

  /** Add a point as it is. */
  push(x: number, y: number): void {
    if (this.used + 2 > this.values.length) {
      const grown = new Float32Array(this.values.length * 2);
      grown.set(this.values);
      this.values = grown;
    }
    this.values[this.used++] = x;
    this.values[this.used++] = y;
  }

  /** Move the y of the point that ends at an index further down. */
  lower(index: number, y: number): void {
    this.values[index] = y;
  }

  at(index: number): number {
    return this.values[index] ?? 0;
  }

  toArray(): Float32Array {
    return this.values.slice(0, this.used);
  }
}
