// The model as instanced meshes: one draw call for all spheres, one for all boxes, …, whatever their number.
import * as THREE from 'three';
import type { Instance, Scene } from './wire';

// A unit shape, and how big it is for an instance's size.
type Part = { key: string; body: number; local: THREE.Matrix4; color: THREE.Color; opacity: number };

class Group {
  readonly mesh: THREE.InstancedMesh;
  readonly bodies: Int32Array;
  private readonly locals: Float32Array; // 12 a part: rows of a 3 × 4 matrix
  private readonly colors: THREE.Color[];

  constructor(geometry: THREE.BufferGeometry, material: THREE.Material, parts: Part[]) {
    this.mesh = new THREE.InstancedMesh(geometry, material, parts.length);
    this.mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    this.mesh.frustumCulled = false;
    this.mesh.castShadow = parts[0]!.opacity === 1;
    this.mesh.receiveShadow = true;
    // Instances move: what the ray test would remember of their extent is wrong a frame later.
    this.mesh.boundingSphere = new THREE.Sphere(new THREE.Vector3(), Infinity);
    this.bodies = Int32Array.from(parts, (part) => part.body);
    this.colors = parts.map((part) => part.color);
    this.locals = new Float32Array(12 * parts.length);
    parts.forEach((part, i) => {
      const e = part.local.elements;
      for (let row = 0; row < 3; row++) for (let column = 0; column < 4; column++) this.locals[12 * i + 4 * row + column] = e[4 * column + row]!;
      this.mesh.setColorAt(i, part.color);
    });
  }

  // Body's pose times the part's own place, for all instances.
  update(poses: Float32Array): void {
    const out = this.mesh.instanceMatrix.array as Float32Array;
    const l = this.locals;
    for (let i = 0; i < this.bodies.length; i++) {
      const body = this.bodies[i]!;
      const at = 12 * i;
      const to = 16 * i;
      let r00 = 1, r01 = 0, r02 = 0, r10 = 0, r11 = 1, r12 = 0, r20 = 0, r21 = 0, r22 = 1, px = 0, py = 0, pz = 0;
      if (body >= 0) {
        const p = 7 * body;
        px = poses[p]!;
        py = poses[p + 1]!;
        pz = poses[p + 2]!;
        const w = poses[p + 3]!, x = poses[p + 4]!, y = poses[p + 5]!, z = poses[p + 6]!;
        r00 = 1 - 2 * (y * y + z * z);
        r01 = 2 * (x * y - w * z);
        r02 = 2 * (x * z + w * y);
        r10 = 2 * (x * y + w * z);
        r11 = 1 - 2 * (x * x + z * z);
        r12 = 2 * (y * z - w * x);
        r20 = 2 * (x * z - w * y);
        r21 = 2 * (y * z + w * x);
        r22 = 1 - 2 * (x * x + y * y);
      }
      for (let column = 0; column < 4; column++) {
        const a = l[at + column]!, b = l[at + 4 + column]!, c = l[at + 8 + column]!;
        out[to + 4 * column] = r00 * a + r01 * b + r02 * c;
        out[to + 4 * column + 1] = r10 * a + r11 * b + r12 * c;
        out[to + 4 * column + 2] = r20 * a + r21 * b + r22 * c;
      }
      out[to + 12]! += px;
      out[to + 13]! += py;
      out[to + 14]! += pz;
      out[to + 15] = 1;
    }
    this.mesh.instanceMatrix.needsUpdate = true;
  }

  paint(body: number, glow: THREE.Color | null): void {
    for (let i = 0; i < this.bodies.length; i++) {
      if (this.bodies[i] !== body) continue;
      const color = this.colors[i]!.clone();
      if (glow) color.lerp(glow, 0.65);
      this.mesh.setColorAt(i, color);
    }
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
  }
}

export interface Hit {
  body: number;
  point: THREE.Vector3; // in the world
}

// Unit shapes, with so many corners around them: where there are thousands of them, each is small.
function unit(shape: string, count: number): THREE.BufferGeometry {
  const around = count > 6000 ? 6 : count > 1500 ? 8 : count > 300 ? 14 : 28;
  switch (shape) {
    case 'sphere':
      return new THREE.SphereGeometry(1, around, Math.max(around / 2, 4));
    case 'cylinder':
      // Three's cylinders stand on y, ours on z.
      return new THREE.CylinderGeometry(1, 1, 2, around).rotateX(Math.PI / 2);
    case 'box':
      return new THREE.BoxGeometry(2, 2, 2);
    default:
      return new THREE.PlaneGeometry(2, 2);
  }
}

export class ModelView {
  readonly root = new THREE.Group();
  poses: Float32Array;
  private readonly groups: Group[] = [];
  private selected = -1;

  constructor(private readonly scene: Scene, private readonly flat: boolean) {
    this.poses = new Float32Array(7 * scene.drawn);
    for (let i = 0; i < scene.drawn; i++) this.poses[7 * i + 3] = 1;
    const byKey = new Map<string, Part[]>();
    for (const instance of scene.instances)
      for (const part of split(instance)) {
        const list = byKey.get(part.key);
        if (list) list.push(part);
        else byKey.set(part.key, [part]);
      }
    for (const [key, parts] of byKey) {
      const geometry = this.geometry(key.split('/')[0]!, parts.length);
      if (!geometry) continue;
      const clear = parts[0]!.opacity < 1;
      const look = { transparent: clear, opacity: parts[0]!.opacity, depthWrite: !clear, side: key.startsWith('plane') || key.startsWith('mesh') ? THREE.DoubleSide : THREE.FrontSide };
      const material = flat ? new THREE.MeshLambertMaterial(look) : new THREE.MeshStandardMaterial({ ...look, roughness: 0.62, metalness: 0.02 });
      const group = new Group(geometry, material, parts);
      this.groups.push(group);
      this.root.add(group.mesh);
    }
  }

  private geometry(key: string, count: number): THREE.BufferGeometry | null {
    if (!key.startsWith('mesh')) return unit(key, this.flat ? 4 * count : count);
    const mesh = this.scene.meshes[Number(key.slice(4))];
    if (!mesh) return null;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(mesh.vertices, 3));
    geometry.setIndex(mesh.triangles);
    // A corner's own normal for each face: meshes of machines have edges.
    const faceted = geometry.toNonIndexed();
    faceted.computeVertexNormals();
    return faceted;
  }

  update(poses: Float32Array): void {
    this.poses = poses;
    for (const group of this.groups) group.update(poses);
  }

  select(body: number): void {
    const glow = new THREE.Color(0x39b8ff);
    for (const group of this.groups) {
      if (this.selected >= 0) group.paint(this.selected, null);
      if (body >= 0) group.paint(body, glow);
    }
    this.selected = body;
  }

  pick(ray: THREE.Raycaster): Hit | null {
    const hits = ray.intersectObjects(this.groups.map((group) => group.mesh), false);
    for (const hit of hits) {
      const group = this.groups.find((candidate) => candidate.mesh === hit.object)!;
      const body = group.bodies[hit.instanceId!]!;
      if (body >= 0) return { body, point: hit.point };
    }
    return null;
  }

  // Place of a body's frame.
  matrixOf(body: number): THREE.Matrix4 {
    const p = this.poses.subarray(7 * body, 7 * body + 7);
    return new THREE.Matrix4().compose(new THREE.Vector3(p[0], p[1], p[2]), new THREE.Quaternion(p[4], p[5], p[6], p[3]), new THREE.Vector3(1, 1, 1));
  }

  // Around everything that moves, as it is now.
  box(): THREE.Box3 {
    const box = new THREE.Box3();
    const matrix = new THREE.Matrix4();
    const part = new THREE.Box3();
    for (const group of this.groups) {
      const geometry = group.mesh.geometry;
      if (!geometry.boundingBox) geometry.computeBoundingBox();
      for (let i = 0; i < group.bodies.length; i++) {
        if (group.bodies[i]! < 0) continue;
        group.mesh.getMatrixAt(i, matrix);
        box.union(part.copy(geometry.boundingBox!).applyMatrix4(matrix));
      }
    }
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    return box;
  }

  dispose(): void {
    for (const group of this.groups) {
      group.mesh.geometry.dispose();
      (group.mesh.material as THREE.Material).dispose();
      group.mesh.dispose();
    }
  }
}

// The unit shapes that an instance is made of: a capsule is a cylinder and two spheres.
function split(instance: Instance): Part[] {
  const [body, kind, mesh, px, py, pz, qw, qx, qy, qz, sx, sy, sz, red, green, blue, opacity] = instance as unknown as [number, string, number, ...number[]];
  const color = new THREE.Color().setRGB(red!, green!, blue!, THREE.SRGBColorSpace);
  const place = new THREE.Matrix4().compose(new THREE.Vector3(px, py, pz), new THREE.Quaternion(qx, qy, qz, qw), new THREE.Vector3(1, 1, 1));
  const part = (shape: string, x: number, y: number, z: number, offset = 0): Part => ({
    key: opacity! < 1 ? `${shape}/${opacity}` : shape,
    body,
    color,
    opacity: opacity!,
    local: place.clone().multiply(new THREE.Matrix4().makeTranslation(0, 0, offset)).multiply(new THREE.Matrix4().makeScale(x, y, z)),
  });
  switch (kind) {
    case 'sphere':
      return [part('sphere', sx!, sx!, sx!)];
    case 'ellipsoid':
      return [part('sphere', sx!, sy!, sz!)];
    case 'capsule':
      return [part('cylinder', sx!, sx!, sy!), part('sphere', sx!, sx!, sx!, sy!), part('sphere', sx!, sx!, sx!, -sy!)];
    case 'cylinder':
      return [part('cylinder', sx!, sx!, sy!)];
    case 'box':
      return [part('box', sx!, sy!, sz!)];
    case 'plane':
      return [part('plane', sx! || 100, sy! || 100, 1)];
    default:
      return [part(`mesh${mesh}`, 1, 1, 1)];
  }
}
