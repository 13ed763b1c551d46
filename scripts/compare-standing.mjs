#!/usr/bin/env node
// Starts every MJCF file that has a keyframe in its first one, with the keyframe's controls, and lets MuJoCo and Calder simulate it with
// contacts. Who still stands, or holds its pose, at the end?
//
//     npm install @mujoco/mujoco          (anywhere; NODE_PATH or the current folder tells where)
//     scripts/compare-standing.mjs build/bin/calder FILE … [--time 5] [--limit 120] [--out table.json]
//
// A model with a free base stands where that is above 0.7 of its first height, and has turned about a horizontal axis by less than 45°; its
// joints do not count. Others hold their pose where no joint has gone by more than 0.3 rad or 0.1 m. A run of Calder ends after `limit`
// seconds of the clock.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const given = process.argv.slice(2);
const option = (name, usual) => {
  const at = given.indexOf(name);
  return at < 0 ? usual : given.splice(at, 2)[1];
};
const time = Number(option('--time', 5)), limit = Number(option('--limit', 120)), out = option('--out', null);
const [calder, ...files] = given;
if (!calder || files.length === 0) {
  console.error('usage: scripts/compare-standing.mjs CALDER FILE … [--time S] [--limit S] [--out FILE]');
  process.exit(2);
}
const paths = [process.cwd(), ...(process.env.NODE_PATH ?? '').split(':').filter(Boolean)];
const make = (await import(pathToFileURL(createRequire(import.meta.url).resolve('@mujoco/mujoco', { paths })))).default;
let mujoco = null; // a fresh one for each file: it does not give memory back
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'compare-standing-'));
process.on('exit', () => fs.rmSync(work, { recursive: true, force: true }));

function copyFolder(folder) {
  let made = '';
  for (const part of folder.split('/').filter(Boolean)) {
    made += '/' + part;
    try { mujoco.FS.mkdir(made); } catch { /* there already */ }
  }
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) copyFolder(full);
    else if (/\.(xml|stl|obj|msh|png|bin)$/i.test(entry.name)) mujoco.FS.writeFile(full, fs.readFileSync(full));
  }
}

// Whether it stands, or holds, at q; and by how much it has gone.
function judge(model, from, q) {
  const free = [];
  let worst = 0;
  for (let joint = 0; joint < model.njnt; joint++) {
    const type = model.jnt_type[joint], at = model.jnt_qposadr[joint];
    if (type === 0) free.push(at);
    else if (type >= 2) worst = Math.max(worst, Math.abs(q[at] - from[at]) / (type === 3 ? 0.3 : 0.1));
  }
  if (q.some(value => !Number.isFinite(value))) return { fine: false, text: 'not finite' };
  if (free.length === 0) return { fine: worst < 1, text: `joints ${(100 * worst).toFixed(0)} % of what is allowed` };
  const base = free[0], [w, x, y, z] = q.slice(base + 3, base + 7), length = Math.hypot(w, x, y, z);
  const [w0, x0, y0, z0] = from.slice(base + 3, base + 7);
  const up = (a, b, c) => [2 * (b * c[2] + a * c[1]), 2 * (c[1] * c[2] - a * b), 1 - 2 * (b * b + c[1] * c[1])];
  const now = up(w / length, x / length, [0, y / length, z / length]), then = up(w0, x0, [0, y0, z0]);
  const tilt = Math.acos(Math.min(1, now[0] * then[0] + now[1] * then[1] + now[2] * then[2])) * 180 / Math.PI;
  const height = q[base + 2] / Math.max(from[base + 2], 1e-9);
  return { fine: height > 0.7 && tilt < 45, text: `height ${height.toFixed(2)}, tilt ${tilt.toFixed(0)}°` };
}

const rows = [];
for (const file of files.map(name => path.resolve(name))) {
  const row = { file };
  rows.push(row);
  try {
    mujoco = await make({ print: () => {}, printErr: () => {} });
    copyFolder(path.dirname(file));
    const model = mujoco.MjModel.mj_loadXML(file);
    if (model.nkey === 0) {
      rows.pop();
      continue;
    }
    const data = new mujoco.MjData(model);
    mujoco.mj_resetDataKeyframe(model, data, 0);
    const from = Array.from(data.qpos), key = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_KEY.value, 0);
    while (data.time < time) mujoco.mj_step(model, data);
    row.mujoco = judge(model, from, Array.from(data.qpos));
    const csv = path.join(work, 'run.csv'), begun = Date.now();
    const run = spawnSync(calder, ['sim', file, '--allow-outside', '--key', key || '0', '--time', String(time), '--fps', '10', '--columns', 'q', '--out', csv],
      { encoding: 'utf8', timeout: 1000 * limit, killSignal: 'SIGKILL' });
    row.seconds = (Date.now() - begun) / 1000;
    if (run.status !== 0) row.calder = { fine: false, text: run.signal ? `more than ${limit} s` : (run.stderr ?? '').trim().split('\n').pop() };
    else {
      const last = fs.readFileSync(csv, 'utf8').trim().split('\n').pop().split(',').map(Number).slice(1);
      row.calder = last.length === from.length ? judge(model, from, last) : { fine: false, text: `${last.length} coordinates, not ${from.length}` };
    }
    data.delete();
    model.delete();
  } catch (error) {
    row.trouble = String(error.message ?? error).slice(0, 120);
  }
  const said = row.trouble ?? `MuJoCo ${row.mujoco.fine ? 'yes' : 'no '} (${row.mujoco.text}), Calder ${row.calder.fine ? 'yes' : 'no '} (${row.calder.text}), ${row.seconds.toFixed(0)} s`;
  console.log(`${path.basename(path.dirname(file))}/${path.basename(file)}: ${said}`);
}
const count = (a, b) => rows.filter(row => row.mujoco && row.calder && row.mujoco.fine === a && row.calder.fine === b).length;
console.log({ both: count(true, true), 'only MuJoCo': count(true, false), 'only Calder': count(false, true), neither: count(false, false), 'not compared': rows.filter(row => row.trouble).length });
if (out) fs.writeFileSync(out, JSON.stringify(rows, null, 1));
