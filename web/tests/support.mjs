// What the browser tests share: a server of our own, a browser, and ways to wait.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const command = process.env.CALDER_COMMAND ?? 'build/release/bin/calder';
const executablePath = process.env.CALDER_CHROMIUM ?? '/usr/bin/chromium';
// Drawn in software, so that it works, and looks the same, where there is no graphics processor.
const flags = '--no-sandbox --disable-gpu --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

export const launch = () => chromium.launch({ executablePath, args: flags.split(' ') });

// Whatever is written, by these tests, by browsers and by servers, also by those that are killed: in one folder, which goes with the process.
const place = mkdtempSync(join(tmpdir(), 'calder-web-'));
process.env.TMPDIR = place;
// Who removes it waits for the end of a pipe, which comes however this process ends.
const remover = spawn('sh', ['-c', 'cat; rm -rf -- "$0" || { sleep 2; rm -rf -- "$0"; }', place], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
remover.unref();
remover.stdin.unref();
process.once('exit', () => endAll());

export const makeFolder = () => mkdtempSync(join(place, 'test-'));

// Runs the command to its end; resolves to its exit status and what it said.
export async function run(...args) {
  const process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  process.stdout.on('data', (data) => (out += data));
  process.stderr.on('data', (data) => (err += data));
  const [status] = await once(process, 'close');
  return { status, out, err };
}

// Servers that a test which failed left behind.
const running = new Set();
export const endAll = () => {
  for (const process of running) process.kill('SIGKILL');
};

// `calder view`, until stop() or kill().
export const serve = (...args) => serveBy([command], ...args);

// The same on ranks, or however else: `before` is the command line up to the arguments.
export async function serveBy(before, ...args) {
  const process = spawn(before[0], [...before.slice(1), 'view', '--json', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(process);
  process.once('exit', () => running.delete(process));
  const line = await new Promise((resolve, reject) => {
    let said = '';
    process.stdout.on('data', (data) => {
      said += data;
      if (said.includes('\n')) resolve(said.split('\n')[0]);
    });
    process.once('exit', (status) => reject(new Error(`calder view ended with ${status}`)));
  });
  const address = JSON.parse(line).address;
  const end = async (signal) => {
    if (process.exitCode !== null || process.signalCode !== null) return process.exitCode;
    const over = once(process, 'exit');
    process.kill(signal);
    return (await over)[0];
  };
  return { address, port: Number(new URL(address).port), pid: process.pid, stop: () => end('SIGINT'), kill: () => end('SIGKILL') };
}

// A port that nobody listens at, and that the system gives nobody for a connection of theirs: those are above 32767.
export async function findPort() {
  for (;;) {
    const port = 20000 + Math.floor(12000 * Math.random());
    const probe = createServer();
    const free = await new Promise((resolve) => {
      probe.once('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

// How long anybody waits for what must come: nobody does on a quiet computer.
const PATIENCE = 120000;

// A page of the viewer with its first frame drawn; what the console complains about is collected.
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 900, height: 640 }, colorScheme: 'dark', ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => {
    // Reading pixels back, as these tests do, makes the driver complain about the tests.
    if (/ReadPixels/.test(message.text())) return;
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(address);
  await page.waitForFunction(() => globalThis.calderViewer?.frame && globalThis.calderViewer.size > 0);
  return { context, page, complaints };
}

// What the page knows.
export const state = (page) =>
  page.evaluate(() => {
    const { frame, shown, past } = globalThis.calderViewer;
    const channels = Object.fromEntries(globalThis.calderViewer.scene.channels.map((channel, i) => [channel.name, frame.channels[i]]));
    return { time: frame.time, hash: frame.hash, running: frame.running, number: frame.number, speed: frame.speed, epoch: frame.epoch, pull: frame.pull, shown, past, channels, poses: Array.from(frame.poses) };
  });

export const until = (page, condition, argument) => page.waitForFunction(condition, argument, { polling: 50 });

// The same for what the page cannot say by itself.
export async function comesTrue(condition) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) if (Date.now() > end) throw new Error(`it does not come true: ${condition}`);
}

// Until what is drawn is where the simulation has stopped.
export const stands = (page) =>
  until(page, () => {
    const { frame, shown, playhead } = globalThis.calderViewer;
    return !frame.running && shown === frame.number && playhead.time === frame.time;
  });

// Where a body's origin, or a point of it, is on the screen.
export const project = (page, body, point = [0, 0, 0]) =>
  page.evaluate(
    ([body, point]) => {
      const { model, stage } = globalThis.calderViewer;
      const at = stage.camera.position.clone().set(...point).applyMatrix4(model.matrixOf(body));
      const seen = at.project(stage.camera);
      const box = stage.canvas.getBoundingClientRect();
      return { x: box.left + ((seen.x + 1) / 2) * box.width, y: box.top + ((1 - seen.y) / 2) * box.height };
    },
    [body, point],
  );

// The picture as numbers: pixels that are painted in a strong colour, and a sum over all of them.
export const picture = (page) =>
  page.evaluate(() => {
    const { stage } = globalThis.calderViewer;
    stage.renderer.render(stage.scene, stage.camera);
    const gl = stage.renderer.getContext();
    const { drawingBufferWidth: width, drawingBufferHeight: height } = gl;
    const bytes = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
    let painted = 0;
    let sum = 0;
    for (let i = 0; i < bytes.length; i += 4) {
      const strong = Math.max(bytes[i], bytes[i + 1], bytes[i + 2]) - Math.min(bytes[i], bytes[i + 1], bytes[i + 2]) > 60;
      if (strong) {
        painted++;
        sum = (sum * 31 + i) % 1000003;
      }
    }
    // In pixels of the screen: how many the picture has is the quality's business, which gives way on busy cores.
    const pixels = stage.canvas.clientWidth * stage.canvas.clientHeight;
    return { painted: Math.round((painted * pixels) / (width * height)), sum, pixels };
  });
