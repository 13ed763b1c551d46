// Solids as triangles, as fine as somebody asks for. Around z, as everywhere in Calder; normals point outwards.

export interface Solid {
  positions: Float32Array; // 3 a corner
  normals: Float32Array;
  triangles: Uint32Array;
}

// A ball of radius 1, or, with a half-length, the two halves of one moved apart by it: a capsule.
export function ball(around: number, half = 0): Solid {
  const rings = Math.max(2, 2 * Math.round(around / 4));
  const heights: [number, number][] = []; // angle from the south pole, and where that ring's centre is
  for (let i = 0; i <= rings; i++) {
    if (half > 0 && 2 * i === rings) heights.push([i, -half], [i, half]);
    else heights.push([i, 2 * i < rings ? -half : half]);
  }
  const positions: number[] = [];
  const normals: number[] = [];
  const triangles: number[] = [];
  heights.forEach(([i, shift], ring) => {
    const radius = Math.sin((Math.PI * i) / rings);
    const z = -Math.cos((Math.PI * i) / rings);
    for (let k = 0; k < around; k++) {
      const angle = (2 * Math.PI * k) / around;
      const x = radius * Math.cos(angle);
      const y = radius * Math.sin(angle);
      positions.push(x, y, z + shift);
      normals.push(x, y, z);
      if (ring === 0) continue;
      const [a, b] = [around * (ring - 1) + k, around * (ring - 1) + ((k + 1) % around)];
      const [c, d] = [a + around, b + around];
      if (ring > 1) triangles.push(a, b, d);
      if (ring < heights.length - 1) triangles.push(a, d, c);
    }
  });
  return { positions: Float32Array.from(positions), normals: Float32Array.from(normals), triangles: Uint32Array.from(triangles) };
}

// Radius 1, from −1 to 1.
export function cylinder(around: number): Solid {
  const positions: number[] = [];
  const normals: number[] = [];
  const triangles: number[] = [];
  for (let k = 0; k < around; k++) {
    const angle = (2 * Math.PI * k) / around;
    const [x, y] = [Math.cos(angle), Math.sin(angle)];
    positions.push(x, y, -1, x, y, 1, x, y, -1, x, y, 1);
    normals.push(x, y, 0, x, y, 0, 0, 0, -1, 0, 0, 1);
    const [a, b] = [4 * k, 4 * ((k + 1) % around)];
    triangles.push(a, b, b + 1, a, b + 1, a + 1);
    if (k > 0 && k < around - 1) triangles.push(2, b + 2, a + 2, 3, a + 3, b + 3);
  }
  return { positions: Float32Array.from(positions), normals: Float32Array.from(normals), triangles: Uint32Array.from(triangles) };
}

// From −1 to 1.
export function box(): Solid {
  const positions: number[] = [];
  const normals: number[] = [];
  const triangles: number[] = [];
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-1, 1]) {
      const first = positions.length / 3;
      for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, 1]] as const) {
        const corner = [0, 0, 0];
        corner[axis] = side;
        corner[(axis + 1) % 3] = side * u;
        corner[(axis + 2) % 3] = v;
        positions.push(...corner);
        for (let k = 0; k < 3; k++) normals.push(k === axis ? side : 0);
      }
      triangles.push(first, first + 1, first + 2, first, first + 2, first + 3);
    }
  return { positions: Float32Array.from(positions), normals: Float32Array.from(normals), triangles: Uint32Array.from(triangles) };
}

export function square(): Solid {
  return { positions: Float32Array.of(-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0), normals: Float32Array.of(0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1), triangles: Uint32Array.of(0, 1, 2, 0, 2, 3) };
}

// Faces that meet at a smaller angle look like one round surface. Of meshes that were made coarser all angles are larger.
const CREASE = Math.cos((35 * Math.PI) / 180);
const COARSE_CREASE = Math.cos((60 * Math.PI) / 180);

// A mesh with normals for each corner of each face: the mean of the faces that meet there at a small angle, so that round things
// look round and edges stay edges. Corners with the same place and normal are one, unless each has something of its own (`apart`): where a
// processor draws, corners are what a frame costs.
export function facets(vertices: ArrayLike<number>, triangles: ArrayLike<number>, { coarse = false, apart = false } = {}): Solid {
  const crease = coarse ? COARSE_CREASE : CREASE;
  const count = triangles.length;
  const positions = new Float32Array(3 * count);
  const flat = new Float32Array(count); // 3 a face: its normal times twice its area
  const corners = new Map<string, number[]>(); // faces at a place
  const names: string[] = [];
  for (let t = 0; t + 2 < count; t += 3) {
    for (let k = 0; k < 3; k++) {
      const v = 3 * triangles[t + k]!;
      const [x, y, z] = [vertices[v]!, vertices[v + 1]!, vertices[v + 2]!];
      positions.set([x, y, z], 3 * (t + k));
      const name = `${Math.fround(x)} ${Math.fround(y)} ${Math.fround(z)}`;
      names.push(name);
      const known = corners.get(name);
      if (known) known.push(t);
      else corners.set(name, [t]);
    }
    const p = positions.subarray(3 * t, 3 * t + 9);
    const [ux, uy, uz] = [p[3]! - p[0]!, p[4]! - p[1]!, p[5]! - p[2]!];
    const [vx, vy, vz] = [p[6]! - p[0]!, p[7]! - p[1]!, p[8]! - p[2]!];
    flat.set([uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx], t);
  }
  const normals = new Float32Array(3 * count);
  for (let corner = 0; corner < names.length; corner++) {
    const own = corner - (corner % 3);
    const [x, y, z] = [flat[own]!, flat[own + 1]!, flat[own + 2]!];
    const length = Math.hypot(x, y, z) || 1;
    const sum = [0, 0, 0];
    for (const face of corners.get(names[corner]!)!) {
      const [a, b, c] = [flat[face]!, flat[face + 1]!, flat[face + 2]!];
      if (face !== own && x * a + y * b + z * c < crease * length * Math.hypot(a, b, c)) continue;
      sum[0]! += a;
      sum[1]! += b;
      sum[2]! += c;
    }
    const whole = Math.hypot(sum[0]!, sum[1]!, sum[2]!) || 1;
    for (let k = 0; k < 3; k++) normals[3 * corner + k] = sum[k]! / whole;
  }
  const solid = { positions, normals, triangles: Uint32Array.from({ length: count }, (_, i) => i) };
  return apart ? solid : weld(solid, names);
}

// names: of the places of corners. Normals are drawn with seven bits.
function weld(solid: Solid, names: string[]): Solid {
  const known = new Map<string, number>();
  const kept: number[] = [];
  const triangles = new Uint32Array(solid.triangles.length);
  names.forEach((name, corner) => {
    const normal = solid.normals.subarray(3 * corner, 3 * corner + 3);
    const key = `${name} ${Math.round(127 * normal[0]!)} ${Math.round(127 * normal[1]!)} ${Math.round(127 * normal[2]!)}`;
    let found = known.get(key);
    if (found === undefined) {
      found = kept.length;
      known.set(key, found);
      kept.push(corner);
    }
    triangles[corner] = found;
  });
  const take = (from: Float32Array): Float32Array => Float32Array.from({ length: 3 * kept.length }, (_, i) => from[3 * kept[Math.floor(i / 3)]! + (i % 3)]!);
  return { positions: take(solid.positions), normals: take(solid.normals), triangles };
}

// A mesh with fewer triangles: corners in the same cell of a grid become one, and triangles that lose an edge go. Aims at so
// many triangles, and never has more than the mesh.
export function coarsen(vertices: number[], triangles: number[], wanted: number): { vertices: number[]; triangles: number[] } {
  let best = { vertices, triangles };
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < vertices.length; i++) {
    low[i % 3] = Math.min(low[i % 3]!, vertices[i]!);
    high[i % 3] = Math.max(high[i % 3]!, vertices[i]!);
  }
  const edge = Math.max(high[0]! - low[0]!, high[1]! - low[1]!, high[2]! - low[2]!);
  // A surface through n³ cells meets about n² of them, with two triangles each, times how it is folded; what is long and thin meets a few
  // times n, so that it begins with more.
  for (let cells = Math.max(12, Math.round(Math.sqrt(wanted))); best.triangles.length / 3 > 1.3 * wanted && cells >= 2; cells = Math.floor(0.8 * cells)) {
    const size = edge / cells || 1;
    const places = new Map<number, number>();
    const sums: number[] = [];
    const counts: number[] = [];
    const renamed = new Uint32Array(vertices.length / 3);
    for (let v = 0; v < renamed.length; v++) {
      const cell = [0, 1, 2].map((k) => Math.floor((vertices[3 * v + k]! - low[k]!) / size));
      const key = (cell[2]! * 4096 + cell[1]!) * 4096 + cell[0]!;
      let place = places.get(key);
      if (place === undefined) {
        place = counts.length;
        places.set(key, place);
        sums.push(0, 0, 0);
        counts.push(0);
      }
      for (let k = 0; k < 3; k++) sums[3 * place + k]! += vertices[3 * v + k]!;
      counts[place]!++;
      renamed[v] = place;
    }
    const kept: number[] = [];
    for (let t = 0; t + 2 < triangles.length; t += 3) {
      const [a, b, c] = [renamed[triangles[t]!]!, renamed[triangles[t + 1]!]!, renamed[triangles[t + 2]!]!];
      if (a !== b && b !== c && c !== a) kept.push(a, b, c);
    }
    best = { vertices: sums.map((sum, i) => sum / counts[Math.floor(i / 3)]!), triangles: kept };
  }
  return best;
}
