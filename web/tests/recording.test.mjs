// Recordings: glTF files against Khronos' validator, pages from the disk in a browser.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import validator from 'gltf-validator';
import { launch, makeFolder, open, picture, run } from './support.mjs';

const folder = makeFolder();
let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

for (const model of ['mobile:s=2,l=3,o=4', 'humanoid', 'pendulum:inertia=0', 'random:n=30', 'chain:n=5,joint=ball'])
  test(`${model} as glTF is valid and has its motion`, async () => {
    const path = join(folder, 'run.glb');
    const { status, err } = await run('sim', model, '--time', '0.5', '--fps', '30', '--out', path);
    assert.equal(status, 0, err);
    const bytes = readFileSync(path);
    const report = await validator.validateBytes(new Uint8Array(bytes));
    assert.deepEqual(report.issues.messages, []);
    assert.equal(report.info.animationCount, 1);
    const json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)).toString());
    const times = json.accessors[json.animations[0].samplers[0].input];
    assert.equal(times.count, 16);
    assert.deepEqual([times.min[0], times.max[0]], [0, 0.5]);
  });

test('textures are in a glTF that is valid, on a floor and on a mesh', async () => {
  writeFileSync(join(folder, 'square.obj'), 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv .5 .5 1\nvt 0 0\nvt 1 0\nvt 1 1\nf 1/1 3/3 2/2\nf 1/1 4/2 3/3\nf 1/1 2/2 5/3\nf 2/1 3/2 5/3\nf 3/1 4/2 5/3\nf 4/1 1/2 5/3\n');
  writeFileSync(
    join(folder, 'tiles.xml'),
    `<mujoco><asset><texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 0 1" width="8" height="8"/><material name="m" texture="t" texrepeat="3 3"/><mesh file="square.obj"/></asset>
    <worldbody><geom type="plane" size="2 2 1" material="m"/><body pos="0 0 2"><freejoint/><geom type="mesh" mesh="square" material="m"/></body></worldbody></mujoco>`,
  );
  const path = join(folder, 'tiles.glb');
  const { status, err } = await run('sim', join(folder, 'tiles.xml'), '--time', '0.2', '--out', path);
  assert.equal(status, 0, err);
  const bytes = readFileSync(path);
  const report = await validator.validateBytes(new Uint8Array(bytes));
  assert.deepEqual(report.issues.messages, []);
  const json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)).toString());
  assert.equal(json.images.length, 1);
  assert.equal(json.materials.filter((material) => material.pbrMetallicRoughness.baseColorTexture).length, 2);
});

test('a world is recorded too: a valid glTF, and a page that plays', async () => {
  const path = join(folder, 'world.glb');
  const view = join(folder, 'world.html');
  const made = await run('sim', 'atoms:n=20', '--time', '1', '--out', path, '--out', view);
  assert.equal(made.status, 0, made.err);
  const bytes = readFileSync(path);
  const report = await validator.validateBytes(new Uint8Array(bytes));
  assert.deepEqual(report.issues.messages, []);
  const json = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)).toString());
  assert.equal(json.animations[0].channels.length, 40);
  const { context, page, complaints } = await open(browser, pathToFileURL(view).href);
  assert.equal(await page.evaluate(() => globalThis.calderViewer.history.frames.length), 31);
  assert.ok((await picture(page)).painted > 100);
  assert.deepEqual(complaints, []);
  await context.close();
});

test('a run of no time is a valid glTF without animation', async () => {
  const path = join(folder, 'still.glb');
  assert.equal((await run('sim', 'pendulum', '--time', '0', '--out', path)).status, 0);
  const report = await validator.validateBytes(new Uint8Array(readFileSync(path)));
  assert.deepEqual(report.issues.messages, []);
  assert.equal(report.info.animationCount, 0);
});

test('a page opens from the disk, plays and asks nobody for anything', async () => {
  const path = join(folder, 'run.html');
  const table = join(folder, 'run.csv');
  const made = await run('sim', 'mobile:s=2,l=3,o=4', '--time', '2', '--out', path, '--out', table);
  assert.equal(made.status, 0, made.err);
  assert.equal(readFileSync(table, 'utf8').trim().split('\n').length, 122);
  const asked = [];
  const { context: shown, page, complaints } = await open(browser, pathToFileURL(path).href, { viewport: { width: 1100, height: 700 } });
  page.on('request', (request) => asked.push(request.url()));
  assert.equal(await page.evaluate(() => globalThis.calderViewer.history.frames.length), 61);
  const first = await picture(page);
  assert.ok(first.painted > 100);
  const start = await page.evaluate(() => globalThis.calderViewer.past);
  await page.waitForFunction((past) => globalThis.calderViewer.past > past, start);
  assert.notEqual((await picture(page)).sum, first.sum);
  await page.waitForFunction(() => !globalThis.calderViewer.playing);
  assert.ok((await page.locator('#plots canvas').count()) > 3);
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => globalThis.calderViewer.past < 2);
  assert.deepEqual(asked, []);
  assert.deepEqual(complaints, []);
  await shown.close();
});

test('a recorded body has its name, its joint and its speed', async () => {
  const path = join(folder, 'swing.html');
  assert.equal((await run('sim', 'pendulum:inertia=0', '--time', '1', '--out', path)).status, 0);
  const { context, page } = await open(browser, pathToFileURL(path).href);
  await page.keyboard.press('Space');
  // Of a point, the kinetic energy that was recorded says how fast it is.
  const { numbers, kinetic } = await page.evaluate(() => {
    const viewer = globalThis.calderViewer;
    const frame = viewer.history.frames[12];
    viewer.past = frame.time;
    viewer.pose(performance.now());
    viewer.select(0);
    return { numbers: viewer.numbers, kinetic: frame.channels[0] };
  });
  const energy = 0.5 * numbers.mass * Math.hypot(...numbers.velocity) ** 2;
  assert.ok(Math.abs(energy - kinetic) < 0.02 * kinetic, `${energy} J instead of ${kinetic} J`);
  assert.equal(numbers.joints[0].kind, 'revolute');
  assert.match(await page.textContent('#body'), /revolute[^]*mass[^]*velocity[^]*turning/);
  await context.close();
});
