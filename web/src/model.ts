// The model: its parts, where they are now, and the meshes that show them at the quality that is wanted.
import * as THREE from 'three';
import { bake, Shared, type Light, type Wish } from './batch';
import { boxOf, extent, pick, readPart, type Hit, type Part } from './parts';
import type { Scene } from './wire';

export type { Hit };

const MOVED = 1.6; // a camera that comes so much closer, or goes so much farther, asks for other detail

export class ModelView {
  readonly root = new THREE.Group();
  poses: Float32Array;
  triangles = 0;
  private readonly parts: Part[];
  private readonly boxes: THREE.Box3[];
  private readonly shared: Shared;
  private wish: Wish | null = null;
  private baked = { distance: 0, scale: 0 };
  private shapes: 'looks' | 'touches' | 'both' = 'looks';
  private readonly hidden = new Set<number>(); // groups
  private readonly asked = new Set<number>(); // groups of which all shapes are shown
  private placed = false; // its bodies are where a frame says

  // changed: something is to be drawn anew.
  constructor(
    private readonly scene: Scene,
    changed: () => void,
  ) {
    this.parts = [...scene.instances.map((row) => readPart(row, true)), ...(scene.contacts ?? []).map((row) => readPart(row, false))];
    this.boxes = this.parts.map((part) => extent(part, scene));
    this.parts.forEach((part, i) => {
      if (part.form === 'mesh') part.box = boxOf(part, this.boxes[i]!);
    });
    this.poses = new Float32Array(7 * scene.drawn);
    for (let i = 0; i < scene.drawn; i++) this.poses[7 * i + 3] = 1;
    this.shared = new Shared(scene.drawn, scene.textures ?? [], changed);
    this.shared.setPoses(this.poses);
  }

  update(poses: Float32Array): void {
    this.poses = poses;
    this.placed = true;
    this.shared.setPoses(poses);
  }

  setLight(light: Light): void {
    this.shared.setLight(light);
  }

  select(body: number): void {
    this.shared.uniforms['selected']!.value = body;
  }

  // Which shapes are drawn: those that one looks at, or those that touch others.
  setShapes(shapes: 'looks' | 'touches' | 'both'): void {
    this.shapes = shapes;
    this.wish = null;
  }

  // The groups that there are, and whether something of each is shown.
  groups(): Map<number, boolean> {
    const seen = new Set(this.seen.map((part) => part.group));
    return new Map([...new Set(this.parts.map((part) => part.group))].sort((a, b) => a - b).map((group) => [group, seen.has(group)]));
  }

  // Shows a group, all of it where nothing of it was shown, or hides it.
  setGroup(group: number, show: boolean): void {
    this.asked.delete(group);
    this.hidden.delete(group);
    if (!show) this.hidden.add(group);
    else if (this.groups().get(group) === false) this.asked.add(group);
    this.wish = null;
  }

  private get seen(): Part[] {
    const chosen = (part: Part): boolean => (this.shapes === 'looks' ? part.looks : this.shapes === 'touches' ? part.touches : part.looks || part.touches);
    return this.parts.filter((part) => !this.hidden.has(part.group) && (this.asked.has(part.group) || chosen(part)));
  }

  // Makes the meshes anew where quality or distance ask for it; `height` pixels show the camera's whole angle.
  refine(wish: Wish, camera: THREE.PerspectiveCamera, target: THREE.Vector3, height: number): void {
    if (!this.placed) return;
    const distance = camera.position.distanceTo(target);
    const scale = height / (2 * Math.tan((camera.fov * Math.PI) / 360));
    this.shared.uniforms['pixel']!.value = 0.55 / scale;
    const ratio = (scale / distance) * (this.baked.distance / this.baked.scale);
    if (wish === this.wish && ratio < MOVED && ratio > 1 / MOVED) return;
    this.wish = wish;
    this.baked = { distance, scale };
    this.clear();
    const center = new THREE.Vector3();
    const pixels = (part: Part): number => {
      if (part.body < 0) center.copy(part.position);
      else center.fromArray(this.poses, 7 * part.body);
      return scale / Math.max(camera.position.distanceTo(center), 0.2 * distance);
    };
    const { meshes, triangles } = bake(this.seen, this.scene, this.shared, pixels, wish);
    this.triangles = triangles;
    for (const mesh of meshes) this.root.add(mesh);
  }

  // `near`: how far off, as a share of the distance, still counts.
  pick(ray: THREE.Raycaster, near: number): Hit | null {
    const seen = new Set(this.seen);
    const shown = this.parts.map((part, i) => ({ part, box: this.boxes[i]! })).filter(({ part }) => seen.has(part));
    return pick(shown.map(({ part }) => part), shown.map(({ box }) => box), this.scene, (body) => this.matrixOf(body), ray.ray, near);
  }

  // Place of a body's frame.
  matrixOf(body: number): THREE.Matrix4 {
    const p = this.poses.subarray(7 * body, 7 * body + 7);
    return new THREE.Matrix4().compose(new THREE.Vector3(p[0], p[1], p[2]), new THREE.Quaternion(p[4], p[5], p[6], p[3]), new THREE.Vector3(1, 1, 1));
  }

  get bodies(): number {
    return this.scene.drawn;
  }

  origin(body: number): THREE.Vector3 {
    return new THREE.Vector3().fromArray(this.poses, 7 * body);
  }

  // Around the bodies' origins.
  origins(): THREE.Box3 {
    const box = new THREE.Box3();
    const point = new THREE.Vector3();
    for (let i = 0; i < this.poses.length; i += 7) box.expandByPoint(point.fromArray(this.poses, i));
    return box;
  }

  // Around everything that moves, as it is now.
  box(): THREE.Box3 {
    const box = new THREE.Box3();
    const around = new THREE.Box3();
    const own = new THREE.Matrix4();
    const unit = new THREE.Vector3(1, 1, 1);
    this.parts.forEach((part, i) => {
      if (part.body < 0 || !part.looks) return;
      own.compose(part.position, part.turn, unit).premultiply(this.matrixOf(part.body));
      box.union(around.copy(this.boxes[i]!).applyMatrix4(own));
    });
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    return box;
  }

  private clear(): void {
    for (const child of [...this.root.children] as THREE.Mesh[]) {
      this.root.remove(child);
      child.geometry.dispose();
      (child.material as THREE.Material).dispose();
      child.customDepthMaterial?.dispose();
    }
  }

  dispose(): void {
    this.clear();
    this.shared.poses.dispose();
  }
}
