// Makes the picture of the viewer: node screenshot.mjs COMMAND PICTURE.png [MODEL] [SECONDS] [dark|light]
import { launch, open, serve, until } from './tests/support.mjs';

const [, , , picture, model = 'mobile', seconds = '2.2', theme = 'dark'] = process.argv;
const server = await serve(model, '--tol', '1e-6', '--paused');
const browser = await launch();
try {
  // Small while it moves, so that frames are quick; frame by frame, so that the picture is the same every time.
  const { page } = await open(browser, `${server.address}#fine`, { viewport: { width: 200, height: 120 }, colorScheme: theme });
  for (let frame = 0; frame < 60 * Number(seconds); frame++) {
    await page.evaluate(() => globalThis.calderViewer.command({ do: 'step' }));
    await until(page, (time) => globalThis.calderViewer.frame.time > time, (frame + 0.5) / 60);
  }
  await page.setViewportSize({ width: 1280, height: 760 });
  await page.keyboard.press('p');
  await page.keyboard.press('f');
  // Away from the panels, with a body selected.
  const body = await page.evaluate(() => {
    const { stage } = globalThis.calderViewer;
    stage.camera.position.sub(stage.controls.target).multiplyScalar(0.95).add(stage.controls.target);
    stage.setCovered({ right: 120 });
    stage.controls.update();
    return Math.min(14, globalThis.calderViewer.scene.drawn - 1);
  });
  await page.evaluate((body) => globalThis.calderViewer.select(body), body);
  await until(page, () => globalThis.calderViewer.numbers !== null);
  await page.waitForTimeout(4000);
  await page.screenshot({ path: picture });
} finally {
  await browser.close();
  await server.stop();
}
