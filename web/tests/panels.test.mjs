// What the page offers beside looking: the gallery, tabs, sliders, overlays, the past, pictures and videos. One browser; one gallery
// and one model for all of it.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { comesTrue, command, endAll, launch, makeFolder, open, picture, serve, serveBy, state, until } from './support.mjs';

const ROBOT = `<mujoco model="robot">
  <asset>
    <texture name="tiles" type="2d" builtin="checker" rgb1=".1 .8 .2" rgb2=".1 .5 .1" width="64" height="64"/>
    <material name="tiles" texture="tiles" texuniform="true" texrepeat="4 4"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" material="tiles"/>
    <body name="base" pos="0 0 .6"><freejoint/>
      <geom type="box" size=".2 .1 .05" rgba=".9 .1 .1 1" mass="4"/>
      <geom type="sphere" size=".18" group="4" contype="0" conaffinity="0" rgba=".9 .1 .9 1" mass="0"/>
      <body name="arm" pos=".2 0 0"><joint name="elbow" type="hinge" axis="0 1 0" range="-60 80" limited="true"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" rgba=".1 .2 .9 1" mass="1" group="1"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="elbow" gear="1" ctrlrange="-2 2"/></actuator>
  <sensor><jointpos name="bend" joint="elbow"/><framepos name="place" objtype="xbody" objname="arm"/></sensor>
  <keyframe><key name="high" qpos="0 0 1.2 1 0 0 0 0.5"/></keyframe>
</mujoco>`;

let browser;
let files;
before(async () => {
  files = makeFolder();
  mkdirSync(join(files, 'robot'));
  writeFileSync(join(files, 'robot', 'scene.xml'), ROBOT);
  writeFileSync(join(files, 'robot', 'broken.urdf'), '<robot');
  browser = await launch();
});
after(async () => {
  endAll();
  await browser?.close();
});

test('a gallery opens cards and folders; joints are posed, motors driven, numbers plotted, overlays shown, the past has its own numbers', async () => {
  const server = await serve();
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 1280, height: 760 } });
  await page.waitForSelector('#gallery:not([hidden])');
  const cards = await page.$$eval('.card', (all) => all.map((card) => ({ picture: card.querySelector('img').naturalWidth, command: card.querySelector('code').textContent })));
  assert.equal(cards.length, 5);
  for (const card of cards) {
    assert.ok(card.picture > 100, `${card.command} has no picture`);
    assert.match(card.command, /^calder view \S+$/);
  }
  await page.click('.card:has-text("calder view fivebar")');
  await until(page, () => globalThis.calderViewer.scene.model === 'fivebar' && globalThis.calderViewer.frame);
  assert.equal(await page.isHidden('#gallery'), true);
  await page.setInputFiles('#folder', join(files, 'robot'));
  await until(page, () => globalThis.calderViewer.scene.model.endsWith('robot/scene.xml') && globalThis.calderViewer.frame);
  // The robot has its own colours, on a floor with squares.
  const painted = await picture(page);
  assert.ok(painted.painted > 500, `${painted.painted} pixels are painted`);
  // The floor's texture is there: two greens, and neither is grey.
  await until(page, () => {
    const { stage } = globalThis.calderViewer;
    stage.renderer.render(stage.scene, stage.camera);
    const gl = stage.renderer.getContext();
    const bytes = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
    gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    const greens = new Set();
    for (let i = 0; i < bytes.length; i += 4) if (bytes[i + 1] > 1.8 * bytes[i] && bytes[i + 1] > 1.8 * bytes[i + 2]) greens.add(bytes[i + 1] >> 4);
    return greens.size > 2;
  });
  await page.keyboard.press('Space');
  await until(page, () => !globalThis.calderViewer.frame.running);

  const q = () => page.evaluate(() => Array.from(globalThis.calderViewer.frame.q));
  const choose = (tab) => page.click(`#tabs button[data-tab="${tab}"]`);

  // Joints and keyframes.
  await choose('joints');
  await until(page, () => globalThis.calderViewer.frame.q.length === 8);
  await page.selectOption('#set-key', '0');
  await until(page, () => Math.abs(globalThis.calderViewer.frame.q[2] - 1.2) < 1e-6);
  assert.ok(Math.abs((await q())[7] - 0.5) < 1e-6, 'the keyframe bends the elbow');
  await page.locator('.slider:has-text("elbow") input').fill('-0.3');
  await until(page, () => Math.abs(globalThis.calderViewer.frame.q[7] + 0.3) < 2e-3);
  await page.locator('.slider:has-text("motor") input').fill('2');
  await page.click('[aria-label="plot q of elbow"]');
  await until(page, () => globalThis.calderViewer.probes.length === 1);
  await page.click('[aria-label="plot sensor bend"]');
  await page.click('[aria-label="plot number 3 of sensor place"]');
  await until(page, () => globalThis.calderViewer.probes.length === 3);
  assert.deepEqual(await page.evaluate(() => globalThis.calderViewer.probes.slice(1).map((probe) => `${probe.name} ${probe.unit}`)), ['bend ', 'place[2] m']);
  await page.keyboard.press('Space');
  // The motor's torque lifts the arm while all of it falls.
  await until(page, () => globalThis.calderViewer.frame.q[7] > -0.1);
  await choose('plots');
  assert.match(await page.textContent('#plots figcaption'), /q elbow, rad/);
  const plotted = await page.evaluate(() => globalThis.calderViewer.plots.values.at(-3).filter((value) => value !== null));
  assert.ok(plotted.length > 3 && plotted.at(-1) > plotted[0], 'the plot follows the elbow');

  // Contacts carry the weight: the forces of all of them, along z.
  await choose('view');
  for (const name of ['frames', 'centers', 'contacts', 'limits']) await page.check(`#show-${name}`);
  await until(page, () => {
    const { contacts } = globalThis.calderViewer.frame;
    let sum = 0;
    for (let i = 5; i < contacts.length; i += 6) sum += contacts[i];
    return contacts.length > 0 && Math.abs(sum - 5 * 9.81) < 8;
  });
  const seen = await page.evaluate(() => globalThis.calderViewer.overlay.root.children.map((child) => child.visible));
  assert.deepEqual(seen, [true, true, true, true, true]);
  // Groups: what is hidden is shown by a click, and what is shown is hidden.
  const boxes = () => page.$$eval('#groups input', (all) => all.map((box) => [box.id, box.checked]));
  const pixels = (red, green, blue) =>
    page.evaluate(
      ([red, green, blue]) => {
        const { stage } = globalThis.calderViewer;
        stage.renderer.render(stage.scene, stage.camera);
        const gl = stage.renderer.getContext();
        const bytes = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
        gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
        let count = 0;
        for (let i = 0; i < bytes.length; i += 4) if (bytes[i] > 100 === red && bytes[i + 1] > 100 === green && bytes[i + 2] > 100 === blue) count++;
        // Of a million: the page draws fewer where it is slow.
        return (1e6 * count) / (gl.drawingBufferWidth * gl.drawingBufferHeight);
      },
      [red, green, blue],
    );
  assert.deepEqual(await boxes(), [['show-group-0', true], ['show-group-1', true], ['show-group-4', false]]);
  const [violet, blue] = [await pixels(true, false, true), await pixels(false, false, true)];
  await page.check('#show-group-4');
  await page.uncheck('#show-group-1');
  assert.ok(blue > 100, `${blue} pixels of the arm`);
  await comesTrue(async () => (await pixels(true, false, true)) > violet + 300 && (await pixels(false, false, true)) < blue / 2);
  await page.uncheck('#show-group-4');
  await page.check('#show-group-1');
  await comesTrue(async () => (await pixels(true, false, true)) < violet + 100 && (await pixels(false, false, true)) > blue / 2);
  await page.selectOption('#set-shapes', 'touches');
  assert.ok((await picture(page)).painted > 300, 'what touches is drawn');

  // Bodies: search and select.
  await choose('bodies');
  await page.fill('#body-search', 'ar');
  assert.deepEqual(await page.$$eval('#body-list button', (all) => all.map((row) => row.textContent)), ['arm']);
  await page.click('#body-list button');
  await until(page, () => globalThis.calderViewer.numbers?.name === 'arm');

  // One click on the timeline shows the past, with its time and its numbers, and "live" comes back.
  const line = await page.locator('#timeline').boundingBox();
  const high = await page.evaluate(() => globalThis.calderViewer.numbers.position[2]);
  // At its begin, however long the test took until now.
  await page.mouse.click(line.x + 2, line.y + line.height / 2);
  const past = (await state(page)).past;
  assert.ok(past !== null && past < 0.5, `the past is ${past}`);
  assert.equal(await page.textContent('#time'), `${past.toFixed(2)} s`);
  assert.equal(await page.isVisible('#live'), true);
  assert.match(await page.textContent('#state'), /the past/);
  assert.ok((await page.evaluate(() => globalThis.calderViewer.numbers.position[2])) > high + 0.3, 'it was higher then');
  await page.click('#live');
  assert.equal((await state(page)).past, null);
  assert.equal(await page.isVisible('#hand'), true);

  // A picture and a video.
  const saved = page.waitForEvent('download');
  await page.click('#picture');
  assert.match((await saved).suggestedFilename(), /\.png$/);
  await page.click('#video');
  await until(page, () => globalThis.calderViewer.video.bytes > 0);
  const recorded = page.waitForEvent('download');
  await page.click('#video');
  assert.match((await recorded).suggestedFilename(), /\.webm$/);

  // A path that leads elsewhere is refused, and so is what another site sends.
  const refused = await page.evaluate(async () => (await fetch(`/drop${location.search}`, { method: 'POST', body: '../../outside\nx' })).status);
  assert.equal(refused, 400);
  const unknown = await page.evaluate(async () => (await fetch('/drop', { method: 'POST', body: 'a.xml\nx' })).status);
  assert.equal(unknown, 403, 'a file without the token');
  const foreign = await fetch(new URL(`/drop${new URL(server.address).search}`, server.address), { method: 'POST', body: 'a.xml\nx', headers: { Origin: 'http://elsewhere.example' } });
  assert.equal(foreign.status, 403);
  await page.evaluate(() => globalThis.calderViewer.gallery.open([{ path: 'robot/broken.urdf', file: new File(['<robot'], 'broken.urdf') }]));
  await until(page, () => globalThis.calderViewer.scene.model === 'mobile');
  await page.waitForSelector('.note.bad:has-text("broken.urdf cannot be opened")');
  // The browser itself names the refused request.
  assert.deepEqual(complaints.filter((text) => !/40[03]|WebSocket/.test(text)), []);
  await context.close();
  assert.equal(await server.stop(), 0);
});

// The body that is pulled belongs to the last rank: the mobile's last chain does.
test('ranks share a simulation, the first one serves it, a pull reaches the rank that has the body', { skip: !process.env.CALDER_MPIRUN }, async () => {
  const server = await serveBy([process.env.CALDER_MPIRUN, '-n', '3', command], 'mobile:s=2,l=3,o=3,start=0', '--machine', 'mpi', '--tol', '1e-6');
  const { context, page, complaints } = await open(browser, server.address);
  await until(page, () => globalThis.calderViewer.frame.time > 0.1);
  const rest = await state(page);
  assert.ok(rest.channels.kinetic < 1e-9, 'it hangs still');
  await page.evaluate(() => {
    const at = globalThis.calderViewer.model.origin(11);
    globalThis.calderViewer.command({ do: 'grab', body: 11, point: [0, -0.8, 0] });
    globalThis.calderViewer.command({ do: 'drag', target: [at.x + 0.5, at.y - 0.5, at.z + 0.5] });
  });
  await until(page, () => globalThis.calderViewer.frame.pull?.body === 11);
  await until(page, () => globalThis.calderViewer.frame.channels[0] > 1e-3);
  await page.evaluate(() => globalThis.calderViewer.command({ do: 'drop' }));
  await until(page, () => globalThis.calderViewer.frame.pull === null);
  await page.waitForTimeout(200);
  const released = await state(page);
  await until(page, (time) => globalThis.calderViewer.frame.time > time + 0.5, released.time);
  const later = await state(page);
  const change = Math.abs(later.channels.total - released.channels.total) / Math.max(later.channels.kinetic, released.channels.kinetic);
  assert.ok(change < 1e-4, `the energy changed by ${change} of the kinetic energy`);
  await page.keyboard.press('Backspace');
  await until(page, () => globalThis.calderViewer.frame.epoch === 1);
  assert.deepEqual(complaints, []);
  await context.close();
  await server.stop(); // mpirun has an exit status of its own for Ctrl-C
});
