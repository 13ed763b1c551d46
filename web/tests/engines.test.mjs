// What else is shown than generated mechanisms: models from files, constraints, worlds of colliding bodies.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { endAll, launch, makeFolder, open, picture, project, run, serve, stands, state, until } from './support.mjs';

let browser;
let place;
before(async () => {
  browser = await launch();
  place = makeFolder();
});
after(async () => {
  endAll();
  await browser?.close();
});

const channelNames = (page) => page.evaluate(() => globalThis.calderViewer.scene.channels.map((channel) => channel.name));
const captions = (page) => page.locator('#plots figcaption').allTextContents();

// A door of one mesh, which is drawn, on a hinge, and a mesh that touches others and is seen only where that is asked for.
const DOOR = `<mujoco model="door">
  <asset>
    <mesh name="wedge" vertex="0 0 0  1 0 0  0 0.2 0  0 0 1  1 0 1  0 0.2 1"/>
    <mesh name="unseen" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
  </asset>
  <worldbody>
    <body name="leaf">
      <joint name="hinge" type="hinge" axis="0 1 0"/>
      <geom type="mesh" mesh="wedge" density="500" rgba="0.9 0.2 0.1 1"/>
      <geom type="mesh" mesh="unseen" density="500" rgba="0 0 0 0"/>
    </body>
  </worldbody>
  <keyframe><key name="open" qpos="0.7"/></keyframe>
</mujoco>`;

test('a model from a file is shown with its mesh, from the keyframe that was asked for', async () => {
  const file = join(place, 'door.xml');
  writeFileSync(file, DOOR);
  const server = await serve(file, '--key', 'open', '--disable', 'gravity', '--paused');
  const { context, page, complaints } = await open(browser, server.address);
  const { meshes, instances, contacts } = await page.evaluate(() => globalThis.calderViewer.scene);
  assert.equal(instances.length, 1);
  assert.equal(instances[0][1], 'mesh');
  const seen = meshes[instances[0][2]];
  assert.equal(seen.vertices.length, 18);
  assert.equal(seen.triangles.length, 24, 'a wedge has eight triangles');
  assert.deepEqual(contacts.map((contact) => meshes[contact[2]].triangles.length), [12], 'what touches and is not seen is sent beside');
  assert.ok((await picture(page)).painted > 500, 'the mesh is painted');
  // A turn by 0.7 about y.
  const { poses } = await state(page);
  assert.ok(Math.abs(2 * Math.atan2(Math.hypot(poses[4], poses[5], poses[6]), poses[3]) - 0.7) < 1e-6);
  assert.deepEqual(complaints, []);
  await context.close();
  assert.equal(await server.stop(), 0);
  const wrong = await run('view', file, '--key', 'ajar');
  assert.equal(wrong.status, 2);
  assert.match(wrong.err, /ajar/);
});

test('constraints have a plot of their error; a stabilisation is seen in it', async () => {
  const server = await serve('fivebar', '--stabilize', 'none', '--solver', 'rk4', '--step', '0.002');
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 1200, height: 760 } });
  assert.ok((await captions(page)).includes('Constraint error, m or rad'));
  await until(page, () => globalThis.calderViewer.frame.time > 1);
  const drift = (await state(page)).channels['constraint error'];
  assert.ok(drift > 1e-9, `nothing holds it, and yet the error is ${drift}`);
  await context.close();
  await server.stop();

  const held = await serve('fivebar', '--solver', 'rk4', '--step', '0.002');
  const other = await open(browser, held.address);
  await until(other.page, () => globalThis.calderViewer.frame.time > 1);
  const closed = (await state(other.page)).channels['constraint error'];
  assert.ok(closed < 1e-11, `projected, and yet the error is ${closed}`);
  assert.deepEqual([...complaints, ...other.complaints], []);
  await other.context.close();
  await held.stop();

  const none = await serve('chain:n=3');
  const plain = await open(browser, none.address);
  assert.ok(!(await channelNames(plain.page)).includes('constraint error'));
  await plain.context.close();
  await none.stop();
});

test('a world runs, pauses, steps, starts anew, and is pulled by hand', async () => {
  const server = await serve('stack:kind=pyramid', '--paused');
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 1200, height: 760 } });
  const names = await channelNames(page);
  for (const name of ['total', 'discontinuities', 'rollbacks', 'groups', 'asleep']) assert.ok(names.includes(name), name);
  assert.match(await page.textContent('#facts'), /bodies, \d+ of them moving/);
  assert.equal(await page.isHidden('#choices'), true);
  assert.ok((await picture(page)).painted > 500);
  const start = await state(page);
  assert.equal(start.time, 0);

  await page.keyboard.press('ArrowRight');
  await until(page, () => globalThis.calderViewer.frame.time > 0);
  assert.ok(Math.abs((await state(page)).time - 1 / 60) < 1e-9);
  await page.keyboard.press('-');
  await until(page, () => globalThis.calderViewer.frame.speed === 0.5);
  await page.keyboard.press('Space');
  await until(page, () => globalThis.calderViewer.frame.time > 0.1);
  await page.keyboard.press('Space');
  await stands(page);
  assert.ok((await state(page)).channels.groups >= 1, 'boxes that lie on each other are a contact group');

  const body = await page.evaluate(() => globalThis.calderViewer.scene.instances.findLast((instance) => instance[0] >= 0)[0]);
  const at = await project(page, body);
  await page.mouse.click(at.x, at.y);
  await until(page, () => globalThis.calderViewer.numbers);
  assert.equal(await page.evaluate(() => globalThis.calderViewer.numbers.motion), 'free');
  await page.keyboard.down('Control');
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await page.mouse.move(at.x + 40, at.y - 20, { steps: 4 });
  await until(page, () => globalThis.calderViewer.frame.pull);
  await page.mouse.up();
  await page.keyboard.up('Control');
  await until(page, () => !globalThis.calderViewer.frame.pull);

  await page.keyboard.press('Backspace');
  await until(page, () => globalThis.calderViewer.frame.epoch === 1);
  const again = await state(page);
  assert.equal(again.time, 0);
  assert.equal(again.hash, start.hash);
  assert.deepEqual(complaints, []);
  await context.close();
  assert.equal(await server.stop(), 0);
});

test('every scene is drawn and moves', async () => {
  for (const scene of ['atoms:n=60', 'cars', 'robots:n=4', 'avalanche:n=30']) {
    // Rocks have left the picture where a page takes seconds to open.
    const server = await serve(scene, '--loop', 'timewarp', '--paused');
    const { context, page, complaints } = await open(browser, server.address);
    assert.ok((await picture(page)).painted > 100, `${scene} is not seen`);
    const before = await state(page);
    await page.keyboard.press('Space');
    await until(page, (time) => globalThis.calderViewer.frame.time > time + 0.05, before.time);
    const later = await state(page);
    assert.notDeepEqual(later.poses, before.poses, `${scene} stands still`);
    assert.ok(later.poses.every(Number.isFinite));
    assert.deepEqual(complaints, []);
    await context.close();
    await server.stop();
  }
});
