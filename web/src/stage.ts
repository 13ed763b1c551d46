// Where the model stands: camera, light, ground.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import type { Light } from './batch';
import { Quality } from './quality';

export interface Theme {
  background: number;
  grid: number;
  sky: number;
  earth: number;
  ambient: number;
  key: number;
  tone: number; // of floors
  head: number; // light from where the eye is
  rim: number; // how much lighter, or where negative darker, edges are
}

export const themes: Record<'dark' | 'light', Theme> = {
  dark: { background: 0x1b2027, grid: 0x566173, sky: 0xdfe8ff, earth: 0x4a505c, ambient: 1.35, key: 2.3, tone: 0.52, head: 0.65, rim: 0.34 },
  light: { background: 0xdfdbd3, grid: 0xa39d92, sky: 0xffffff, earth: 0xa9a294, ambient: 1.3, key: 2.1, tone: 0.94, head: 0.5, rim: -0.3 },
};

// Pixels at the edges of the canvas that something else covers.
export interface Covered {
  right: number;
  top: number;
  bottom: number;
}

// Lines every metre (or ten, or a tenth), every fifth stronger, that fade away with the distance.
function makeGrid(extent: number, cell: number, line: THREE.Color): THREE.LineSegments {
  const count = Math.min(Math.floor(extent / cell), 60);
  const pieces = 12;
  const reach = count * cell;
  const points: number[] = [];
  const colors: number[] = [];
  const add = (x: number, y: number, strength: number): void => {
    const fade = Math.max(0, 1 - Math.hypot(x, y) / reach) ** 1.5;
    points.push(x, y, 0);
    colors.push(line.r, line.g, line.b, strength * fade);
  };
  for (let i = -count; i <= count; i++) {
    const half = Math.sqrt(Math.max(reach * reach - i * i * cell * cell, 0));
    const strength = i % 5 === 0 ? 0.9 : 0.42;
    for (let k = 0; k < pieces; k++)
      for (const end of [k, k + 1]) {
        const along = half * ((2 * end) / pieces - 1);
        add(i * cell, along, strength);
      }
    for (let k = 0; k < pieces; k++)
      for (const end of [k, k + 1]) {
        const along = half * ((2 * end) / pieces - 1);
        add(along, i * cell, strength);
      }
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.Float32BufferAttribute(points, 3));
  geometry.setAttribute('color', new THREE.Float32BufferAttribute(colors, 4));
  return new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false, toneMapped: false }));
}

// Whether there is no graphics processor: fine shading and shadows would cost more than they are worth, unless a picture is
// all that is wanted (#fine).
function drawsInSoftware(): boolean {
  if (location.hash === '#fine') return false;
  const context = document.createElement('canvas').getContext('webgl2');
  const info = context?.getExtension('WEBGL_debug_renderer_info');
  const name = info ? String(context!.getParameter(info.UNMASKED_RENDERER_WEBGL)) : '';
  context?.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

export class Stage {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  readonly renderer: THREE.WebGLRenderer;
  readonly up = new THREE.Vector3(0, 0, 1);
  dirty = true;
  fps = 0;
  readonly software: boolean;
  readonly quality: Quality;
  private readonly sun = new THREE.DirectionalLight(0xffffff, 2);
  private readonly head = new THREE.DirectionalLight(0xffffff, 1);
  private readonly sky = new THREE.HemisphereLight(0xffffff, 0x444444, 1);
  private ground: THREE.LineSegments | null = null;
  private remakeGround: () => void = () => undefined;
  private shade: THREE.Mesh<THREE.PlaneGeometry, THREE.ShadowMaterial> | null = null;
  private theme: Theme = themes.dark;
  private cell = 1; // m, of the ground's squares
  private radius = 1; // of the model
  private floored = false; // the model has a floor of its own
  private readonly covered: Covered = { right: 0, top: 0, bottom: 0 };
  private drawn = 0;
  private asked = 0; // how often the browser wanted a frame
  private counted = performance.now();
  private gap = false; // more than three seconds passed between two frames

  constructor(readonly canvas: HTMLCanvasElement) {
    this.software = drawsInSoftware();
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !this.software, powerPreference: 'high-performance' });
    this.quality = new Quality(this.software ? 'light' : 'finest');
    if (location.hash === '#fine') this.quality.fix('finest');
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.sun, this.sun.target, this.head, this.head.target, this.sky);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.screenSpacePanning = true;
    this.controls.addEventListener('change', () => (this.dirty = true));
    this.applyQuality();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    this.camera.aspect = width / height;
    // The middle of what is free is the middle of the view.
    const { right, top, bottom } = this.covered;
    this.camera.setViewOffset(width, height, right / 2, (bottom - top) / 2, width, height);
    this.renderer.setSize(width, height, false);
    this.dirty = true;
  }

  setCovered(covered: Partial<Covered>): void {
    Object.assign(this.covered, covered);
    this.resize();
  }

  // Takes over what the quality says.
  applyQuality(): void {
    const level = this.quality.level;
    // Without antialiasing more pixels than the screen has do the same.
    const most = this.software && level.ratio > 1 ? 2 : window.devicePixelRatio;
    this.renderer.setPixelRatio(Math.min(most, level.ratio));
    this.sun.castShadow = level.shadows;
    if (this.shade) this.shade.visible = level.shadows && !this.floored;
    this.resize();
  }

  // Pixels from the top of the picture to its bottom.
  get height(): number {
    return this.renderer.domElement.height;
  }

  get light(): Light {
    return {
      sunward: this.sun.position.clone().sub(this.sun.target.position).normalize(),
      upward: this.up,
      sun: this.sun.color.clone().multiplyScalar(this.sun.intensity),
      sky: this.sky.color.clone().multiplyScalar(this.sky.intensity),
      earth: this.sky.groundColor.clone().multiplyScalar(this.sky.intensity),
      head: new THREE.Color(0xffffff).multiplyScalar(this.head.intensity),
      rim: new THREE.Color().setRGB(this.theme.rim, this.theme.rim, 1.08 * this.theme.rim, THREE.LinearSRGBColorSpace),
      horizon: new THREE.Color(this.theme.background),
      tone: this.theme.tone,
      cell: this.cell,
      fade: new THREE.Vector2(7 * this.radius, 22 * this.radius),
    };
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.scene.background = new THREE.Color(theme.background);
    this.sky.color.set(theme.sky);
    this.sky.groundColor.set(theme.earth);
    this.sky.intensity = theme.ambient;
    this.sun.intensity = theme.key;
    this.head.intensity = theme.head;
    this.remakeGround();
    this.dirty = true;
  }

  // Another model: which way is up.
  setUp(up: THREE.Vector3): void {
    this.up.copy(up);
    this.camera.up.copy(up);
    // OrbitControls turns about what was up when it was made.
    const orbit = this.controls as unknown as { _quat: THREE.Quaternion; _quatInverse: THREE.Quaternion };
    orbit._quat.setFromUnitVectors(up, new THREE.Vector3(0, 1, 0));
    orbit._quatInverse.copy(orbit._quat).invert();
  }

  // Ground, light and clipping for a model of this extent.
  // A model with a floor of its own needs no grid.
  build(box: THREE.Box3, floor: boolean): void {
    const size = box.getSize(new THREE.Vector3());
    const radius = Math.max(0.5 * size.length(), 1e-3);
    const center = box.getCenter(new THREE.Vector3());
    const corners = [box.min, box.max].map((corner) => corner.dot(this.up));
    const lowest = Math.min(...corners);
    // What stands stands on zero; what hangs has the ground below it.
    const height = lowest > -0.05 * radius && lowest < 2 * radius ? Math.min(0, lowest) : lowest - 0.1 * radius;
    const extent = 5 * radius;
    const scale = 10 ** Math.floor(Math.log10(radius / 2));
    const cell = radius / 2 / scale >= 5 ? 5 * scale : radius / 2 / scale >= 2 ? 2 * scale : scale;
    this.cell = cell;
    if (this.shade) this.scene.remove(this.shade);
    const plane = new THREE.PlaneGeometry(2 * extent, 2 * extent);
    this.shade = new THREE.Mesh(plane, new THREE.ShadowMaterial({ opacity: 0.28 }));
    this.shade.receiveShadow = true;
    this.shade.visible = this.quality.level.shadows;
    const flat = center.clone().addScaledVector(this.up, height - center.dot(this.up));
    const place = (object: THREE.Object3D): void => {
      object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), this.up);
      object.position.copy(flat);
      this.scene.add(object);
    };
    place(this.shade);
    this.remakeGround = () => {
      if (this.ground) this.scene.remove(this.ground);
      this.ground = null;
      if (floor) return;
      this.ground = makeGrid(extent, cell, new THREE.Color(this.theme.grid));
      place(this.ground);
      // A little above the grounds of worlds, which lie where it lies.
      this.ground.position.addScaledVector(this.up, 1.5e-3 * radius);
    };
    this.shade.position.addScaledVector(this.up, -1e-3 * radius);
    this.shade.renderOrder = 1;

    const side = this.sideways();
    this.sun.position.copy(center).addScaledVector(this.up, 3.2 * radius).addScaledVector(side, 1.3 * radius);
    this.sun.position.addScaledVector(new THREE.Vector3().crossVectors(this.up, side), -0.9 * radius);
    this.sun.target.position.copy(center);
    const light = this.sun.shadow.camera;
    light.left = light.bottom = -1.9 * radius;
    light.right = light.top = 1.9 * radius;
    light.near = 0.1 * radius;
    light.far = 8 * radius;
    light.updateProjectionMatrix();
    this.sun.shadow.normalBias = 0.002 * radius;
    this.radius = radius;
    this.shade.visible = this.shade.visible && !floor;
    this.floored = floor;
    this.camera.far = 40 * radius;
    this.controls.maxDistance = 15 * radius;
    this.controls.minDistance = 0.02 * radius;
    this.setTheme(this.theme);
    this.frame(box);
  }

  private sideways(): THREE.Vector3 {
    const axis = Math.abs(this.up.x) < 0.9 ? new THREE.Vector3(1, 0, 0) : new THREE.Vector3(0, 0, 1);
    return axis.addScaledVector(this.up, -axis.dot(this.up)).normalize();
  }

  // Puts the camera where it sees all of a box, from where it looks now or, the first time, from the front and a little above.
  frame(box: THREE.Box3, keep = false): void {
    // What is left of a gesture, which damping spreads over the next frames, comes at once: it would take the camera away again.
    this.controls.enableDamping = false;
    this.controls.update();
    this.controls.enableDamping = true;
    const side = this.sideways();
    const front = new THREE.Vector3().crossVectors(side, this.up);
    const view = keep
      ? this.camera.position.clone().sub(this.controls.target).normalize()
      : front.multiplyScalar(0.86).addScaledVector(side, 0.5).addScaledVector(this.up, 0.16).normalize();
    const center = box.getCenter(new THREE.Vector3());
    this.controls.target.copy(center);
    this.camera.position.copy(center).addScaledVector(view, this.distanceFor(box, center, view));
    this.controls.update();
    this.dirty = true;
  }

  // How far from a point that it looks at the camera must be to see a box.
  private distanceFor(box: THREE.Box3, center: THREE.Vector3, view: THREE.Vector3): number {
    const right = new THREE.Vector3().crossVectors(this.up, view).normalize();
    const above = new THREE.Vector3().crossVectors(view, right);
    const tangent = Math.tan((this.camera.fov * Math.PI) / 360);
    const height = Math.max(this.canvas.clientHeight, 1);
    const { right: covered, top, bottom } = this.covered;
    const [freeWidth, freeHeight] = [Math.max(this.canvas.clientWidth - covered, 100) / height, Math.max(height - top - bottom, 100) / height];
    let distance = 1e-3;
    for (let i = 0; i < 8; i++) {
      const corner = new THREE.Vector3(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z).sub(center);
      const wide = Math.abs(corner.dot(right)) / (tangent * freeWidth);
      const high = Math.abs(corner.dot(above)) / (tangent * freeHeight);
      distance = Math.max(distance, corner.dot(view) + 1.06 * Math.max(wide, high));
    }
    return distance;
  }

  // Goes a share of the way back to where all of a box is seen, when it is not.
  widen(box: THREE.Box3, share: number): void {
    const view = this.camera.position.clone().sub(this.controls.target);
    const distance = view.length();
    view.divideScalar(distance);
    const most = 0.9 * this.controls.maxDistance;
    if (distance > most || this.distanceFor(box, this.controls.target, view) < 1.02 * distance) return;
    const center = box.getCenter(new THREE.Vector3());
    const wanted = Math.min(Math.max(this.distanceFor(box, center, view), distance), most);
    this.controls.target.lerp(center, share);
    this.camera.position.copy(this.controls.target).addScaledVector(view, distance + share * (wanted - distance));
    this.dirty = true;
  }

  // Moves the camera and what it looks at.
  shift(by: THREE.Vector3): void {
    this.camera.position.add(by);
    this.controls.target.add(by);
    this.dirty = true;
  }

  // Draws when something changed; returns whether it did.
  render(): boolean {
    this.controls.update();
    if (!this.dirty) return false;
    this.dirty = false;
    // Depth has few digits: what is nearer than anything can be seen gets none of them.
    const near = Math.max(0.03 * this.camera.position.distanceTo(this.controls.target), 0.002 * this.radius);
    if (Math.abs(near - this.camera.near) > 0.1 * near) {
      this.camera.near = near;
      this.camera.updateProjectionMatrix();
    }
    this.head.position.copy(this.camera.position);
    this.head.target.position.copy(this.controls.target);
    this.renderer.render(this.scene, this.camera);
    this.drawn++;
    return true;
  }

  // Once a second: the frame rate, and whether quality has to give way or may come back. Returns whether it did.
  measure(): boolean {
    const now = performance.now();
    const passed = (now - this.counted) / 1000;
    this.asked++;
    if (passed < 1) return false;
    // Where little was drawn, the browser's frames say nothing.
    // One gap is a page that slept; a frame that takes seconds, again and again, is a quality that is too high.
    const slept = passed > 3 && !this.gap;
    this.gap = passed > 3;
    const busy = this.drawn > 0.8 * this.asked && !document.hidden && !slept;
    this.fps = this.drawn / passed;
    this.drawn = this.asked = 0;
    this.counted = now;
    if (!busy || !this.quality.tell(this.fps)) return false;
    this.applyQuality();
    return true;
  }
}
