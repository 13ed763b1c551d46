// A quality that gives way before the frame rate does, and comes back.
//
// Once a second the page knows how many frames the browser asked it for. Too few two seconds long: one level down. Enough for
// a while: one level up, to see whether that holds; when it does not, the next try waits twice as long. Where less quality
// brought no more frames, it was not ours to gain (a saving battery, a screen of 50 Hz), and it is left alone for a minute, the next time
// for two, and so on.

export interface Level {
  name: string;
  ratio: number; // screen's pixels to ours, at most
  shadows: boolean;
  smooth: boolean; // light at every pixel, not only at corners
  detail: number; // of what is small on the screen
  round: number; // how round round things are
  triangles: number; // of the model, about
}

// From fine to fast.
export const levels: Level[] = [
  { name: 'finest', ratio: 2, shadows: true, smooth: true, detail: 3, round: 2, triangles: 4e6 },
  { name: 'fine', ratio: 1.5, shadows: true, smooth: true, detail: 2, round: 1.6, triangles: 1e6 },
  { name: 'plain', ratio: 1.25, shadows: false, smooth: true, detail: 1.5, round: 1.4, triangles: 3e5 },
  { name: 'light', ratio: 1, shadows: false, smooth: false, detail: 1, round: 1.2, triangles: 6e4 },
  { name: 'fast', ratio: 0.8, shadows: false, smooth: false, detail: 0.5, round: 0.8, triangles: 1.2e4 },
  { name: 'fastest', ratio: 0.5, shadows: false, smooth: false, detail: 0.3, round: 0.6, triangles: 5e3 },
];

// Of the sixty frames per second that are wanted, clocks that disagree a little cost one or two.
const ENOUGH = 58;
const FEW = 56;
const POOR = 25;
const PATIENCE = 8; // s
const LONG = 60; // s

export class Quality {
  index: number;
  fixed = false;
  private slow = 0;
  private good = 0;
  private patience = PATIENCE; // s of enough frames before a better level is tried
  private trial = 0; // s left of one
  private before: { fps: number; index: number } | null = null; // the last step down
  private leave = 2; // s in which nothing is changed: what is new is slow at first
  private alone = LONG; // s in which nothing is changed where less quality did not help

  constructor(first: string) {
    this.index = levels.findIndex((level) => level.name === first);
  }

  get level(): Level {
    return levels[this.index]!;
  }

  // Chooses by hand; null: by itself.
  fix(name: string | null): void {
    const index = levels.findIndex((level) => level.name === name);
    this.fixed = index >= 0;
    if (this.fixed) this.index = index;
    this.slow = this.good = this.trial = 0;
    this.leave = 2;
    this.patience = PATIENCE;
    this.alone = LONG;
    this.before = null;
  }

  // A second has passed with so many frames; returns whether the level changed.
  tell(fps: number): boolean {
    if (this.fixed) return false;
    const before = this.index;
    this.consider(fps);
    if (this.index === before) return false;
    this.leave = Math.max(this.leave, 1);
    return true;
  }

  private consider(fps: number): void {
    // A better level that held is believed, and the next one is tried as soon as ever.
    if (this.trial > 0 && --this.trial === 0) this.patience = PATIENCE;
    if (this.leave > 0) {
      this.leave--;
      return;
    }
    this.slow = fps < POOR ? this.slow + 2 : fps < FEW ? this.slow + 1 : 0;
    this.good = fps >= ENOUGH ? this.good + 1 : 0;
    if (this.slow >= 2) this.lower(fps);
    else if (this.good >= this.patience && this.index > 0) this.raise();
  }

  private lower(fps: number): void {
    this.slow = this.good = 0;
    if (this.trial > 0) this.patience = Math.min(2 * this.patience, 240);
    this.trial = 0;
    if (this.before && this.before.index === this.index - 2 && fps < 1.15 * this.before.fps && fps > POOR) {
      this.index = this.before.index;
      this.before = null;
      this.leave = this.alone;
      this.alone *= 2;
      return;
    }
    if (this.index === levels.length - 1) return;
    if (!this.before || this.before.index < this.index - 2 || this.before.index >= this.index) this.before = { fps, index: this.index };
    this.index++;
  }

  private raise(): void {
    this.good = 0;
    this.index--;
    this.trial = 6;
    this.before = null;
  }
}
