// What a model is made of: solids, each on a body. Rays against them, and the boxes around them.
import * as THREE from 'three';
import type { Instance, Scene } from './wire';

export type Form = 'ball' | 'capsule' | 'cylinder' | 'box' | 'plane' | 'mesh';

export interface Part {
  body: number; // or negative: of the ground
  form: Form;
  mesh: number;
  position: THREE.Vector3; // in the body's frame
  turn: THREE.Quaternion;
  size: [number, number, number]; // half of its extent along its own axes; of a capsule without its ends along z
  color: THREE.Color;
  opacity: number;
  box?: Part; // of a mesh: the box around it
  touches: boolean; // others
  looks: boolean; // it is what one looks at
  group: number; // of shapes that are shown and hidden together
  texture: number; // negative: none
  repeat: [number, number]; // of a plane's texture, per m
}

export interface Hit {
  body: number;
  point: THREE.Vector3; // in the world
}

export function readPart(instance: Instance, looks: boolean): Part {
  const [body, kind, mesh, px, py, pz, qw, qx, qy, qz, sx, sy, sz, red, green, blue, opacity, touches, group, texture, repeatX, repeatY] = instance as unknown as [number, string, number, ...number[]];
  const part = (form: Form, x: number, y: number, z: number): Part => ({
    body,
    form,
    mesh,
    position: new THREE.Vector3(px, py, pz),
    turn: new THREE.Quaternion(qx, qy, qz, qw),
    size: [x, y, z],
    color: new THREE.Color().setRGB(red!, green!, blue!, THREE.SRGBColorSpace),
    opacity: opacity!,
    touches: touches === 1,
    looks,
    group: group ?? 0,
    texture: texture ?? -1,
    repeat: [repeatX ?? 1, repeatY ?? 1],
  });
  switch (kind) {
    case 'sphere':
      return part('ball', sx!, sx!, sx!);
    case 'ellipsoid':
      return part('ball', sx!, sy!, sz!);
    case 'capsule':
      return part('capsule', sx!, sx!, sy!);
    case 'cylinder':
      return part('cylinder', sx!, sx!, sy!);
    case 'box':
      return part('box', sx!, sy!, sz!);
    case 'plane':
      return part('plane', sx! || 100, sy! || 100, 0);
    default:
      return part('mesh', 1, 1, 1);
  }
}

// The box around a part, in its own frame.
export function extent(part: Part, scene: Scene): THREE.Box3 {
  const [x, y, z] = part.size;
  if (part.form !== 'mesh') {
    const half = new THREE.Vector3(x, y, part.form === 'capsule' ? z + x : z);
    return new THREE.Box3(half.clone().negate(), half);
  }
  return new THREE.Box3().setFromArray(scene.meshes[part.mesh]?.vertices ?? [0, 0, 0]);
}

// What stands for a mesh that is too small to be seen as one.
export function boxOf(part: Part, around: THREE.Box3): Part {
  const center = around.getCenter(new THREE.Vector3()).applyQuaternion(part.turn).add(part.position);
  const half = around.getSize(new THREE.Vector3()).multiplyScalar(0.5);
  return { ...part, form: 'box', position: center, size: [half.x, half.y, half.z] };
}

// Where a ray enters a part that is its own frame's, with its radius or half-extents `more` larger; Infinity: nowhere.
function enters(part: Part, scene: Scene, around: THREE.Box3, from: THREE.Vector3, along: THREE.Vector3, more: number): number {
  const [sx, sy, sz] = part.size;
  const ray = new THREE.Ray(from, along);
  const at = ray.intersectBox(around.clone().expandByScalar(more), new THREE.Vector3());
  if (!at) return Infinity;
  const inBox = at.sub(from).dot(along);
  switch (part.form) {
    case 'ball': {
      const o = from.clone().divide(new THREE.Vector3(sx + more, sy + more, sz + more));
      const d = along.clone().divide(new THREE.Vector3(sx + more, sy + more, sz + more));
      const [a, b, c] = [d.dot(d), o.dot(d), o.dot(o) - 1];
      const root = b * b - a * c;
      return root < 0 ? Infinity : (-b - Math.sqrt(root)) / a;
    }
    case 'capsule':
    case 'cylinder': {
      // The wall where the ray meets it within the length, or an end: for a capsule the box's is close enough.
      const radius = sx + more;
      const a = along.x * along.x + along.y * along.y;
      const b = from.x * along.x + from.y * along.y;
      const c = from.x * from.x + from.y * from.y - radius * radius;
      const root = b * b - a * c;
      if (root < 0) return Infinity;
      const wall = a > 0 ? (-b - Math.sqrt(root)) / a : -Infinity;
      const leave = a > 0 ? (-b + Math.sqrt(root)) / a : c <= 0 ? Infinity : -Infinity;
      const half = sz + more + (part.form === 'capsule' ? sx : 0);
      const ends = along.z === 0 ? [-Infinity, Infinity] : [(-half - from.z) / along.z, (half - from.z) / along.z].sort((p, q) => p - q);
      const enter = Math.max(wall, ends[0]!);
      return enter <= Math.min(leave, ends[1]!) && enter >= 0 ? enter : Infinity;
    }
    case 'mesh': {
      if (more > 0) return Infinity;
      const mesh = scene.meshes[part.mesh];
      if (!mesh) return Infinity;
      const corners = [new THREE.Vector3(), new THREE.Vector3(), new THREE.Vector3()] as const;
      const hit = new THREE.Vector3();
      let first = Infinity;
      for (let t = 0; t + 2 < mesh.triangles.length; t += 3) {
        corners.forEach((corner, k) => corner.fromArray(mesh.vertices, 3 * mesh.triangles[t + k]!));
        if (ray.intersectTriangle(...corners, false, hit)) first = Math.min(first, hit.sub(from).dot(along));
      }
      return first;
    }
    default:
      return inBox;
  }
}

// What a ray meets first. Where it meets nothing, what it misses by less than `near` times the distance: wires are thin, and
// fingers thick.
export function pick(parts: Part[], boxes: THREE.Box3[], scene: Scene, place: (body: number) => THREE.Matrix4, ray: THREE.Ray, near: number): Hit | null {
  const turn = new THREE.Quaternion();
  const from = new THREE.Vector3();
  const along = new THREE.Vector3();
  const places = new Map<number, { origin: THREE.Vector3; turn: THREE.Quaternion }>();
  for (const reach of [0, near]) {
    let first = Infinity;
    let body = -1;
    parts.forEach((part, i) => {
      if (part.body < 0) return;
      let at = places.get(part.body);
      if (!at) {
        const matrix = place(part.body);
        at = { origin: new THREE.Vector3().setFromMatrixPosition(matrix), turn: new THREE.Quaternion().setFromRotationMatrix(matrix).invert() };
        places.set(part.body, at);
      }
      turn.copy(part.turn).invert();
      from.copy(ray.origin).sub(at.origin).applyQuaternion(at.turn).sub(part.position).applyQuaternion(turn);
      along.copy(ray.direction).applyQuaternion(at.turn).applyQuaternion(turn);
      const distance = enters(part, scene, boxes[i]!, from, along, reach * from.length());
      if (distance < first) {
        first = distance;
        body = part.body;
      }
    });
    if (body >= 0) return { body, point: ray.at(first, new THREE.Vector3()) };
  }
  return null;
}
