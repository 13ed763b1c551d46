// Frames that the page draws per second, and what one costs: node web/measure.mjs COMMAND SECONDS MODEL [option of `calder view` …]
//
// Chromium draws in software. At each quality, and at last where quality chooses itself: frames per second by the page's own count, draw calls and
// triangles of a frame, the page's script per frame, and the processor time of all of Chromium's processes and of the server per frame. The last
// two do not depend on who else uses the machine: a machine of n free cores draws at most 1000 n / (their sum, in ms) frames per second.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { launch, open, serve } from './tests/support.mjs';

const [, , command, seconds = '6', ...model] = process.argv;
if (!command || model.length === 0) {
  console.error('usage: node web/measure.mjs COMMAND SECONDS MODEL [OPTION …]');
  process.exit(2);
}
const tick = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

// ms of processor time of a process and all below it.
function spent(root) {
  const parent = new Map();
  const own = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
      parent.set(Number(name), Number(fields[1]));
      own.set(Number(name), tick * (Number(fields[11]) + Number(fields[12])));
    } catch {
      /* it has ended */
    }
  }
  let sum = 0;
  for (const [id, time] of own) {
    let at = id;
    while (at > 1 && at !== root) at = parent.get(at) ?? 0;
    if (at === root) sum += time;
  }
  return sum;
}

const server = await serve(...model);
const browser = await launch();
// Playwright starts the browser below this process, and so does the server.
const all = () => spent(process.pid) - spent(server.pid) - (process.cpuUsage().user + process.cpuUsage().system) / 1000;
try {
  const { page } = await open(browser, server.address, { viewport: { width: 1280, height: 720 } });
  const names = await page.$$eval('#set-quality option', (list) => list.map((option) => option.value));
  console.log('quality     frames/s  calls  triangles  script ms  Chromium ms  server ms  (per frame)   × real time');
  let slow = false; // finer ones would be slower
  for (const name of [...names.filter(Boolean).reverse(), '']) {
    if (slow && name) continue;
    await page.evaluate((quality) => globalThis.calderViewer.setQuality(quality || null), name);
    await page.waitForTimeout(name ? 2500 : 15000);
    await page.evaluate(() => {
      const { stage } = globalThis.calderViewer;
      const count = (globalThis.counted = { frames: 0, script: 0, start: performance.now(), time: globalThis.calderViewer.frame.time });
      stage.plain ??= stage.render.bind(stage);
      const tick = (globalThis.calderViewer.plainTick ??= globalThis.calderViewer.tick.bind(globalThis.calderViewer));
      globalThis.calderViewer.tick = (now) => {
        const from = performance.now();
        tick(now);
        count.script += performance.now() - from;
      };
      stage.render = () => {
        const drawn = stage.plain();
        if (drawn) count.frames++;
        return drawn;
      };
    });
    const [before, served] = [all(), spent(server.pid)];
    await page.waitForTimeout(1000 * Number(seconds));
    const [used, serving] = [all() - before, spent(server.pid) - served];
    const seen = await page.evaluate(() => {
      const { counted, calderViewer } = globalThis;
      const { render } = calderViewer.stage.renderer.info;
      const passed = (performance.now() - counted.start) / 1000;
      return { fps: counted.frames / passed, frames: counted.frames, script: counted.script / counted.frames, pace: (calderViewer.frame.time - counted.time) / passed, calls: render.calls, triangles: render.triangles, level: calderViewer.stage.quality.level.name };
    });
    slow = seen.fps < 3;
    console.log(
      `${(name || `automatic: ${seen.level}`).padEnd(18)} ${seen.fps.toFixed(1).padStart(5)} ${String(seen.calls).padStart(6)} ${String(seen.triangles).padStart(10)} ${seen.script.toFixed(2).padStart(10)} ${(used / seen.frames).toFixed(1).padStart(12)} ${(serving / seen.frames).toFixed(1).padStart(10)} ${seen.pace.toFixed(2).padStart(26)}`,
    );
  }
} finally {
  await browser.close();
  await server.stop();
}
