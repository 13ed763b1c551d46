// What comes over the wire, and from a recording: the scene once, then frames. src/view/runner.h and html.c have the layouts.

export type Kind = 'sphere' | 'capsule' | 'ellipsoid' | 'cylinder' | 'box' | 'plane' | 'mesh' | 'height field';

// body, kind, mesh, position × 3, quaternion × 4 (w first), size × 3, colour × 4, whether it touches others, group; where it has a texture, that
// and how often it repeats per m along x and y
export type Instance = [number, Kind, number, ...number[]];

export interface Channel {
  name: string;
  unit: string;
  plot: string;
  logarithmic: boolean;
}

export interface Choices {
  solver: string[];
  algorithm: string[];
  machine: string[];
  tolerance: number[];
}

// kind, name, number, first q, first v, axis × 3, anchor × 3, and where it is limited the range × 2
export type JointRow = [string, string, number, number, number, ...number[]];

export interface Card {
  title: string;
  text: string;
  command: string;
  picture: string;
}

export interface Probe {
  kind: 'q' | 'v' | 'force' | 'sensor';
  index: number;
  name: string;
  unit: string;
}

export interface Scene {
  say: 'scene';
  model: string;
  bodies: number;
  drawn: number;
  joints?: number; // of a model, as the next two
  degrees?: number;
  mass?: number;
  floats?: number; // the body that takes it all with it where nothing holds it; −1: something does
  moving?: number; // bodies of a world
  pull?: boolean; // whether bodies can be pulled
  up: [number, number, number];
  instances: Instance[];
  contacts?: Instance[]; // shapes that are not drawn: they touch others, or are of a hidden group
  meshes: ({ vertices: number[]; triangles: number[]; coordinates?: number[] } | null)[];
  textures?: (string | null)[]; // PNG files in base 64
  channels: Channel[];
  choices?: Choices;
  // Of models: each body's name, parent, mass, centre of mass × 3, then its joints.
  described?: [string, number, number, number, number, number, ...JointRow[]][];
  actuators?: [string, number, number, number, number][]; // name, joint, range of the control × 2, start
  keyframes?: string[];
  sensors?: [string, number][]; // name, how many numbers
  cards?: Card[]; // of a gallery
  gallery?: boolean; // it comes first
  gravity?: number[];
  listed?: [string, string][]; // of a world's recording: each body's name, and how it moves
}

export interface Status {
  say: 'status';
  solver: string;
  algorithm: string;
  machine: string;
  tolerance: number;
  note: string;
  hint: string; // what could be changed where it is too slow
  marks: { time: number; text: string }[];
  probes: Probe[];
  control: number[];
}

export interface BodyNumbers {
  say: 'body';
  body: number;
  name: string;
  motion?: string; // of a world's body, as the next one; models have what follows up to carried
  asleep?: boolean;
  parent?: string | null;
  mass?: number;
  subtree?: number;
  joints?: { name: string; kind: string; q: number[]; v: number[]; force?: number[] }[];
  position: number[];
  quaternion: number[];
  velocity: number[];
  angular: number[];
  weight?: number[];
  pull?: number[];
  carried?: number[];
}

export type Message = Scene | Status | BodyNumbers | { say: 'hello'; client: number; version: string } | { say: 'note'; text: string };

export interface Pull {
  body: number;
  client: number;
  point: [number, number, number];
  target: [number, number, number];
  force: [number, number, number];
}

export interface Frame {
  number: number;
  time: number;
  hash: string;
  speed: number;
  running: boolean;
  failed: boolean;
  behind: boolean;
  epoch: number;
  pull: Pull | null;
  channels: Float64Array;
  poses: Float32Array; // 7 a body: position, quaternion (w first)
  contacts: Float32Array; // 6 each: point, force
  q: Float32Array; // where the page asked for them
}

const MAGIC = 0x464c4143; // "CALF"
const HEADER = 96;

export function decodeFrame(buffer: ArrayBuffer, drawn: number): Frame {
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new Error('not a frame');
  const triple = (at: number): [number, number, number] => [view.getFloat32(at, true), view.getFloat32(at + 4, true), view.getFloat32(at + 8, true)];
  const flags = view.getUint32(32, true);
  const body = view.getInt32(36, true);
  const channelCount = view.getUint32(84, true);
  const contactCount = view.getUint32(88, true);
  const poses = HEADER + 8 * channelCount;
  const contacts = poses + 28 * drawn;
  return {
    number: view.getUint32(4, true),
    time: view.getFloat64(8, true),
    hash: view.getBigUint64(16, true).toString(16).padStart(16, '0'),
    speed: view.getFloat64(24, true),
    running: (flags & 1) !== 0,
    failed: (flags & 2) !== 0,
    behind: (flags & 4) !== 0,
    epoch: view.getUint32(40, true),
    pull: body < 0 ? null : { body, client: view.getInt32(44, true), point: triple(48), target: triple(60), force: triple(72) },
    channels: new Float64Array(buffer, HEADER, channelCount),
    poses: new Float32Array(buffer, poses, 7 * drawn),
    contacts: new Float32Array(buffer, contacts, 6 * contactCount),
    q: new Float32Array(buffer, contacts + 24 * contactCount, view.getUint32(92, true)),
  };
}

// A line of a recording.
export function decodeRecorded(line: string, channelCount: number, number: number): Frame {
  const text = atob(line);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  let at = 8 + 8 * channelCount;
  const low = [view.getFloat32(at, true), view.getFloat32(at + 4, true), view.getFloat32(at + 8, true)];
  const edge = view.getFloat32(at + 12, true) / 65535;
  at += 16;
  const bodies = (bytes.length - at) / 14;
  const poses = new Float32Array(7 * bodies);
  for (let i = 0; i < bodies; i++, at += 14) {
    for (let k = 0; k < 3; k++) poses[7 * i + k] = low[k]! + edge * view.getUint16(at + 2 * k, true);
    for (let k = 3; k < 7; k++) poses[7 * i + k] = view.getInt16(at + 2 * k, true) / 32767;
  }
  return {
    number,
    time: view.getFloat64(0, true),
    hash: '',
    speed: 1,
    running: true,
    failed: false,
    behind: false,
    epoch: 0,
    pull: null,
    channels: new Float64Array(bytes.buffer, 8, channelCount),
    poses,
    contacts: new Float32Array(0),
    q: new Float32Array(0),
  };
}

// Poses between two frames: straight lines, and the shorter way round for quaternions.
export function interpolate(a: Float32Array, b: Float32Array, share: number, out: Float32Array): void {
  for (let i = 0; i < out.length; i += 7) {
    for (let k = 0; k < 3; k++) out[i + k] = a[i + k]! + share * (b[i + k]! - a[i + k]!);
    const same = a[i + 3]! * b[i + 3]! + a[i + 4]! * b[i + 4]! + a[i + 5]! * b[i + 5]! + a[i + 6]! * b[i + 6]!;
    const sign = same < 0 ? -1 : 1;
    let square = 0;
    for (let k = 3; k < 7; k++) {
      const value = a[i + k]! + share * (sign * b[i + k]! - a[i + k]!);
      out[i + k] = value;
      square += value * value;
    }
    const scale = 1 / Math.sqrt(square);
    for (let k = 3; k < 7; k++) out[i + k]! *= scale;
  }
}
