// Keeps a model in the picture: one that floats freely is followed. What swings or stretches out of what was seen at the start lets the
// camera go back a little. It stops going back when somebody takes the camera, or a body.
import * as THREE from 'three';
import type { ModelView } from './model';
import type { Stage } from './stage';

const LEASH = 0.15; // of its size, how far a floating model goes before the camera goes with it
const LOOK = 400; // ms between looks at how far a fixed one reaches
const EASE = 0.12; // share of the way back that the camera goes in a frame
const MANY = 3000; // bodies: as many as are looked at by their origins only

export class Follow {
  private readonly start = new THREE.Vector3();
  private readonly followed = new THREE.Vector3();
  private readonly box = new THREE.Box3();
  private floating = -1; // body
  private own = -1; // that takes the model with it
  private size = 0;
  private looked = 0;
  taken = false; // by somebody else

  constructor(private readonly stage: Stage) {
    stage.controls.addEventListener('start', () => this.leave());
  }

  // Somebody else says where the camera is.
  leave(): void {
    this.taken = true;
  }

  // Another model, which was framed in this box.
  begin(model: ModelView, box: THREE.Box3, floating: number): void {
    this.floating = this.own = floating;
    this.size = box.getSize(new THREE.Vector3()).length();
    this.box.copy(box);
    if (floating >= 0) this.start.copy(model.origin(floating));
    this.followed.set(0, 0, 0);
    this.taken = false;
  }

  // Goes with a body from now on; −1: with the one that takes the model with it, where there is one.
  chase(model: ModelView, body: number): void {
    this.floating = body >= 0 ? body : this.own;
    if (this.floating < 0) return;
    this.start.copy(model.origin(this.floating));
    this.followed.set(0, 0, 0);
  }

  update(model: ModelView, now: number, running: boolean): void {
    if (this.size === 0) return;
    if (this.floating >= 0) this.follow(model);
    if (!this.taken && running) this.goBack(model, now);
  }

  private follow(model: ModelView): void {
    const away = model.origin(this.floating).sub(this.start);
    const distance = away.length();
    if (!Number.isFinite(distance)) return;
    away.multiplyScalar(Math.max(0, 1 - (LEASH * this.size) / Math.max(distance, 1e-30)));
    const step = away.clone().sub(this.followed);
    if (step.lengthSq() === 0) return;
    this.followed.copy(away);
    this.stage.shift(step);
  }

  private goBack(model: ModelView, now: number): void {
    if (now - this.looked > LOOK) {
      this.looked = now;
      const reach = model.bodies > MANY ? model.origins() : model.box();
      const largest = reach.getSize(new THREE.Vector3()).length();
      // What flies apart is not run after.
      if (!Number.isFinite(largest) || largest >= 4 * this.size) return;
      // What floats is looked at where it is now; what hangs swings back to where it was.
      if (this.floating >= 0) this.box.copy(reach);
      else this.box.union(reach);
    }
    this.stage.widen(this.box, EASE);
  }
}
