// Where a live view is between the frames that came: a little behind the newest, so that what is drawn moves evenly however
// unevenly frames come, and as often as the screen asks for it. Numbers that are shown stay those that came.
//
//     frames         |    |   |       |   |    |          now
//     shown                               ▴ LAG intervals behind
import { interpolate, type Frame } from './wire';

const KEPT = 12; // frames
const LAG = 1.5; // intervals between frames
const LOST = 0.3; // s behind or ahead of where it should be, after which it jumps there
const PULL = 0.08; // share of the error that a tick takes back

export class Playhead {
  time = 0; // s, simulated
  private frames: { frame: Frame; arrived: number }[] = [];
  private ticked = 0;

  clear(): void {
    this.frames = [];
  }

  add(frame: Frame, now: number): void {
    const last = this.frames[this.frames.length - 1]?.frame;
    if (last && (last.epoch !== frame.epoch || frame.time < last.time || !frame.running || !last.running || frame.speed !== last.speed)) this.clear();
    // Two that came at once would say nothing about the rate.
    this.frames.push({ frame, arrived: now });
    if (this.frames.length === 1) this.time = frame.time;
    if (this.frames.length > KEPT) this.frames.shift();
  }

  // Poses for this moment into `out`; returns the newest frame that they are made of, or null where there is none.
  sample(now: number, out: Float32Array): Frame | null {
    const first = this.frames[0];
    const last = this.frames[this.frames.length - 1];
    if (!first || !last) return null;
    const passed = (now - this.ticked) / 1000;
    this.ticked = now;
    const came = (last.arrived - first.arrived) / 1000;
    if (!last.frame.running || came <= 0) {
      this.time = last.frame.time;
      out.set(last.frame.poses);
      return last.frame;
    }
    const rate = (last.frame.time - first.frame.time) / came;
    const interval = came / (this.frames.length - 1);
    const wanted = last.frame.time + rate * ((now - last.arrived) / 1000 - LAG * interval);
    let next = this.time + rate * passed;
    next = Math.abs(wanted - next) > LOST * rate ? wanted : next + PULL * (wanted - next);
    this.time = Math.min(Math.max(next, this.time, first.frame.time), last.frame.time);
    let after = 1;
    while (after < this.frames.length - 1 && this.frames[after]!.frame.time < this.time) after++;
    const [a, b] = [this.frames[after - 1]!.frame, this.frames[after]!.frame];
    const share = b.time > a.time ? Math.min(Math.max((this.time - a.time) / (b.time - a.time), 0), 1) : 1;
    interpolate(a.poses, b.poses, share, out);
    return b;
  }
}
