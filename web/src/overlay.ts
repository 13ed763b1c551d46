// What is drawn over the model where somebody asks for it: frames, centres of mass, contacts, joint limits.
import * as THREE from 'three';
import type { ModelView } from './model';
import type { Scene } from './wire';

export interface Shown {
  frames: boolean;
  centers: boolean;
  contacts: boolean;
  limits: boolean;
}

const MOST = 4000; // bodies
const ARC = 24; // pieces of a limit's arc

function lines(count: number, color: number | null): THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial> {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(6 * count), 3).setUsage(THREE.DynamicDrawUsage));
  const material = new THREE.LineBasicMaterial({ depthTest: false, transparent: true, toneMapped: false, ...(color === null ? { vertexColors: true } : { color }) });
  const mesh = new THREE.LineSegments(geometry, material);
  mesh.frustumCulled = false;
  mesh.renderOrder = 8;
  mesh.visible = false;
  return mesh;
}

function points(count: number, color: number): THREE.Points<THREE.BufferGeometry, THREE.PointsMaterial> {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(3 * count), 3).setUsage(THREE.DynamicDrawUsage));
  const mesh = new THREE.Points(geometry, new THREE.PointsMaterial({ color, size: 7, sizeAttenuation: false, depthTest: false, transparent: true, toneMapped: false }));
  mesh.frustumCulled = false;
  mesh.renderOrder = 9;
  mesh.visible = false;
  return mesh;
}

export class Overlay {
  readonly root = new THREE.Group();
  readonly shown: Shown = { frames: false, centers: false, contacts: false, limits: false };
  private readonly bodies: number;
  private readonly axes;
  private readonly centers;
  private readonly contacts = points(512, 0xffc53d);
  private readonly forces = lines(512, 0xff6b3d);
  private readonly arcs;
  private readonly joints: { body: number; q: number; axis: THREE.Vector3; anchor: THREE.Vector3; range: [number, number] }[] = [];
  private readonly force: number; // m per N

  constructor(
    private readonly scene: Scene,
    private readonly size: number,
  ) {
    this.bodies = Math.min(scene.drawn, MOST);
    this.axes = lines(3 * this.bodies, null);
    const colors = new Float32Array(18 * this.bodies);
    for (let i = 0; i < 6 * this.bodies; i++) colors[3 * i + (Math.floor(i / 2) % 3)] = 1;
    this.axes.geometry.setAttribute('color', new THREE.BufferAttribute(colors, 3));
    this.centers = points(this.bodies, 0x39b8ff);
    const weight = (scene.mass ?? 0) * Math.hypot(...(scene.gravity ?? [9.81]));
    // The weight of all of it is a quarter of its size long.
    this.force = (0.25 * size) / (weight || 100);
    scene.described?.forEach((row, body) => {
      for (const joint of row.slice(6) as unknown as [string, string, number, number, number, ...number[]][]) {
        const [kind, , , q, , ax, ay, az, px, py, pz, low, high] = joint as unknown as [string, string, number, number, number, ...number[]];
        if (kind !== 'revolute' || low === undefined || high === undefined || this.joints.length >= 400) continue;
        this.joints.push({ body, q, axis: new THREE.Vector3(ax, ay, az).normalize(), anchor: new THREE.Vector3(px, py, pz), range: [low, high] });
      }
    });
    this.arcs = lines((ARC + 3) * Math.max(this.joints.length, 1), 0x30c48d);
    this.root.add(this.axes, this.centers, this.contacts, this.forces, this.arcs);
  }

  get limited(): boolean {
    return this.joints.length > 0;
  }

  // Puts everything that is shown where it belongs.
  update(model: ModelView, contacts: Float32Array | null, q: Float32Array | null): void {
    this.axes.visible = this.shown.frames;
    this.centers.visible = this.shown.centers && this.scene.described !== undefined;
    this.contacts.visible = this.forces.visible = this.shown.contacts && contacts !== null;
    this.arcs.visible = this.shown.limits && q !== null && q.length > 0;
    if (this.axes.visible) this.putAxes(model);
    if (this.centers.visible) this.putCenters(model);
    if (this.contacts.visible) this.putContacts(contacts!);
    if (this.arcs.visible) this.putLimits(model, q!);
  }

  private putAxes(model: ModelView): void {
    const at = this.axes.geometry.getAttribute('position') as THREE.BufferAttribute;
    const length = (0.5 * this.size) / Math.cbrt(this.bodies + 3) / 3;
    const axis = new THREE.Vector3();
    for (let i = 0; i < this.bodies; i++) {
      const matrix = model.matrixOf(i);
      const origin = new THREE.Vector3().setFromMatrixPosition(matrix);
      for (let k = 0; k < 3; k++) {
        axis.setFromMatrixColumn(matrix, k).multiplyScalar(length).add(origin);
        at.setXYZ(6 * i + 2 * k, origin.x, origin.y, origin.z);
        at.setXYZ(6 * i + 2 * k + 1, axis.x, axis.y, axis.z);
      }
    }
    at.needsUpdate = true;
  }

  private putCenters(model: ModelView): void {
    const at = this.centers.geometry.getAttribute('position') as THREE.BufferAttribute;
    const point = new THREE.Vector3();
    for (let i = 0; i < this.bodies; i++) {
      const row = this.scene.described![i]!;
      point.set(row[3], row[4], row[5]).applyMatrix4(model.matrixOf(i));
      at.setXYZ(i, point.x, point.y, point.z);
    }
    at.needsUpdate = true;
  }

  private putContacts(contacts: Float32Array): void {
    const at = this.contacts.geometry.getAttribute('position') as THREE.BufferAttribute;
    const ends = this.forces.geometry.getAttribute('position') as THREE.BufferAttribute;
    const count = Math.min(contacts.length / 6, 512);
    for (let i = 0; i < count; i++) {
      const [x, y, z, fx, fy, fz] = contacts.subarray(6 * i, 6 * i + 6) as unknown as number[];
      at.setXYZ(i, x!, y!, z!);
      ends.setXYZ(2 * i, x!, y!, z!);
      ends.setXYZ(2 * i + 1, x! + this.force * fx!, y! + this.force * fy!, z! + this.force * fz!);
    }
    this.contacts.geometry.setDrawRange(0, count);
    this.forces.geometry.setDrawRange(0, 2 * count);
    at.needsUpdate = ends.needsUpdate = true;
  }

  // Arcs in the body's frame: where the body is now is angle 0, its stops are at range − q.
  private putLimits(model: ModelView, q: Float32Array): void {
    const at = this.arcs.geometry.getAttribute('position') as THREE.BufferAttribute;
    const radius = (0.5 * this.size) / Math.cbrt(this.bodies + 3) / 2;
    let vertex = 0;
    for (const joint of this.joints) {
      const matrix = model.matrixOf(joint.body);
      const across = new THREE.Vector3(1, 0, 0);
      if (Math.abs(joint.axis.x) > 0.9) across.set(0, 1, 0);
      across.addScaledVector(joint.axis, -across.dot(joint.axis)).normalize().multiplyScalar(radius);
      const place = (angle: number, share: number): THREE.Vector3 => across.clone().multiplyScalar(share).applyAxisAngle(joint.axis, angle).add(joint.anchor).applyMatrix4(matrix);
      const put = (from: THREE.Vector3, to: THREE.Vector3): void => {
        at.setXYZ(vertex++, from.x, from.y, from.z);
        at.setXYZ(vertex++, to.x, to.y, to.z);
      };
      const now = q[joint.q] ?? 0;
      const [low, high] = [joint.range[0] - now, joint.range[1] - now];
      const center = place(0, 0);
      for (let i = 0; i < ARC; i++) put(place(low + ((high - low) * i) / ARC, 1), place(low + ((high - low) * (i + 1)) / ARC, 1));
      put(center, place(low, 1));
      put(center, place(high, 1));
      put(center, place(0, 0.8)); // where it is
    }
    this.arcs.geometry.setDrawRange(0, vertex);
    at.needsUpdate = true;
  }

  dispose(): void {
    for (const child of this.root.children as THREE.LineSegments[]) {
      child.geometry.dispose();
      (child.material as THREE.Material).dispose();
    }
  }
}
