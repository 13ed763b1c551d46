// The mouse and fingers on the model: a click selects, Ctrl and drag (or press and hold, or the hand button) pulls.
import * as THREE from 'three';
import type { ModelView } from './model';
import type { Stage } from './stage';
import type { Pull } from './wire';

export interface HandListener {
  select(body: number): void;
  allowed(): boolean; // whether a body can be pulled; says so where it cannot
  grab(body: number, point: number[]): void;
  drag(target: number[]): void;
  drop(): void;
}

const HOLD = 350; // ms until a finger that rests on a body takes hold of it
const STILL = 6; // pixels within which a press is a click

export class Hand {
  model: ModelView | null = null;
  enabled = false; // whether there is something that can be pulled
  plain = false; // whether a drag pulls without Ctrl
  private readonly ray = new THREE.Raycaster();
  private readonly plane = new THREE.Plane();
  private pressed: { x: number; y: number; id: number } | null = null;
  private timer = 0;
  private pulling = false;
  private readonly arrow = new Arrow();

  constructor(
    private readonly stage: Stage,
    private readonly listener: HandListener,
  ) {
    const canvas = stage.canvas;
    stage.scene.add(this.arrow.root);
    // Before the camera's controls hear of it.
    canvas.addEventListener('pointerdown', (event) => this.press(event), { capture: true });
    canvas.addEventListener('pointermove', (event) => this.move(event), { capture: true });
    for (const name of ['pointerup', 'pointercancel'] as const) canvas.addEventListener(name, (event) => this.release(event), { capture: true });
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  }

  get holds(): boolean {
    return this.pulling;
  }

  // Ends a pull that somebody else ended: a reset, a lost connection.
  letGo(): void {
    if (!this.pulling) return;
    this.pulling = false;
    this.stage.controls.enabled = true;
    this.stage.canvas.classList.remove('pulling');
  }

  draw(pull: Pull | null, size: number): void {
    this.arrow.show(pull, size);
  }

  // How far beside a body a press still means it: a few pixels, as a share of the distance.
  private get near(): number {
    return (8 * Math.tan((this.stage.camera.fov * Math.PI) / 360)) / this.stage.canvas.clientHeight;
  }

  private aim(event: PointerEvent): void {
    const box = this.stage.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * 2 - 1;
    const y = 1 - ((event.clientY - box.top) / box.height) * 2;
    this.ray.setFromCamera(new THREE.Vector2(x, y), this.stage.camera);
  }

  private press(event: PointerEvent): void {
    window.clearTimeout(this.timer);
    if (this.pressed && event.pointerId !== this.pressed.id) {
      // A second finger: that is for the camera.
      this.pressed = null;
      return;
    }
    if (event.button !== 0) return;
    this.pressed = { x: event.clientX, y: event.clientY, id: event.pointerId };
    if (!this.enabled) return;
    if (event.ctrlKey || event.metaKey || this.plain) {
      if (this.take(event)) event.stopImmediatePropagation();
    } else if (event.pointerType === 'touch') {
      this.timer = window.setTimeout(() => {
        if (this.pressed) this.take(event);
      }, HOLD);
    }
  }

  // Takes hold of what is under the pointer.
  private take(event: PointerEvent): boolean {
    this.aim(event);
    const hit = this.model?.pick(this.ray, this.near);
    if (!hit || !this.listener.allowed()) return false;
    const local = hit.point.clone().applyMatrix4(this.model!.matrixOf(hit.body).invert());
    // The target moves in the plane of the point that faces the camera.
    this.plane.setFromNormalAndCoplanarPoint(this.stage.camera.getWorldDirection(new THREE.Vector3()), hit.point);
    this.pulling = true;
    this.stage.controls.enabled = false;
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.canvas.classList.add('pulling');
    this.listener.select(hit.body);
    this.listener.grab(hit.body, local.toArray());
    this.listener.drag(hit.point.toArray());
    return true;
  }

  private move(event: PointerEvent): void {
    if (this.pressed && event.pointerId === this.pressed.id && !this.pulling) {
      if (Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y) > STILL) window.clearTimeout(this.timer);
    }
    if (!this.pulling || event.pointerId !== this.pressed?.id) return;
    event.stopImmediatePropagation();
    this.aim(event);
    const target = this.ray.ray.intersectPlane(this.plane, new THREE.Vector3());
    if (target) this.listener.drag(target.toArray());
  }

  private release(event: PointerEvent): void {
    window.clearTimeout(this.timer);
    const pressed = this.pressed;
    if (!pressed || event.pointerId !== pressed.id) return;
    this.pressed = null;
    if (this.pulling) {
      event.stopImmediatePropagation();
      this.letGo();
      this.listener.drop();
      return;
    }
    if (event.type === 'pointerup' && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) <= STILL) {
      this.aim(event);
      this.listener.select(this.model?.pick(this.ray, this.near)?.body ?? -1);
    }
  }
}

// The force as it is drawn: a rubber band from the body to the hand, thicker the harder it pulls, and an arrow of the force.
class Arrow {
  readonly root = new THREE.Group();
  private readonly material = new THREE.MeshBasicMaterial({ color: 0x39b8ff, depthTest: false, transparent: true, opacity: 0.9 });
  private readonly band = new THREE.Mesh(new THREE.CylinderGeometry(1, 1, 1, 10).translate(0, 0.5, 0), this.material);
  private readonly head = new THREE.Mesh(new THREE.ConeGeometry(1, 2.4, 14).translate(0, -1.2, 0), this.material);
  private readonly grip = new THREE.Mesh(new THREE.SphereGeometry(1, 14, 10), this.material);

  constructor() {
    for (const mesh of [this.band, this.head, this.grip]) {
      mesh.renderOrder = 10;
      mesh.frustumCulled = false;
      this.root.add(mesh);
    }
    this.root.visible = false;
  }

  show(pull: Pull | null, size: number): void {
    this.root.visible = pull !== null;
    if (!pull) return;
    const from = new THREE.Vector3(...pull.point);
    const to = new THREE.Vector3(...pull.target);
    const along = to.clone().sub(from);
    const length = Math.max(along.length(), 1e-6);
    const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.divideScalar(length));
    const thick = 0.004 * size;
    this.band.position.copy(from);
    this.band.quaternion.copy(turn);
    this.band.scale.set(thick, length, thick);
    this.head.position.copy(to);
    this.head.quaternion.copy(turn);
    this.head.scale.setScalar(Math.min(3 * thick, 0.3 * length));
    this.grip.position.copy(from);
    this.grip.scale.setScalar(2 * thick);
  }
}
