// What was seen: frames of the last minute for live views, all of them for recordings, within a bound on memory.
import { interpolate, type Frame } from './wire';

const BYTES = 128e6;

export class History {
  readonly frames: Frame[] = [];
  private spacing: number; // s of simulated time between frames that are kept

  constructor(
    drawn: number,
    private readonly span: number, // s
  ) {
    this.spacing = Number.isFinite(span) ? Math.max(1 / 61, (span * 28 * drawn) / BYTES) : 0;
  }

  clear(): void {
    this.frames.length = 0;
  }

  // Keeps a frame unless it is too close to the last one.
  add(frame: Frame): void {
    const last = this.frames[this.frames.length - 1];
    if (last && (frame.epoch !== last.epoch || frame.time < last.time)) this.clear();
    else if (last && frame.time - last.time < this.spacing * Math.min(1, frame.speed)) return;
    this.frames.push(frame);
    let old = 0;
    while (this.frames[old]!.time < frame.time - this.span * Math.max(1, frame.speed)) old++;
    if (old > 0) this.frames.splice(0, old);
  }

  get first(): number {
    return this.frames[0]?.time ?? 0;
  }

  get last(): number {
    return this.frames[this.frames.length - 1]?.time ?? 0;
  }

  // The last frame at or before a time.
  indexAt(time: number): number {
    let low = 0;
    let high = this.frames.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.frames[middle]!.time <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Poses at a time, between frames; returns the frame before it.
  sample(time: number, out: Float32Array): Frame | null {
    const index = this.indexAt(time);
    const before = this.frames[index];
    if (!before) return null;
    const after = this.frames[index + 1];
    if (!after || time <= before.time) out.set(before.poses);
    else interpolate(before.poses, after.poses, (time - before.time) / (after.time - before.time), out);
    return before;
  }
}
