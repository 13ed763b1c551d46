#!/usr/bin/env node
// Moves one MJCF model with Calder and with MuJoCo, and compares where its joints are at some times.
//
//     npm install @mujoco/mujoco          (anywhere; NODE_PATH or the current folder tells where)
//     scripts/compare-motion.mjs MODEL.xml [--calder build/release/bin/calder] [--tol 1e-6] [--step 5e-6] TIME…
//
// MuJoCo's contacts and constraints are springs and dampers; here they are as stiff as its step allows (solref of four steps,
// solimp 0.9999, elliptic cones), so that both tend to the same rigid motion. MuJoCo's own error shows when --step is halved.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const options = { calder: 'build/release/bin/calder', tol: '1e-6', step: '5e-6' };
const words = process.argv.slice(2), plain = [];
while (words.length > 0) {
  const word = words.shift();
  if (word.startsWith('--')) options[word.slice(2)] = words.shift();
  else plain.push(word);
}
const [file, ...texts] = plain, times = texts.map(Number);
if (!file || times.length === 0 || times.some(time => !(time > 0))) {
  console.error('usage: compare-motion.mjs MODEL.xml [--calder PROGRAM] [--tol T] [--step S] TIME…');
  process.exit(2);
}

const paths = [process.cwd(), ...(process.env.NODE_PATH ?? '').split(':').filter(Boolean)];
const found = createRequire(import.meta.url).resolve('@mujoco/mujoco', { paths });
const mujoco = await (await import(pathToFileURL(found))).default({ print() {}, printErr: console.error });
mujoco.FS.writeFile('/model.xml', fs.readFileSync(file));
const model = mujoco.MjModel.from_xml_path('/model.xml'), step = Number(options.step);
Object.assign(model.opt, { timestep: step, cone: 1, integrator: 3, iterations: 200, tolerance: 1e-14, impratio: 10 });
for (const name of ['geom_solref', 'eq_solref'])
  for (let i = 0; i < model[name].length; i += 2) model[name].set([4 * step, 1], i);
for (const name of ['geom_solimp', 'eq_solimp'])
  for (let i = 0; i < model[name].length; i += 5) model[name].set([0.9999, 0.9999, 0.001], i);

const data = new mujoco.MjData(model), work = fs.mkdtempSync(path.join(os.tmpdir(), 'calder-'));
const state = path.join(work, 'state.json');
let steps = 0;
for (const time of times.sort((a, b) => a - b)) {
  for (; steps < Math.round(time / step); steps++) mujoco.mj_step(model, data);
  execFileSync(options.calder, ['sim', file, '--time', String(time), '--tol', options.tol, '--save', state],
    { stdio: ['ignore', 'ignore', 'ignore'] });
  const ours = JSON.parse(fs.readFileSync(state, 'utf8')).q, theirs = Array.from(data.qpos);
  const worst = ours.reduce((most, value, i) => Math.max(most, Math.abs(value - theirs[i])), 0);
  console.log(`${time} s   difference ${worst.toExponential(1)}   MuJoCo ${theirs.map(value => value.toFixed(6)).join(' ')}`);
}
fs.rmSync(work, { recursive: true });
