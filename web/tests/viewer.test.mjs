// The viewer in a real browser, as a user meets it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { comesTrue, endAll, findPort, launch, open, picture, project, serve, stands, state, until } from './support.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  endAll();
  await browser?.close();
});

const CHAIN = 'chain:n=8,start=0.3';
const FRAME = 1 / 60;

test('the page loads without a complaint, shows the model and shows it moving, at every quality', async () => {
  const server = await serve(CHAIN);
  const { context, page, complaints } = await open(browser, server.address);
  const first = await picture(page);
  assert.ok(first.painted > 200, `only ${first.painted} of ${first.pixels} pixels are painted`);
  assert.ok(first.painted < first.pixels / 2);
  const before = await state(page);
  await until(page, (time) => globalThis.calderViewer.frame.time > time + 0.4, before.time);
  // And until one of those frames was drawn: a busy machine draws later than it hears.
  await until(page, (time) => globalThis.calderViewer.playhead.time > time + 0.2, before.time);
  const second = await picture(page);
  assert.notEqual(second.sum, first.sum, 'the picture did not change');
  assert.match(await page.textContent('#facts'), /8 joints/);
  for (const quality of ['fine', 'plain', 'fastest']) {
    await page.evaluate((quality) => globalThis.calderViewer.setQuality(quality), quality);
    await until(page, (quality) => document.getElementById('quality').textContent === `quality: ${quality}`, quality);
    const { painted, pixels } = await picture(page);
    assert.ok(painted > 0.05 * (first.painted / first.pixels) * pixels, `${quality} paints ${painted} of ${pixels} pixels`);
  }
  // Quality gives way until the frame rate holds, comes back when it can, and leaves alone what is fixed.
  const seen = await page.evaluate(() => {
    const Quality = globalThis.calderViewer.stage.quality.constructor;
    const after = (quality, seconds, rate) => {
      for (let i = 0; i < seconds; i++) quality.tell(rate(quality.index));
      return quality.index;
    };
    const slow = new Quality('finest');
    let held = 0;
    for (let i = 0; i < 300; i++) if (after(slow, 1, (index) => Math.min(60, 20 + 12 * index)) === 3) held++;
    const strong = after(slow, 600, () => 60);
    const even = after(new Quality('finest'), 30, () => 60);
    // Thirty frames whatever is drawn: a battery is saved, and a worse picture would not help.
    const saving = after(new Quality('fine'), 20, () => 30);
    const fixed = new Quality('finest');
    fixed.fix('fine');
    return { weak: held > 250, strong, even, saving, fixed: after(fixed, 40, () => 5) };
  });
  assert.deepEqual(seen, { weak: true, strong: 0, even: 0, saving: 1, fixed: 1 });
  assert.equal(await page.title(), `${CHAIN} · Calder`);
  assert.deepEqual(complaints, []);
  await context.close();
  assert.equal(await server.stop(), 0);
});

test('space pauses, arrows step a frame, plus and minus change the speed, backspace restores the start', async () => {
  const server = await serve(CHAIN, '--paused');
  const { context, page, complaints } = await open(browser, server.address);
  const start = await state(page);
  assert.equal(start.time, 0);
  assert.equal(start.running, false);

  await page.keyboard.press('Space');
  await until(page, () => globalThis.calderViewer.frame.time > 0.2);
  await page.keyboard.press('Space');
  await until(page, () => !globalThis.calderViewer.frame.running);
  const paused = await state(page);
  await page.waitForTimeout(700);
  assert.equal((await state(page)).hash, paused.hash, 'it went on after the pause');

  await page.keyboard.press('ArrowRight');
  await until(page, (time) => globalThis.calderViewer.frame.time > time, paused.time);
  await page.waitForTimeout(200);
  const stepped = await state(page);
  assert.ok(Math.abs(stepped.time - paused.time - FRAME) < 1e-9, `stepped by ${stepped.time - paused.time} s`);
  assert.equal(stepped.running, false);

  await page.keyboard.press('ArrowLeft');
  await until(page, () => globalThis.calderViewer.past !== null);
  assert.ok((await state(page)).past < stepped.time, 'a step back shows the past');
  assert.equal((await state(page)).hash, stepped.hash, 'and leaves the simulation alone');
  await page.click('#live');

  await page.keyboard.press('-');
  await until(page, () => globalThis.calderViewer.frame.speed === 0.5);
  await page.keyboard.press('+');
  await until(page, () => globalThis.calderViewer.frame.speed === 1);

  await page.keyboard.press('Backspace');
  await until(page, () => globalThis.calderViewer.frame.epoch === 1);
  const again = await state(page);
  assert.equal(again.hash, start.hash);
  assert.equal(again.time, 0);
  assert.deepEqual(complaints, []);
  await context.close();
  await server.stop();
});

// Presses where a point of a body is and drags to a place until the simulation has it. A press that nothing came of says what the page knows
// of it; it has moved the camera, so that the next one looks again.
async function pull(page, body, point, to) {
  await page.evaluate(() => {
    globalThis.heard = [];
    for (const name of ['pointerdown', 'pointerup', 'pointercancel', 'lostpointercapture', 'blur'])
      window.addEventListener(name, (event) => globalThis.heard.push(`${name} ${event.target?.id} ${event.ctrlKey}`), { capture: true });
    const { live } = globalThis.calderViewer;
    const send = live.send.bind(live);
    live.send = (command) => {
      globalThis.heard.push(command.do);
      send(command);
    };
  });
  for (let tries = 1; ; tries++) {
    const from = await project(page, body, point);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 6 });
    const holds = () => globalThis.calderViewer.frame.pull !== null;
    if (await page.waitForFunction(holds, undefined, { polling: 50, timeout: 20000 }).then(() => true, () => false)) return;
    const known = await page.evaluate(() => {
      const { frame, shown, lost, hand } = globalThis.calderViewer;
      return { frame: frame.number, shown, lost, holds: hand.holds, notes: document.getElementById('notes').textContent, heard: globalThis.heard };
    });
    console.log(`# press ${tries} at ${from.x}, ${from.y} was lost: ${JSON.stringify(known)}`);
    await page.mouse.up();
    assert.ok(tries < 4, 'a body is not taken');
  }
}

test('ctrl and drag pulls a body towards the mouse; afterwards the energy stays; two clients see the same', async () => {
  const server = await serve('chain:n=3,start=0,length=0.5', '--tol', '1e-8');
  const { context, page } = await open(browser, server.address);
  const other = await open(browser, server.address);
  for (const client of [page, other.page])
    await client.evaluate(() => {
      globalThis.seen = {};
      const viewer = globalThis.calderViewer;
      const add = viewer.addFrame.bind(viewer);
      viewer.addFrame = (frame) => {
        globalThis.seen[frame.number] = frame.hash;
        add(frame);
      };
    });
  const point = [0, 0, -0.45];
  const from = await project(page, 2, point);
  const to = { x: from.x + 130, y: from.y - 40 };
  const far = (at) => Math.hypot(at.x - to.x, at.y - to.y);
  await page.keyboard.down('Control');
  await pull(page, 2, point, to);
  await comesTrue(async () => far(await project(page, 2, point)) < 0.6 * far(from));
  const pulled = await state(page);
  assert.ok(Math.hypot(...pulled.pull.force) > 0);
  assert.equal(pulled.pull.body, 2);

  // One client holds the mouse; the other one is told.
  await other.page.keyboard.down('Control');
  let told = false;
  for (let i = 0; i < 100 && !told; i++) {
    // It swings, and may be gone when the press comes.
    const there = await project(other.page, 1, [0, 0, -0.2]);
    await other.page.mouse.move(there.x, there.y);
    await other.page.mouse.down();
    told = await other.page.waitForSelector('.note:has-text("holds the mouse")', { timeout: 700 }).then(() => true, () => false);
    await other.page.mouse.up();
  }
  assert.ok(told, 'the other client was not told who holds the mouse');
  assert.equal((await state(page)).pull.body, 2);

  await page.mouse.up();
  await page.keyboard.up('Control');
  await until(page, () => globalThis.calderViewer.frame.pull === null);
  await page.waitForTimeout(100);
  const released = await state(page);
  await until(page, (time) => globalThis.calderViewer.frame.time > time + 1.5, released.time);
  const later = await state(page);
  const scale = Math.max(released.channels.kinetic, later.channels.kinetic, 1e-3);
  const change = Math.abs(later.channels.total - released.channels.total) / scale;
  assert.ok(change < 1e-5, `the energy changed by ${change} of the kinetic energy`);
  const [mine, theirs] = await Promise.all([page, other.page].map((client) => client.evaluate(() => globalThis.seen)));
  const both = Object.keys(mine).filter((number) => number in theirs);
  assert.ok(both.length > 5, `${both.length} frames in common`);
  for (const number of both) assert.equal(mine[number], theirs[number]);
  await context.close();
  await other.context.close();
  await server.stop();
});

test('a click selects a body and shows its numbers; solver and tolerance change while it runs', async () => {
  const server = await serve('pendulum:start=1', '--solver', 'rk4');
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 1200, height: 760 } });
  await page.keyboard.press('Space');
  await stands(page);
  const at = await page.evaluate(() => globalThis.calderViewer.scene.instances.findLast((instance) => instance[0] === 0).slice(3, 6));
  const seen = await project(page, 0, at);
  await page.mouse.click(seen.x, seen.y);
  await page.waitForSelector('#body:not([hidden])');
  await until(page, () => globalThis.calderViewer.numbers);
  const numbers = await page.evaluate(() => globalThis.calderViewer.numbers);
  assert.equal(numbers.body, 0);
  assert.equal(numbers.joints[0].kind, 'revolute');
  assert.ok(Math.abs(numbers.mass - 1) < 1e-6);
  await page.keyboard.press('Escape');
  assert.equal(await page.isHidden('#body'), true);

  const hash = (await state(page)).hash;
  await page.selectOption('#set-solver', 'gear');
  await until(page, () => globalThis.calderViewer.plots.marks.length === 1);
  await page.selectOption('#set-tolerance', '0.000001');
  await until(page, () => globalThis.calderViewer.plots.marks.length === 2);
  assert.equal((await state(page)).hash, hash, 'another solver goes on from the same state');
  await page.keyboard.press('Space');
  await until(page, () => {
    const { frame, scene } = globalThis.calderViewer;
    return frame.running && frame.channels[scene.channels.findIndex((channel) => channel.name === 'order')] > 1;
  });
  const plots = await page.evaluate(() => new Set(globalThis.calderViewer.scene.channels.map((channel) => channel.plot)).size);
  assert.ok(plots > 4);
  assert.equal(await page.locator('#plots canvas').count(), plots);
  assert.deepEqual(complaints, []);
  await context.close();
  await server.stop();
});

test('a page without the token looks, and is told so', async () => {
  const server = await serve(CHAIN);
  const { context, page, complaints } = await open(browser, new URL('/', server.address).href);
  // It is told when it comes, and with each command again; a note goes after a while, so it is waited for from before the command on.
  const told = page.waitForSelector('.note:has-text("may only look")');
  await page.keyboard.press('Space');
  await told;
  await page.evaluate(() => globalThis.calderViewer.live.socket.send('{"do":"pause"}'));
  const { time } = await state(page);
  await until(page, (time) => globalThis.calderViewer.frame.time > time + 0.3, time);
  assert.equal((await state(page)).running, true, 'nothing paused it');
  // The policy that the server sends holds: what somebody puts into the page does not run, and no style but its own counts.
  const injected = await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'globalThis.injected = true';
    const style = document.createElement('style');
    style.textContent = 'body { opacity: 0.5 }';
    document.body.append(script, style);
    return [globalThis.injected ?? false, getComputedStyle(document.body).opacity];
  });
  assert.deepEqual(injected, [false, '1']);
  assert.equal(complaints.filter((text) => !/Content Security Policy/.test(text)).length, 0, complaints.join());
  await context.close();
  await server.stop();
});

test('a killed server shows that the connection is lost; a new one is found', async () => {
  const server = await serve(CHAIN, '--port', String(await findPort()));
  const { context, page } = await open(browser, server.address);
  await server.kill();
  await page.waitForSelector('#cover:not(.clear) >> text=Connection lost');
  assert.equal(await page.textContent('#state'), 'connection lost');
  const next = await serve(CHAIN, '--port', String(server.port));
  await page.waitForSelector('#cover.clear', { state: 'attached' });
  const { number } = await state(page);
  await until(page, (number) => globalThis.calderViewer.frame.number > number, number);
  // The new one has another token: it can be looked at from here.
  assert.equal(await page.evaluate(() => globalThis.calderViewer.live.may), false);
  await context.close();
  await next.stop();
});

test('help, theme and a telephone', async () => {
  const server = await serve('humanoid', '--paused');
  const { context, page, complaints } = await open(browser, server.address, { viewport: { width: 390, height: 800 }, hasTouch: true });
  await page.keyboard.press('F1');
  assert.equal(await page.isVisible('#help'), true);
  await page.keyboard.press('?');
  assert.equal(await page.isVisible('#help'), false);
  await page.keyboard.press('t');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'light');
  await page.keyboard.press('p');
  await page.waitForSelector('#side:not([hidden])');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} wide`);
  for (const button of await page.locator('#controls button:visible').all()) {
    const box = await button.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390);
    assert.ok(box.width >= 36 && box.height >= 30, 'a finger must hit it');
  }
  // A finger that rests on a body takes hold of it.
  await page.keyboard.press('p');
  const at = await page.evaluate(() => globalThis.calderViewer.scene.instances.findLast((instance) => instance[0] === 0).slice(3, 6));
  const seen = await project(page, 0, at);
  const touch = (type, x, y) => page.dispatchEvent('#stage', type, { pointerId: 7, pointerType: 'touch', isPrimary: true, button: 0, buttons: 1, clientX: x, clientY: y });
  await page.evaluate(() => {
    document.getElementById('stage').setPointerCapture = () => undefined; // there is no such finger
  });
  await touch('pointerdown', seen.x, seen.y);
  await until(page, () => globalThis.calderViewer.frame.pull !== null);
  await touch('pointerup', seen.x, seen.y);
  await until(page, () => globalThis.calderViewer.frame.pull === null);
  assert.deepEqual(complaints, []);
  await context.close();
  await server.stop();
});
