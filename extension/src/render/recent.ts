// What was worked out lately: a cache for texts that go on changing while a view is live.

/** Remembers what is asked for, and forgets what was not for a while. */
export class Recent<Value> {
  private fresh = new Map<string, Value>();
  private stale = new Map<string, Value>();
  private added = 0;

  /** `room`: new entries after which those that nobody asked for meanwhile may go. */
  constructor(private readonly room: number) {}

  /** How many values are remembered. */
  get size(): number {
    return this.fresh.size + this.stale.size;
  }

  /** The value of a key, worked out where it is not known. */
  of(key: string, find: () => Value): Value {
    const known = this.fresh.get(key);
    if (known !== undefined) return known;
    const before = this.stale.get(key);
    const value = before ?? find();
    this.fresh.set(key, value);
    if (before !== undefined) this.stale.delete(key);
    // After the frame: however much it shows, the next one finds all of it.
    else if (++this.added === this.room) queueMicrotask(() => this.rotate());
    return value;
  }

  private rotate(): void {
    this.stale = this.fresh;
    this.fresh = new Map();
    this.added = 0;
  }
}
