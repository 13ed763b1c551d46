// All of a model in a few draw calls of plain triangles, whatever its number of bodies.
//
// A corner knows its place in its body's frame and its body; poses are a texture of two texels a body (position,
// quaternion), and the vertex shader puts one into the other. So a frame costs the poses' upload and nothing else on the
// page's side. Copies of one mesh (instances) would need less memory, but every copy costs as much as a draw call where a
// processor does the drawing: 9000 of them take a sixth of a second, and one call with the same triangles a tenth of that.
//
// What is small on the screen is a strip of two triangles that faces the eye, never thinner than a pixel, so that wires stay
// seen from afar:
//
//        ┌──────────────┐      centre ± axis along it, radius across it; with no axis it is a square dot
//        └──────────────┘
import * as THREE from 'three';
import type { Part } from './parts';
import { ball, box, coarsen, cylinder, facets, square, type Solid } from './shapes';
import type { Scene } from './wire';

const WIDTH = 1024; // texels of a row of poses

const COMMON = /* glsl */ `
uniform highp sampler2D poses;
uniform float selected;
uniform float pixel; // half of the smallest width, at distance 1
attribute float body;
#if defined(FLOOR) || defined(TEXTURED)
attribute vec2 tile; // m, along the floor; with a texture its coordinates
varying vec2 vTile;
#endif
#ifdef FLOOR
varying vec3 vSpot;
#endif
#ifdef STRIP
attribute vec3 axis;
attribute vec3 side; // −1 or 1 across, −1 or 1 along, radius
#endif
vec4 poseOf(int part) {
  int at = 2 * int(body) + part;
  return texelFetch(poses, ivec2(at & ${WIDTH - 1}, at >> ${Math.log2(WIDTH)}), 0);
}
vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
void place(out vec3 corner, out vec3 outward) {
  vec3 origin = poseOf(0).xyz;
  vec4 turn = poseOf(1);
  corner = origin + turned(turn, position);
#ifdef STRIP
  vec3 eye = isOrthographic ? vec3(viewMatrix[0][2], viewMatrix[1][2], viewMatrix[2][2]) : cameraPosition - corner;
  float far = length(eye);
  eye /= far;
  float radius = isOrthographic ? side.z : max(side.z, pixel * far);
  vec3 along = turned(turn, axis);
  if (dot(along, along) == 0.0) along = radius * vec3(viewMatrix[0][1], viewMatrix[1][1], viewMatrix[2][1]);
  vec3 across = cross(along, eye);
  across *= inversesqrt(max(dot(across, across), 1e-30));
  corner += side.y * along + side.x * radius * across;
  outward = normalize(0.7 * side.x * across + 0.7 * eye);
#else
  outward = turned(turn, normal);
#endif
#if defined(FLOOR) || defined(TEXTURED)
  vTile = tile;
#endif
#ifdef FLOOR
  vSpot = corner;
#endif
}
`;

// Floors have squares, as wide as `cell`, which become one colour where they are smaller than a pixel, and end in the background.
const CHECKERS = /* glsl */ `
uniform float cell; // m
uniform vec2 fade; // m from the eye: where it begins to end, where it has
uniform vec3 horizon;
uniform vec3 horizonShown; // as the screen has it
uniform float tone; // of floors
varying vec2 vTile;
varying vec3 vSpot;
#ifndef TEXTURED
float checker() {
  vec2 at = vTile / cell;
  vec2 wide = max(fwidth(at), vec2(1e-4));
  vec2 mean = 2.0 * (abs(fract((at - 0.5 * wide) * 0.5) - 0.5) - abs(fract((at + 0.5 * wide) * 0.5) - 0.5)) / wide;
  return tone * mix(0.74, 1.0, 0.5 - 0.5 * mean.x * mean.y);
}
#endif
float away() {
  vec3 sight = cameraPosition - vSpot;
  float share = clamp((dot(sight, sight) - fade.x * fade.x) / (fade.y * fade.y - fade.x * fade.x), 0.0, 1.0);
  return share * (2.0 - share);
}
`;

// Pictures are in the screen's colours.
const PICTURE = /* glsl */ `
uniform sampler2D picture;
vec3 pictured() { return texture2D(picture, vTile).rgb; }
`;

const PLAIN_VERTEX = /* glsl */ `
${COMMON}
uniform vec3 sunward;
uniform vec3 upward;
uniform vec3 sun;
uniform vec3 sky;
uniform vec3 earth;
uniform vec3 rim;
uniform vec3 head; // light from where the eye is
varying vec4 shown;
void main() {
  vec3 corner, outward;
  place(corner, outward);
#ifdef DOUBLE_SIDED
  if (dot(outward, cameraPosition - corner) < 0.0) outward = -outward;
#endif
  vec3 eye = normalize(cameraPosition - corner);
  vec3 light = mix(earth, sky, 0.5 * dot(outward, upward) + 0.5) + sun * max(dot(outward, sunward), 0.0) + head * max(dot(outward, eye), 0.0);
  vec3 paint = abs(body - selected) < 0.5 ? mix(color.rgb, vec3(0.04, 0.48, 1.0), 0.65) : color.rgb;
  // Into the screen's colours here and not at every pixel.
  shown = vec4(pow(paint * light, vec3(0.4545)), color.a);
#ifndef FLOOR
  // What has the background's colour is seen by its edges.
  float edge = 1.0 - abs(dot(eye, outward));
  shown.rgb = clamp(shown.rgb + rim * (0.3 + 0.7 * paint) * edge * edge + 0.1 * max(rim, vec3(0.0)), 0.0, 1.0);
#endif
  gl_Position = projectionMatrix * viewMatrix * vec4(corner, 1.0);
}`;

const PLAIN_FRAGMENT = /* glsl */ `
varying vec4 shown;
#ifdef FLOOR
${CHECKERS}
#ifdef TEXTURED
${PICTURE}
void main() { gl_FragColor = vec4(mix(shown.rgb * pictured(), horizonShown, away()), shown.a); }
#else
void main() { gl_FragColor = vec4(mix(shown.rgb * checker(), horizonShown, away()), shown.a); }
#endif
#elif defined(TEXTURED)
varying vec2 vTile;
${PICTURE}
void main() { gl_FragColor = vec4(shown.rgb * pictured(), shown.a); }
#else
void main() { gl_FragColor = shown; }
#endif`;

export interface Light {
  sunward: THREE.Vector3;
  upward: THREE.Vector3;
  sun: THREE.Color;
  sky: THREE.Color;
  earth: THREE.Color;
  rim: THREE.Color; // what edges get, more or less of it
  head: THREE.Color; // from where the eye is
  horizon: THREE.Color;
  tone: number; // of floors
  cell: number; // m, of a floor's squares
  fade: THREE.Vector2; // m, where floors end
}

// What all materials of a model share.
export class Shared {
  readonly poses: THREE.DataTexture;
  private readonly texels: Float32Array;
  readonly uniforms: Record<string, THREE.IUniform>;
  private readonly pictures: (THREE.IUniform | undefined)[] = [];
  private smooth = true;

  // loaded: a picture of a texture is there.
  constructor(
    private readonly drawn: number,
    private readonly files: (string | null)[],
    private readonly loaded: () => void,
  ) {
    const rows = Math.ceil((2 * (drawn + 1)) / WIDTH);
    this.texels = new Float32Array(4 * WIDTH * rows);
    this.texels[8 * drawn + 7] = 1; // the ground stays where it is
    this.poses = new THREE.DataTexture(this.texels, WIDTH, rows, THREE.RGBAFormat, THREE.FloatType);
    this.uniforms = {
      poses: { value: this.poses },
      selected: { value: -1 },
      pixel: { value: 0 },
      sunward: { value: new THREE.Vector3(0, 0, 1) },
      upward: { value: new THREE.Vector3(0, 0, 1) },
      sun: { value: new THREE.Color() },
      sky: { value: new THREE.Color() },
      earth: { value: new THREE.Color() },
      rim: { value: new THREE.Color() },
      head: { value: new THREE.Color() },
      horizon: { value: new THREE.Color() },
      horizonShown: { value: new THREE.Vector3() },
      tone: { value: 1 },
      cell: { value: 1 },
      fade: { value: new THREE.Vector2(50, 100) },
    };
  }

  picture(texture: number): THREE.IUniform {
    const known = this.pictures[texture];
    if (known) return known;
    const map = new THREE.TextureLoader().load(`data:image/png;base64,${this.files[texture] ?? ''}`, () => this.loaded());
    map.wrapS = map.wrapT = THREE.RepeatWrapping;
    map.flipY = false; // coordinates go downwards
    this.filter(map);
    return (this.pictures[texture] = { value: map });
  }

  // Where light is found at corners only, pixels are to cost little: one of a texture's sizes, sampled once.
  setSmooth(smooth: boolean): void {
    if (smooth === this.smooth) return;
    this.smooth = smooth;
    for (const picture of this.pictures) if (picture) this.filter(picture.value as THREE.Texture);
  }

  private filter(map: THREE.Texture): void {
    map.anisotropy = this.smooth ? 4 : 1;
    map.minFilter = this.smooth ? THREE.LinearMipmapLinearFilter : THREE.LinearMipmapNearestFilter;
    if (map.image) map.needsUpdate = true;
  }

  has(texture: number): boolean {
    return Boolean(this.files[texture]);
  }

  setPoses(poses: Float32Array): void {
    const t = this.texels;
    for (let i = 0, from = 0, to = 0; i < this.drawn; i++, from += 7, to += 8) {
      t[to] = poses[from]!;
      t[to + 1] = poses[from + 1]!;
      t[to + 2] = poses[from + 2]!;
      t[to + 4] = poses[from + 4]!;
      t[to + 5] = poses[from + 5]!;
      t[to + 6] = poses[from + 6]!;
      t[to + 7] = poses[from + 3]!;
    }
    this.poses.needsUpdate = true;
  }

  setLight(light: Light): void {
    // As three's own materials reflect it: a white surface sends back 1/π of what it gets.
    for (const name of ['sunward', 'upward'] as const) (this.uniforms[name]!.value as THREE.Vector3).copy(light[name]);
    for (const name of ['sun', 'sky', 'earth', 'head'] as const) (this.uniforms[name]!.value as THREE.Color).copy(light[name]).multiplyScalar(1 / Math.PI);
    for (const name of ['rim', 'horizon'] as const) (this.uniforms[name]!.value as THREE.Color).copy(light[name]);
    const shown = light.horizon.getRGB({ r: 0, g: 0, b: 0 }, THREE.SRGBColorSpace);
    (this.uniforms['horizonShown']!.value as THREE.Vector3).set(shown.r, shown.g, shown.b);
    this.uniforms['tone']!.value = light.tone;
    this.uniforms['cell']!.value = light.cell;
    (this.uniforms['fade']!.value as THREE.Vector2).copy(light.fade);
  }
}

interface Look {
  strip: boolean;
  clear: boolean;
  doubled: boolean;
  floor: boolean;
  texture: number; // negative: none
}

// Three's own shader with our places in it.
function patch(material: THREE.Material, shared: Shared, look: Look): void {
  material.onBeforeCompile = (shader) => {
    for (const name of ['poses', 'selected', 'pixel', 'rim', 'horizon', 'horizonShown', 'tone', 'cell', 'fade']) shader.uniforms[name] = shared.uniforms[name]!;
    const depth = material instanceof THREE.MeshDepthMaterial;
    const textured = look.texture >= 0;
    const defined = `${look.strip ? '#define STRIP\n' : ''}${look.floor ? '#define FLOOR\n' : ''}${textured ? '#define TEXTURED\n' : ''}`;
    if (textured) shader.uniforms['picture'] = shared.picture(look.texture);
    let text = shader.vertexShader.replace('#include <common>', `#include <common>\n${defined}${COMMON}`);
    if (!depth) {
      text = text.replace('#include <color_vertex>', '#include <color_vertex>\nif (abs(body - selected) < 0.5) vColor.rgb = mix(vColor.rgb, vec3(0.04, 0.48, 1.0), 0.65);');
      let paint = shader.fragmentShader;
      if (look.floor) {
        paint = paint.replace('#include <common>', `#include <common>\n${defined}${CHECKERS}${textured ? PICTURE : ''}`);
        paint = paint.replace('#include <color_fragment>', `#include <color_fragment>\ndiffuseColor.rgb *= pow(${textured ? 'pictured()' : 'vec3(checker())'}, vec3(2.2));`);
        paint = paint.replace('#include <opaque_fragment>', '#include <opaque_fragment>\ngl_FragColor.rgb = mix(gl_FragColor.rgb, horizon, away());');
      } else {
        paint = paint.replace('#include <common>', `#include <common>\nuniform vec3 rim;${textured ? `\nvarying vec2 vTile;${PICTURE}` : ''}`);
        if (textured) paint = paint.replace('#include <color_fragment>', '#include <color_fragment>\ndiffuseColor.rgb *= pow(pictured(), vec3(2.2));');
        paint = paint.replace('#include <opaque_fragment>', 'float edge = 1.0 - abs(dot(normalize(vViewPosition), normal));\noutgoingLight = max(outgoingLight + 0.18 * rim * edge * edge + 0.02 * max(rim, vec3(0.0)), vec3(0.0));\n#include <opaque_fragment>');
      }
      shader.fragmentShader = paint;
      text = text.replace('#include <beginnormal_vertex>', 'vec3 corner, objectNormal;\nplace(corner, objectNormal);');
    }
    shader.vertexShader = text.replace('#include <begin_vertex>', depth ? 'vec3 transformed, outward;\nplace(transformed, outward);' : 'vec3 transformed = corner;');
  };
  material.customProgramCacheKey = () => `calder ${look.strip} ${look.floor} ${look.texture >= 0}`;
}

function makeMaterial(shared: Shared, look: Look, smooth: boolean): THREE.Material {
  const common = { vertexColors: true, transparent: look.clear, depthWrite: !look.clear, side: look.doubled ? THREE.DoubleSide : THREE.FrontSide };
  // Grounds lie where the grid lies, which is to be seen.
  const offset = look.doubled ? { polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 4 } : {};
  if (!smooth) {
    const defines: Record<string, string> = {};
    if (look.strip) defines['STRIP'] = '';
    if (look.doubled) defines['DOUBLE_SIDED'] = '';
    if (look.floor) defines['FLOOR'] = '';
    const uniforms = { ...shared.uniforms };
    if (look.texture >= 0) {
      defines['TEXTURED'] = '';
      uniforms['picture'] = shared.picture(look.texture);
    }
    return new THREE.ShaderMaterial({ ...common, ...offset, defines, uniforms, vertexShader: PLAIN_VERTEX, fragmentShader: PLAIN_FRAGMENT });
  }
  const material = new THREE.MeshStandardMaterial({ ...common, ...offset, roughness: 0.62, metalness: 0.02 });
  if (look.strip) material.shadowSide = THREE.DoubleSide;
  patch(material, shared, look);
  return material;
}

// --- How fine ---------------------------------------------------------------------------------------------------------------

// What a part becomes: a strip, a dot, or a solid with so many corners around it.
interface Choice {
  part: Part;
  around: number; // 0: a strip; TOO_SMALL: a dot that is left out where its body has something larger
  axis: number; // of a strip: which of the part's axes; −1: none, a dot
  radius: number;
  every: number; // of what is too small: so many of its size share a pixel
}

const TOO_SMALL = -1;
const TINY = 0.7; // pixels
const AROUND = [6, 8, 12, 18, 28];

function choose(part: Part, pixels: number, detail: number, roundness: number): Choice {
  const [x, y, z] = part.size;
  const round = part.form !== 'box';
  const lengths = [x, y, part.form === 'capsule' ? z + x : z];
  const whole: Choice = { part, around: 1, axis: -1, radius: 0, every: 1 };
  if (part.box) {
    const small = choose(part.box, pixels, detail, roundness);
    return small.around > 0 ? whole : small;
  }
  if (part.form === 'mesh' || part.form === 'plane') return whole;
  const order = [0, 1, 2].sort((a, b) => lengths[b]! - lengths[a]!);
  const [longest, second] = [lengths[order[0]!]!, lengths[order[1]!]!];
  const size = pixels * detail;
  if (size * longest < TINY) return { part, around: TOO_SMALL, axis: -1, radius: longest, every: Math.min(4, Math.max(1, Math.floor(TINY / (size * longest)))) };
  if (size * longest < 2.2) return { part, around: 0, axis: -1, radius: Math.cbrt(lengths[0]! * lengths[1]! * lengths[2]!), every: 1 };
  if (size * second < 2.2 && longest > 2.5 * second) return { part, around: 0, axis: order[0]!, radius: second, every: 1 };
  if (!round) return { part, around: 1, axis: -1, radius: 0, every: 1 };
  // A chord of a circle of radius r is off it by r π²/(2 n²): half a pixel for a roundness of 1.
  const wanted = roundness * Math.PI * Math.sqrt(pixels * second);
  return { part, around: AROUND.find((around) => around >= wanted) ?? AROUND[AROUND.length - 1]!, axis: -1, radius: 0, every: 1 };
}

// Leaves out what cannot be seen. Beside the rest of its body that is what is less than a pixel; a body that has nothing else
// is a dot, and where dots are much smaller than a pixel, every second, third or fourth of them fills the same ones.
function thin(choices: Choice[]): Choice[] {
  const largest = new Map<number, Choice>();
  for (const choice of choices) {
    const known = largest.get(choice.part.body);
    if (!known || (known.around === TOO_SMALL && (choice.around !== TOO_SMALL || choice.radius > known.radius))) largest.set(choice.part.body, choice);
  }
  const kept: Choice[] = [];
  for (const choice of choices)
    if (choice.around !== TOO_SMALL) kept.push(choice);
    else if (largest.get(choice.part.body) === choice && choice.part.body % choice.every === 0) kept.push({ ...choice, around: 0, radius: Math.cbrt(choice.part.size[0] * choice.part.size[1] * choice.part.size[2]) });
  return kept;
}

function trianglesOf(choice: Choice, scene: Scene): number {
  if (choice.around === 0 || choice.part.form === 'plane') return 2;
  if (choice.part.form === 'box') return 12;
  if (choice.part.form === 'cylinder') return 4 * choice.around - 4;
  if (choice.part.form === 'mesh') return (scene.meshes[choice.part.mesh]?.triangles.length ?? 0) / 3;
  return choice.around * (choice.around - 2) * 0.5 * (choice.part.form === 'capsule' ? 1.2 : 1);
}

// --- Baking -----------------------------------------------------------------------------------------------------------------

class Writer {
  private readonly positions: number[] = [];
  private readonly normals: number[] = [];
  private readonly axes: number[] = [];
  private readonly sides: number[] = [];
  private readonly colors: number[] = [];
  private readonly bodies: number[] = [];
  private readonly index: number[] = [];
  private readonly tiles: number[] = [];

  constructor(
    private readonly ground: number,
    readonly look: Look,
  ) {}

  private addPaint(part: Part): void {
    for (const value of [part.color.r, part.color.g, part.color.b, part.opacity]) this.colors.push(Math.round(65535 * Math.min(Math.max(value, 0), 1)));
    this.bodies.push(part.body < 0 ? this.ground : part.body);
  }

  // coordinates: of a mesh's texture, two a corner.
  addSolid(part: Part, solid: Solid, scale: [number, number, number], coordinates?: number[]): void {
    const first = this.bodies.length;
    if (coordinates && this.look.texture >= 0) for (const value of coordinates) this.tiles.push(value);
    const v = new THREE.Vector3();
    for (let i = 0; i < solid.positions.length; i += 3) {
      v.set(solid.positions[i]! * scale[0], solid.positions[i + 1]! * scale[1], solid.positions[i + 2]! * scale[2]);
      v.applyQuaternion(part.turn).add(part.position);
      this.positions.push(v.x, v.y, v.z);
      if (this.look.floor) {
        const [x, y] = [solid.positions[i]! * scale[0], solid.positions[i + 1]! * scale[1]];
        if (this.look.texture >= 0) this.tiles.push(x * part.repeat[0] - 0.5, 0.5 - y * part.repeat[1]);
        else this.tiles.push(x, y);
      }
      v.set(solid.normals[i]! / (scale[0] || 1), solid.normals[i + 1]! / (scale[1] || 1), solid.normals[i + 2]! / (scale[2] || 1));
      v.normalize().applyQuaternion(part.turn);
      this.normals.push(v.x, v.y, v.z, 0); // four bytes: some machines want corners aligned
      this.addPaint(part);
    }
    for (let i = 0; i < solid.triangles.length; i++) this.index.push(first + solid.triangles[i]!);
  }

  addStrip({ part, axis, radius }: Choice): void {
    const first = this.bodies.length;
    const along = new THREE.Vector3();
    if (axis >= 0) along.setComponent(axis, part.form === 'capsule' && axis === 2 ? part.size[2] + part.size[0] : part.size[axis]!);
    along.applyQuaternion(part.turn);
    for (const [across, end] of [[-1, -1], [1, -1], [-1, 1], [1, 1]] as const) {
      this.positions.push(...part.position.toArray());
      this.axes.push(along.x, along.y, along.z);
      this.sides.push(across, end, radius);
      this.addPaint(part);
    }
    this.index.push(first, first + 1, first + 2, first + 2, first + 1, first + 3);
  }

  mesh(shared: Shared, smooth: boolean): THREE.Mesh {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(this.positions, 3));
    if (this.look.strip) {
      geometry.setAttribute('axis', new THREE.Float32BufferAttribute(this.axes, 3));
      geometry.setAttribute('side', new THREE.Float32BufferAttribute(this.sides, 3));
    } else geometry.setAttribute('normal', new THREE.BufferAttribute(Int8Array.from(this.normals, (value) => Math.round(127 * value)), 4, true));
    if (this.tiles.length > 0) geometry.setAttribute('tile', new THREE.Float32BufferAttribute(this.tiles, 2));
    geometry.setAttribute('color', new THREE.BufferAttribute(Uint16Array.from(this.colors), 4, true));
    geometry.setAttribute('body', new THREE.Float32BufferAttribute(this.bodies, 1));
    geometry.setIndex(new THREE.BufferAttribute(Uint32Array.from(this.index), 1));
    const mesh = new THREE.Mesh(geometry, makeMaterial(shared, this.look, smooth));
    mesh.frustumCulled = false;
    mesh.castShadow = !this.look.clear && !this.look.floor;
    mesh.receiveShadow = true;
    if (smooth) {
      const depth = new THREE.MeshDepthMaterial({ side: THREE.DoubleSide });
      patch(depth, shared, this.look);
      mesh.customDepthMaterial = depth;
    }
    return mesh;
  }
}

export interface Wish {
  smooth: boolean; // light at every pixel, and shadows
  detail: number; // what is larger than so many times less is more than a strip or a dot
  round: number; // how round round things are
  triangles: number; // at most about so many
}

const LEAST = 60; // triangles that a mesh keeps: with fewer it would be something else
const made = new WeakMap<object, Map<number, { vertices: number[]; triangles: number[] }>>();

// A mesh with fewer triangles, made once for each number of them, in steps of a fifth.
function coarser(mesh: { vertices: number[]; triangles: number[] }, triangles: number): { vertices: number[]; triangles: number[] } {
  const wanted = Math.max(LEAST, Math.round(1.2 ** Math.round(Math.log(triangles) / Math.log(1.2))));
  let known = made.get(mesh);
  if (!known) made.set(mesh, (known = new Map()));
  let found = known.get(wanted);
  if (!found) known.set(wanted, (found = coarsen(mesh.vertices, mesh.triangles, wanted)));
  return found;
}

// The parts as meshes, each as fine as its size on the screen asks for. pixels(part) says how many pixels a metre of it has.
export function bake(parts: Part[], scene: Scene, shared: Shared, pixels: (part: Part) => number, wish: Wish): { meshes: THREE.Mesh[]; triangles: number } {
  const scales = parts.map(pixels);
  shared.setSmooth(wish.smooth);
  let { detail, round } = wish;
  let choices: Choice[] = [];
  let inMeshes = 0;
  let others = 0;
  for (let i = 0; i < 12; i++, detail *= 0.7, round *= 0.7) {
    choices = thin(parts.map((part, k) => choose(part, scales[k]!, detail, round)));
    inMeshes = others = 0;
    for (const choice of choices)
      if (choice.part.form === 'mesh') inMeshes += trianglesOf(choice, scene);
      else others += trianglesOf(choice, scene);
    if (others <= Math.max(wish.triangles - inMeshes, wish.triangles / 2)) break;
  }
  // Meshes share what is left, by their own numbers.
  const share = Math.min(1, Math.max(wish.triangles - others, wish.triangles / 4) / Math.max(inMeshes, 1));
  const writers = new Map<string, Writer>();
  const solids = new Map<string, Solid>();
  const solid = (key: string, make: () => Solid): Solid => {
    let found = solids.get(key);
    if (!found) solids.set(key, (found = make()));
    return found;
  };
  const written = (part: Part, strip: boolean, texture = -1): Writer => {
    const look = { strip, clear: part.opacity < 1, doubled: part.form === 'plane' || part.form === 'mesh', floor: part.form === 'plane', texture };
    const key = JSON.stringify(look);
    let writer = writers.get(key);
    if (!writer) writers.set(key, (writer = new Writer(scene.drawn, look)));
    return writer;
  };
  let triangles = 0;
  const addSolid = (part: Part, made: Solid, scale: [number, number, number], coordinates?: number[]): void => {
    triangles += made.triangles.length / 3;
    const mapped = shared.has(part.texture) && (part.form === 'plane' || coordinates !== undefined);
    written(part, false, mapped ? part.texture : -1).addSolid(part, made, scale, mapped ? coordinates : undefined);
  };
  for (const choice of choices) {
    const { part, around } = choice;
    const [x, y, z] = part.size;
    if (around === 0) {
      triangles += 2;
      written(part, true).addStrip(choice);
    } else if (part.form === 'box') addSolid(part, solid('box', box), [x, y, z]);
    else if (part.form === 'plane') addSolid(part, solid('plane', square), [x, y, 1]);
    else if (part.form === 'cylinder') addSolid(part, solid(`cylinder ${around}`, () => cylinder(around)), [x, y, z]);
    else if (part.form === 'ball') addSolid(part, solid(`ball ${around}`, () => ball(around)), [x, y, z]);
    else if (part.form === 'capsule') addSolid(part, ball(around, z / x), [x, x, x]);
    else {
      const mesh = scene.meshes[part.mesh];
      if (!mesh) continue;
      const mapped = share < 1 || !shared.has(part.texture) ? undefined : mesh.coordinates;
      const make = (): Solid => {
        const made = share < 1 ? coarser(mesh, (share * mesh.triangles.length) / 3) : mesh;
        return facets(made.vertices, made.triangles, { coarse: share < 1, apart: mapped !== undefined });
      };
      addSolid(part, solid(`mesh ${part.mesh} ${mapped !== undefined}`, make), [1, 1, 1], mapped);
    }
  }
  return { meshes: [...writers.values()].map((writer) => writer.mesh(shared, wish.smooth)), triangles };
}
