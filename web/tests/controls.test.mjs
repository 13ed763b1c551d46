// Every button, key and gesture of the page, and that each of them is in one of these tests.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { endAll, launch, makeFolder, open, project, run, serve, stands, state, until } from './support.mjs';

const here = dirname(fileURLToPath(import.meta.url));
let browser;
let folder;
before(async () => {
  folder = makeFolder();
  browser = await launch();
});
after(async () => {
  endAll();
  await browser?.close();
});

const camera = (page) =>
  page.evaluate(() => {
    const { camera, controls } = globalThis.calderViewer.stage;
    return { target: controls.target.toArray(), distance: camera.position.distanceTo(controls.target), direction: camera.position.clone().sub(controls.target).normalize().toArray() };
  });
const apart = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
const pressed = (page, id) => page.getAttribute(`#${id}`, 'aria-pressed');

// Drags with the mouse and answers when the camera is at rest again.
async function drag(page, from, to, button = 'left') {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down({ button });
  await page.mouse.move(to.x, to.y, { steps: 3 });
  await page.mouse.up({ button });
  await rest(page);
}
async function rest(page) {
  await page.evaluate(() => (globalThis.seenCamera = { at: null, frames: 0 }));
  await page.waitForFunction(
    () => {
      const seen = globalThis.seenCamera;
      const now = JSON.stringify(globalThis.calderViewer.stage.camera.position.toArray().map((value) => value.toFixed(4)));
      seen.frames = now === seen.at ? seen.frames + 1 : 0;
      seen.at = now;
      return seen.frames >= 3;
    },
    undefined,
    { polling: 'raf' },
  );
}

test('buttons for time, the camera by mouse and fingers, the hand, quality, theme, help', async () => {
  const server = await serve('chain:n=4,start=0.8,length=0.5', '--paused');
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 1200, height: 760 }, acceptDownloads: true });
  const start = await state(page);
  const mine = (condition, argument) => until(page, condition, argument);

  await page.click('#play');
  await mine(() => globalThis.calderViewer.frame.running && globalThis.calderViewer.frame.time > 0.1);
  await page.click('#play');
  await mine(() => !globalThis.calderViewer.frame.running);
  const { time } = await state(page);
  await page.click('#step');
  await mine((time) => Math.abs(globalThis.calderViewer.frame.time - time - 1 / 60) < 1e-9, time);
  await page.click('#back');
  await mine(() => globalThis.calderViewer.past !== null);
  await page.click('#live');
  assert.equal((await state(page)).past, null);
  await page.click('#slower');
  await mine(() => globalThis.calderViewer.frame.speed === 0.5);
  await page.click('#faster');
  await mine(() => globalThis.calderViewer.frame.speed === 1);
  await page.click('#reset');
  await mine(() => globalThis.calderViewer.frame.epoch === 1);
  assert.equal((await state(page)).hash, start.hash);

  // Turn, move, zoom, and back. The chain swings out of the picture when it runs for longer, as on busy cores, and the camera goes back
  // with it: what is compared is where it sees all of the chain that was reset.
  const empty = { x: 120, y: 560 };
  await stands(page);
  await page.click('#fit');
  await rest(page);
  const first = await camera(page);
  await drag(page, empty, { x: 260, y: 540 });
  const turned = await camera(page);
  assert.ok(apart(turned.direction, first.direction) > 0.1 && apart(turned.target, first.target) < 1e-6, 'a drag turns');
  await drag(page, empty, { x: 220, y: 500 }, 'right');
  const moved = await camera(page);
  assert.ok(apart(moved.target, turned.target) > 0.05 && apart(moved.direction, turned.direction) < 1e-3, 'a right drag moves');
  await page.keyboard.down('Shift');
  await drag(page, empty, { x: 60, y: 600 });
  await page.keyboard.up('Shift');
  assert.ok(apart((await camera(page)).target, moved.target) > 0.02, 'Shift and drag moves');
  await page.mouse.move(empty.x, empty.y);
  await page.mouse.wheel(0, 400);
  await rest(page);
  const far = await camera(page);
  assert.ok(far.distance > 1.05 * moved.distance, 'the wheel zooms');
  await page.evaluate(() => {
    document.getElementById('stage').setPointerCapture = () => undefined; // there are no such fingers
    document.getElementById('stage').releasePointerCapture = () => undefined;
  });
  const touch = (type, id, x, y) => page.dispatchEvent('#stage', type, { pointerId: id, pointerType: 'touch', isPrimary: id === 7, button: 0, buttons: 1, clientX: x, clientY: y, pageX: x, pageY: y, bubbles: true });
  await touch('pointerdown', 7, 100, 560);
  await touch('pointerdown', 8, 160, 560);
  await touch('pointermove', 8, 320, 560);
  await touch('pointerup', 8, 320, 560);
  await touch('pointerup', 7, 100, 560);
  await rest(page);
  assert.ok((await camera(page)).distance < 0.9 * far.distance, 'two fingers that go apart come closer');
  await page.click('#fit');
  await rest(page);
  const fitted = await camera(page);
  assert.ok(Math.abs(fitted.distance / first.distance - 1) < 0.5 && apart(fitted.target, first.target) < 1e-6, `all of it is seen: ${JSON.stringify([first, fitted])}`);
  await page.mouse.wheel(0, 300);
  await page.keyboard.press('f');
  await rest(page);
  assert.ok(Math.abs((await camera(page)).distance / fitted.distance - 1) < 0.01, 'F does the same');

  // The hand: with it, a plain drag pulls.
  await page.keyboard.press('h');
  assert.equal(await pressed(page, 'hand'), 'true');
  const at = await project(page, 2, [0, 0, -0.25]);
  await page.mouse.move(at.x, at.y);
  await page.mouse.down();
  await mine(() => globalThis.calderViewer.frame.pull !== null);
  await page.mouse.up();
  await mine(() => globalThis.calderViewer.frame.pull === null);
  await page.click('#hand');
  assert.equal(await pressed(page, 'hand'), 'false');
  await page.click('#body-close');
  assert.equal(await page.isHidden('#body'), true);

  // Quality, theme, panel, help.
  await page.selectOption('#set-quality', 'plain');
  await mine(() => globalThis.calderViewer.stage.quality.level.name === 'plain' && globalThis.calderViewer.stage.quality.fixed);
  await page.keyboard.press('q');
  await page.waitForSelector('.note:has-text("Quality: light")');
  const theme = await page.getAttribute('html', 'data-theme');
  await page.click('#theme');
  assert.notEqual(await page.getAttribute('html', 'data-theme'), theme);
  const shown = await page.isVisible('#side');
  await page.click('#plots-toggle');
  assert.equal(await page.isVisible('#side'), !shown);
  await page.click('#help-toggle');
  assert.equal(await page.isVisible('#help'), true);
  await page.click('#help form button');
  assert.equal(await page.isVisible('#help'), false);

  // S and R save a picture and a video.
  const saved = page.waitForEvent('download');
  await page.keyboard.press('s');
  const png = readFileSync(await (await saved).path());
  assert.ok(png.length > 5000 && png.subarray(1, 4).toString() === 'PNG');
  await page.keyboard.press('r');
  assert.equal(await pressed(page, 'video'), 'true');
  await mine(() => globalThis.calderViewer.video.bytes > 0);
  const recorded = page.waitForEvent('download');
  await page.keyboard.press('r');
  const webm = readFileSync(await (await recorded).path());
  assert.ok(webm.length > 500 && webm.readUInt32BE(0) === 0x1a45dfa3, 'a WebM file begins so');
  assert.deepEqual(complaints, []);
  await context.close();
  assert.equal(await server.stop(), 0);
});

test('the tree folds, the camera follows, v and f are plotted, algorithm and machine change', async () => {
  const server = await serve('chain:n=4,start=1.2,length=0.5');
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 1200, height: 760 } });
  const tab = (name) => page.click(`#tabs button[data-tab="${name}"]`);
  if (!(await page.isVisible('#side'))) await page.keyboard.press('p');
  await tab('bodies');
  const rows = () => page.locator('#body-list button').allTextContents();
  assert.equal((await rows()).length, 4);
  await page.dblclick('#body-list button:nth-child(2)');
  assert.equal((await rows()).length, 2, 'what hangs below is folded away');
  await page.dblclick('#body-list button:nth-child(2)');
  assert.equal((await rows()).length, 4);

  // The last link swings through more than what the camera leaves alone.
  await page.click('#body-list button:nth-child(4)');
  await tab('view');
  await page.check('#show-follow');
  const { target } = await camera(page);
  await page.waitForFunction(
    ([x, y, z]) => {
      const now = globalThis.calderViewer.stage.controls.target;
      return Math.hypot(now.x - x, now.y - y, now.z - z) > 0.2;
    },
    target,
    { timeout: 15000, polling: 50 },
  );
  await page.uncheck('#show-follow');
  await page.selectOption('#set-shapes', 'both');
  assert.equal(await page.evaluate(() => document.getElementById('set-shapes').value), 'both');

  await tab('joints');
  await page.click('[aria-label="plot v of joint1"]');
  await page.click('[aria-label="plot force of joint1"]');
  await until(page, () => globalThis.calderViewer.probes.length === 2);
  const units = await page.evaluate(() => globalThis.calderViewer.probes.map((probe) => probe.unit));
  assert.equal(units[0], 'rad/s');
  await until(page, () => globalThis.calderViewer.plots.values.at(-1).filter((value) => value !== null && value !== 0).length > 3);

  await tab('plots');
  await page.keyboard.press('Space');
  await until(page, () => !globalThis.calderViewer.frame.running);
  const { hash } = await state(page);
  await page.selectOption('#set-algorithm', 'assembly');
  await until(page, () => globalThis.calderViewer.plots.marks.length === 1);
  await page.selectOption('#set-machine', await page.evaluate(() => [...document.querySelectorAll('#set-machine option')].at(-1).value));
  await until(page, () => globalThis.calderViewer.plots.marks.length === 2);
  assert.equal((await state(page)).hash, hash, 'it goes on from the same state');
  await page.keyboard.press('ArrowRight');
  await until(page, (hash) => globalThis.calderViewer.frame.hash !== hash, hash);
  assert.deepEqual(complaints, []);
  await context.close();
  await server.stop();
});

test('the gallery opens and closes, and takes a folder that is dropped', async () => {
  mkdirSync(join(folder, 'swing'));
  writeFileSync(join(folder, 'swing', 'swing.xml'), '<mujoco><worldbody><body name="seat"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".05" rgba=".9 .1 .1 1"/></body></worldbody></mujoco>');
  writeFileSync(join(folder, 'swing', '.hidden'), 'x');
  const server = await serve();
  const { context, page, complaints } = await open(browser, server.address);
  await page.waitForSelector('#gallery:not([hidden])');
  assert.equal(await page.isVisible('#folder-choose'), true);
  await page.click('#gallery-close');
  assert.equal(await page.isHidden('#gallery'), true);
  await page.keyboard.press('g');
  assert.equal(await page.isVisible('#gallery'), true);
  await page.keyboard.press('Escape');
  assert.equal(await page.isHidden('#gallery'), true);
  await page.click('#gallery-toggle');
  assert.equal(await page.isVisible('#gallery'), true);
  const devtools = await context.newCDPSession(page);
  const data = { items: [], files: [join(folder, 'swing')], dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop']) await devtools.send('Input.dispatchDragEvent', { type, x: 400, y: 300, data });
  await until(page, () => globalThis.calderViewer.scene?.model.endsWith('swing/swing.xml') && globalThis.calderViewer.frame);
  assert.equal(await page.isHidden('#gallery'), true);
  assert.deepEqual(complaints.filter((text) => !/WebSocket/.test(text)), []);
  await context.close();
  assert.equal(await server.stop(), 0);
});

// Pixels that change visibly where a model is drawn, and where it is not.
const seen = (page) =>
  page.evaluate(() => {
    const { stage, model } = globalThis.calderViewer;
    const gl = stage.renderer.getContext();
    const read = (visible) => {
      model.root.visible = visible;
      stage.renderer.render(stage.scene, stage.camera);
      const bytes = new Uint8Array(4 * gl.drawingBufferWidth * gl.drawingBufferHeight);
      gl.readPixels(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
      return bytes;
    };
    const [without, drawn] = [read(false), read(true)];
    let count = 0;
    for (let i = 0; i < drawn.length; i += 4) if (Math.max(...[0, 1, 2].map((k) => Math.abs(drawn[i + k] - without[i + k]))) > 16) count++;
    return count;
  });

test('white bodies are seen on a light page, and black ones on a dark page', async () => {
  for (const color of ['1 1 1', '.02 .02 .02']) {
    const file = join(folder, 'plain.xml');
    writeFileSync(file, `<mujoco><worldbody><body><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.5" size=".08" rgba="${color} 1"/><geom type="box" size=".15 .1 .08" pos="0 0 -.6" rgba="${color} 1"/></body></worldbody></mujoco>`);
    const server = await serve(file, '--paused');
    const { context, page } = await open(browser, server.address);
    // On busy cores quality gives way by itself, and with it the number of pixels between one look and the next.
    await page.evaluate(() => globalThis.calderViewer.setQuality('light'));
    const counts = {};
    for (let i = 0; i < 2; i++) {
      counts[await page.getAttribute('html', 'data-theme')] = await seen(page);
      await page.keyboard.press('t');
    }
    const [hard, easy] = color === '1 1 1' ? [counts.light, counts.dark] : [counts.dark, counts.light];
    assert.ok(easy > 1000 && hard > 0.5 * easy, `${color}: ${hard} of ${easy} pixels stand out`);
    await context.close();
    await server.stop();
  }
});

test('a page weighs less than 3 MB, served and recorded; a recording has no hand', async () => {
  const server = await serve();
  const context = await browser.newContext();
  const page = await context.newPage();
  let bytes = 0;
  page.on('response', (response) => void response.body().then((body) => (bytes += body.length), () => undefined));
  await page.goto(server.address);
  await page.waitForFunction(() => globalThis.calderViewer?.frame);
  await page.waitForLoadState('networkidle');
  assert.ok(bytes > 1e5 && bytes < 3e6, `${bytes} bytes`);
  await context.close();
  await server.stop();
  const file = join(folder, 'run.html');
  assert.equal((await run('sim', 'mobile', '--time', '10', '--out', file)).status, 0);
  const recorded = readFileSync(file).length;
  assert.ok(recorded < 3e6, `ten seconds of the default mobile are ${recorded} bytes`);
  // In a recording there is nothing to take hold of.
  const film = await open(browser, pathToFileURL(file).href);
  assert.equal(await film.page.isHidden('#hand'), true);
  assert.deepEqual(film.complaints, []);
  await film.context.close();
});

test('whatever the page offers is in one of the tests', () => {
  const page = readFileSync(join(here, '..', 'index.html'), 'utf8');
  const tests = readdirSync(here).filter((name) => name.endsWith('.test.mjs')).map((name) => readFileSync(join(here, name), 'utf8')).join('\n');
  const ids = [...page.matchAll(/<(?:button|select|input)\b[^>]*\bid="([\w-]+)"/g)].map((found) => found[1]);
  assert.ok(ids.length > 30);
  // Some are pressed by the last part of their names.
  const named = (id) => tests.includes(`#${id}`) || (/^show-/.test(id) && tests.includes(`'${id.slice(5)}'`));
  assert.deepEqual(ids.filter((id) => !named(id)), []);
  const keys = { '←': 'ArrowLeft', '→': 'ArrowRight', '−': '-', Ctrl: 'Control', Esc: 'Escape' };
  const help = [...page.matchAll(/<kbd>([^<]+)<\/kbd>/g)].map((found) => keys[found[1]] ?? found[1]);
  const pressed = (key) => [key, key.toLowerCase()].some((name) => tests.includes(`press('${name}')`) || tests.includes(`down('${name}')`));
  assert.deepEqual(help.filter((key) => !pressed(key)), []);
});
