// What a recording, or the past of a live view, knows of a body: its name, joints and mass from the scene, its motion from the frames around a moment.
import * as THREE from 'three';
import type { History } from './history';
import type { BodyNumbers, Scene } from './wire';

// All that hangs on each body, itself included.
export function subtreeMasses(scene: Scene): Float64Array {
  const rows = scene.described ?? [];
  const masses = Float64Array.from(rows, (row) => row[2]);
  const left = new Int32Array(rows.length); // children that are still to be added
  for (const row of rows) if (row[1] >= 0) left[row[1]]!++;
  const ready = [...left.keys()].filter((body) => left[body] === 0);
  for (let body = ready.pop(); body !== undefined; body = ready.pop()) {
    const parent = rows[body]![1];
    if (parent < 0) continue;
    masses[parent]! += masses[body]!;
    if (--left[parent]! === 0) ready.push(parent);
  }
  return masses;
}

// Speeds are differences between the frames before and after; positions are recorded in steps of 1/65535 of the model's size.
export function describeRecorded(scene: Scene, masses: Float64Array, history: History, body: number, time: number, poses: Float32Array): BodyNumbers {
  const [name, parent, mass, cx, cy, cz, ...joints] = scene.described?.[body] ?? ([`body ${body}`, -1, 0, 0, 0, 0] as NonNullable<Scene['described']>[number]);
  const center = new THREE.Vector3(cx, cy, cz);
  const placed = (from: Float32Array): { at: THREE.Vector3; turn: THREE.Quaternion } => {
    const p = from.subarray(7 * body, 7 * body + 7);
    const turn = new THREE.Quaternion(p[4], p[5], p[6], p[3]).normalize();
    return { at: center.clone().applyQuaternion(turn).add(new THREE.Vector3(p[0], p[1], p[2])), turn };
  };
  const now = placed(poses);
  const index = history.indexAt(time);
  const frames = history.frames;
  const [before, after] = [frames[Math.max(index - (frames[index]!.time < time ? 0 : 1), 0)]!, frames[Math.min(index + 1, frames.length - 1)]!];
  const passed = after.time - before.time;
  const velocity = new THREE.Vector3();
  const angular = new THREE.Vector3();
  if (passed > 0) {
    const [early, late] = [placed(before.poses), placed(after.poses)];
    velocity.copy(late.at).sub(early.at).divideScalar(passed);
    // The turn from one to the other about an axis of the world.
    const turn = late.turn.multiply(early.turn.invert());
    const sine = Math.hypot(turn.x, turn.y, turn.z);
    const angle = 2 * Math.atan2(sine, Math.abs(turn.w)) * Math.sign(turn.w || 1);
    if (sine > 0) angular.set(turn.x, turn.y, turn.z).multiplyScalar(angle / sine / passed);
  }
  const list: NonNullable<BodyNumbers['joints']> = [];
  for (const joint of joints) list.push({ kind: joint[0], name: joint[1], q: [], v: [] });
  const motion = {
    position: now.at.toArray(),
    quaternion: [now.turn.w, now.turn.x, now.turn.y, now.turn.z],
    velocity: velocity.toArray(),
    angular: angular.toArray(),
  };
  const listed = scene.listed?.[body];
  if (listed) return { say: 'body', body, name: listed[0], motion: listed[1], ...motion };
  return {
    say: 'body',
    body,
    name,
    parent: parent >= 0 ? (scene.described?.[parent]?.[0] ?? null) : null,
    mass,
    subtree: masses[body] ?? mass,
    joints: list,
    ...motion,
    ...(scene.gravity ? { weight: scene.gravity.map((value) => mass * value) } : {}),
  };
}
