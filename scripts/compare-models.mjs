#!/usr/bin/env node
// Reads every MJCF file below some folders with Calder and with MuJoCo, and compares accelerations, mass matrix, total mass
// and poses at a random state:
//
//     npm install @mujoco/mujoco          (anywhere; NODE_PATH or the current folder tells where)
//     scripts/compare-models.mjs build/bin/calder FOLDER … [--out table.json] [--match TEXT] [--one FILE] [--seed N]
//
// Contacts, limits, equalities and frictions are switched off on both sides, and so is what Calder's report says that it does
// not simulate. A model agrees when all relative differences are below 1e-8. Files that are no models by themselves (included
// by others, or refused by MuJoCo as well) are counted apart. --record FOLDER writes what MuJoCo says of each model as a text
// file there, for tests that run without it.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const argumentsGiven = process.argv.slice(2);
const takeOption = name => {
  const at = argumentsGiven.indexOf(name);
  return at < 0 ? null : argumentsGiven.splice(at, 2)[1];
};
const out = takeOption('--out'), match = takeOption('--match'), one = takeOption('--one');
const recordFolder = takeOption('--record');
let seed = Number(takeOption('--seed') ?? 1);
const [calder, ...folders] = argumentsGiven;
if (!calder || (folders.length === 0 && !one)) {
  console.error('usage: scripts/compare-models.mjs CALDER FOLDER … [--out FILE] [--match TEXT] [--record FOLDER] [--seed N]');
  process.exit(2);
}
const tolerance = 1e-8;
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'compare-models-'));
process.on('exit', () => fs.rmSync(work, { recursive: true, force: true }));

function filesBelow(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap(entry => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(full);
    return entry.name.endsWith('.xml') ? [full] : [];
  });
}

function ask(...words) {
  const answer = spawnSync(calder, words, { encoding: 'utf8', maxBuffer: 1 << 30, timeout: 120000 });
  if (answer.status === 0) return { value: JSON.parse(answer.stdout) };
  const line = (answer.stderr ?? '').trim().split('\n').pop();
  return { status: answer.status ?? answer.signal, error: line.replace(/^calder: /, '') };
}

const random = () => {
  seed = (seed * 48271) % 2147483647;
  return (2 * seed) / 2147483647 - 1;
};
const largest = values => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const difference = (a, b) => {
  if (a.length !== b.length) return Infinity;
  const worst = a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
  return Number.isNaN(worst) ? Infinity : worst / Math.max(largest(b), 1e-300);
};

// MuJoCo prints what it thinks of a file; the last line is enough.
let heard = '';
async function loadMujoco() {
  const paths = [process.cwd(), ...(process.env.NODE_PATH ?? '').split(':').filter(Boolean)];
  const found = createRequire(import.meta.url).resolve('@mujoco/mujoco', { paths });
  const make = (await import(pathToFileURL(found))).default;
  const listen = text => { heard = text; };
  return make({ print: listen, printErr: listen });
}
let mujoco = await loadMujoco();

// The folder of a model (and its parents' names), inside MuJoCo's own file system.
const copied = new Set();
function copyFolder(folder) {
  if (copied.has(folder)) return;
  copied.add(folder);
  let made = '';
  for (const part of folder.split('/').filter(Boolean)) {
    made += '/' + part;
    try { mujoco.FS.mkdir(made); } catch { /* there already */ }
  }
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) copyFolder(full);
    else if (/\.(xml|stl|obj|msh|urdf|png)$/i.test(entry.name)) mujoco.FS.writeFile(full, fs.readFileSync(full));
  }
}
async function refresh() {
  mujoco = await loadMujoco();
  copied.clear();
}

// abc ∫₀^∞ dλ / ((a² + λ) √((a² + λ)(b² + λ)(c² + λ))) by Carlson's doubling.
function addedMassFactor(a, b, c) {
  let [x, y, z] = [b * b, c * c, a * a], sum = 0, share = 1;
  for (let i = 0; i < 60; i++) {
    const [rx, ry, rz] = [x, y, z].map(Math.sqrt), lambda = rx * (ry + rz) + ry * rz;
    sum += share / (rz * (z + lambda));
    share /= 4;
    [x, y, z] = [(x + lambda) / 4, (y + lambda) / 4, (z + lambda) / 4];
  }
  return 2 / 3 * a * b * c * (3 * sum + share * z ** -1.5);
}

// MuJoCo finds the fluid that moves along with an ellipsoid by a rule of 15 points, good to seven digits; exact numbers replace its own.
function sharpenFluid(model) {
  for (let geom = 0; geom < model.ngeom; geom++) {
    const fluid = model.geom_fluid.subarray(12 * geom, 12 * geom + 12), size = model.geom_size.subarray(3 * geom, 3 * geom + 3);
    if (!(fluid[0] > 0)) continue;
    const type = model.geom_type[geom]; // 2 sphere, 3 capsule, 5 cylinder
    const r = type === 2 ? [size[0], size[0], size[0]] : type === 3 ? [size[0], size[0], size[0] + size[1]]
      : type === 5 ? [size[0], size[0], size[1]] : Array.from(size);
    const volume = 4 / 3 * Math.PI * r[0] * r[1] * r[2], s = r.map(x => x * x);
    const k = [0, 1, 2].map(i => addedMassFactor(r[i], r[(i + 1) % 3], r[(i + 2) % 3]));
    for (let i = 0; i < 3; i++) {
      const j = (i + 1) % 3, n = (i + 2) % 3, apart = s[j] - s[n];
      fluid[6 + i] = volume * k[i] / (2 - k[i]);
      fluid[9 + i] = volume / 5 * apart * apart * Math.abs(k[n] - k[j])
        / Math.max(1e-14, Math.abs(2 * apart + (s[j] + s[n]) * (k[j] - k[n])));
    }
  }
}

// Draws a state, and lets both compute at it.
function compare(file, model, info) {
  const data = new mujoco.MjData(model);
  const quaternions = [];
  for (const body of info.tree)
    for (const joint of body.joints)
      if (joint.kind === 'ball' || joint.kind === 'free') quaternions.push(joint.first_q + (joint.kind === 'free' ? 3 : 0));
  const q = Array.from(data.qpos, value => value + 0.3 * random());
  const v = Array.from(data.qvel, () => 0.5 * random());
  const tau = Array.from(data.qvel, () => random());
  for (const at of quaternions) {
    const length = Math.hypot(...q.slice(at, at + 4));
    for (let i = at; i < at + 4; i++) q[i] /= length;
  }
  const drives = !info.issues.some(issue => issue.element.startsWith('actuator'));
  const control = Array.from(data.ctrl, () => random());
  if (drives && control.length !== info.actuators) return { sizes: `${info.actuators} actuators, MuJoCo has ${control.length}` };
  if (q.length !== info.positions || v.length !== info.dof)
    return { sizes: `${info.positions} positions and ${info.dof} degrees, MuJoCo has ${q.length} and ${v.length}` };

  model.opt.disableflags |= 1 | (drives ? 0 : 1 << 11);
  for (const name of ['jnt_stiffnesspoly', 'dof_dampingpoly', 'tendon_stiffnesspoly',
    'tendon_dampingpoly'])
    if (model[name]) model[name].fill(0);
  for (let tendon = 0; tendon < model.ntendon; tendon++) if (model.tendon_num[tendon] > 1) model.tendon_armature[tendon] = 0;
  for (let joint = 0; joint < model.njnt; joint++) if (model.jnt_type[joint] === 0) model.jnt_stiffness[joint] = 0;
  sharpenFluid(model);
  data.qpos.set(q);
  data.qvel.set(v);
  data.qfrc_applied.set(tau);
  data.ctrl.set(control);
  // Activations are from 0 to 1, as muscles have them, and inside of their range.
  const activation = control.map(() => 0);
  for (let i = 0; i < model.nu; i++) {
    const at = model.actuator_actadr[i];
    if (at < 0) continue;
    const range = model.actuator_actrange.subarray(2 * i, 2 * i + 2), [low, high] = range[0] < range[1] ? range : [0, 1];
    activation[i] = data.act[at] = low + (high - low) * Math.abs(control[i]);
  }
  mujoco.mj_forward(model, data);
  const nv = v.length, buffer = new mujoco.DoubleBuffer(nv * nv);
  mujoco.mj_fullM(model, data, buffer);
  const theirs = {
    qdd: Array.from(data.qacc), mass: Array.from(buffer.GetView()),
    total: Array.from(model.body_mass).reduce((sum, mass) => sum + mass, 0),
  };

  const state = path.join(work, 'state.json');
  const numbers = { q, v, tau };
  if (drives) Object.assign(numbers, { control, activation });
  fs.writeFileSync(state, JSON.stringify(numbers));
  const disabled = 'constraint' + (drives ? '' : ',actuation');
  const evaluate = what => ask('eval', file, '--allow-outside', '--what', what, '--state', state, '--disable', disabled, '--json');
  const forward = evaluate('forward'), mass = evaluate('mass'), pose = evaluate('pose');
  for (const answer of [forward, mass, pose]) if (answer.error) return { error: answer.error };
  const result = {
    qdd: difference(forward.value.qdd, theirs.qdd),
    mass: difference(mass.value.mass.flat(), theirs.mass),
    total: Math.abs(info.total_mass - theirs.total) / Math.max(theirs.total, 1e-300),
    drives,
  };
  // Bodies by name: MuJoCo may have fused some of them, and does not name all.
  let poses = 0;
  const size = 1 + largest(data.xpos);
  for (let body = 1; body < model.nbody; body++) {
    const name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY.value, body);
    const ours = name ? pose.value.pose[name] : null;
    if (!ours) continue;
    const xpos = data.xpos.subarray(3 * body, 3 * body + 3), xquat = data.xquat.subarray(4 * body, 4 * body + 4);
    for (let i = 0; i < 3; i++) poses = Math.max(poses, Math.abs(ours[i] - xpos[i]) / size);
    const sign = ours.slice(3).reduce((sum, value, i) => sum + value * xquat[i], 0) < 0 ? -1 : 1;
    for (let i = 0; i < 4; i++) poses = Math.max(poses, Math.abs(ours[3 + i] - sign * xquat[i]));
  }
  result.pose = poses;
  if (recordFolder) {
    const lines = [['# MuJoCo', mujoco.mj_versionString()], ['q', ...q], ['v', ...v], ['tau', ...tau]];
    const inputs = control.map((value, i) => (model.actuator_actadr[i] < 0 ? value : activation[i]));
    if (drives) lines.push(['control', ...inputs]);
    lines.push(['qdd', ...theirs.qdd], ['mass', ...theirs.mass], ['total', theirs.total]);
    for (let body = 1; body < model.nbody; body++) {
      const name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY.value, body);
      if (!name || !pose.value.pose[name]) continue;
      lines.push(['pose', name, ...data.xpos.subarray(3 * body, 3 * body + 3), ...data.xquat.subarray(4 * body, 4 * body + 4)]);
    }
    const target = path.join(recordFolder, path.basename(file, '.xml') + '.expected');
    fs.writeFileSync(target, lines.map(line => line.join(' ') + '\n').join(''));
  }
  data.delete();
  buffer.delete();
  return result;
}

async function examine(file, top, again) {
  const row = { file };
  const text = fs.readFileSync(file, 'utf8');
  if (!/<mujoco[\s>]/.test(text)) return { ...row, kind: 'no model' };
  const info = ask('info', file, '--allow-outside', '--json');
  let model = null;
  heard = '';
  try {
    copyFolder(top);
    model = mujoco.MjModel.mj_loadXML(file);
  } catch (error) {
    row.mujoco = String(error?.message ?? heard ?? error).split('\n').join(' ').trim() || heard;
  }
  if (!model && !/Error: (Loading|XML)|not found/.test(row.mujoco ?? '') && !again) {
    await refresh(); // it does not survive a crash, nor does it give memory back; a fresh one may manage
    return examine(file, top, true);
  }
  if (!model) row.mujoco ??= heard || 'refused';
  if (info.error) {
    row.calder = info.error;
    row.kind = !model ? 'both refuse' : 'refused';
  } else if (!model) {
    row.kind = 'only here';
  } else {
    row.dof = info.value.dof;
    row.issues = info.value.issues.filter(issue => issue.kind !== 'note').map(issue => issue.element);
    try {
      Object.assign(row, compare(file, model, info.value));
    } catch (error) {
      row.error = String(error?.message ?? error);
      await refresh();
    }
    const worst = Math.max(row.qdd, row.mass, row.total, row.pose);
    row.kind = row.error || row.sizes ? 'not compared' : worst < tolerance ? 'agrees' : 'differs';
  }
  try { model?.delete(); } catch { /* MuJoCo was loaded afresh */ }
  return row;
}

const table = [];
async function run(file, top) {
  const row = await examine(path.resolve(file), path.resolve(top));
  table.push(row);
  const small = value => (value === undefined ? '' : value.toExponential(1));
  const detail = row.kind === 'agrees' || row.kind === 'differs'
    ? `qdd ${small(row.qdd)} mass ${small(row.mass)} total ${small(row.total)} pose ${small(row.pose)}`
    : row.calder ?? row.sizes ?? row.error ?? row.mujoco ?? '';
  console.log(`${row.kind.padEnd(12)} ${file}  ${detail}`);
}

if (one) await run(one, path.dirname(one));
for (const folder of folders) {
  for (const entry of fs.readdirSync(folder).sort()) {
    const full = path.join(folder, entry);
    const files = fs.statSync(full).isDirectory() ? filesBelow(full) : full.endsWith('.xml') ? [full] : [];
    const top = fs.statSync(full).isDirectory() ? full : folder;
    for (const file of files) if (!match || file.includes(match)) await run(file, top);
    if (copied.has(path.resolve(top)) && !copied.has(path.resolve(folder))) await refresh();
  }
}
const counts = {};
for (const row of table) counts[row.kind] = (counts[row.kind] ?? 0) + 1;
console.log(JSON.stringify(counts));
if (out) fs.writeFileSync(out, JSON.stringify(table, null, 1));
