// The page: a live simulation, or a recorded one where the page has one inside.
import * as THREE from 'three';
import './style.css';
import { Bodies } from './bodies';
import { takePicture, Video } from './capture';
import { Follow } from './follow';
import { Gallery } from './gallery';
import { Hand } from './hand';
import { History } from './history';
import { Live, type Command } from './live';
import { ModelView } from './model';
import { Overlay, type Shown } from './overlay';
import { choose, cover, element, localTheme, note, plural, recall, remember, uncover } from './page';
import { showBody } from './panel';
import { Playhead } from './playhead';
import { Plots } from './plots';
import { levels } from './quality';
import { describeRecorded, subtreeMasses } from './recorded';
import { Sliders } from './sliders';
import { Stage, themes } from './stage';
import { decodeRecorded, type BodyNumbers, type Frame, type Probe, type Scene, type Status } from './wire';

const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const MINUTE = 60; // s that a live view can be scrubbed back
const TEXTS = 90; // ms between new texts

const root = document.documentElement;

class Viewer {
  readonly stage = new Stage(element<HTMLCanvasElement>('stage'));
  readonly hand: Hand;
  readonly follow = new Follow(this.stage);
  live: Live | null = null;
  scene: Scene | null = null;
  model: ModelView | null = null;
  plots: Plots | null = null;
  history = new History(1, MINUTE);
  frame: Frame | null = null; // the newest
  shown = 0; // number of the newest frame that was drawn, or drawn a part of
  readonly playhead = new Playhead();
  past: number | null = null; // s, where the view is when it is not now
  playing = false; // a recording
  speed = 1;
  selected = -1;
  size = 1;
  lost = false;
  numbers: BodyNumbers | null = null;
  overlay: Overlay | null = null;
  probes: Probe[] = [];
  opening = ''; // what was chosen in the gallery
  readonly video = new Video();
  readonly bodies = new Bodies((body) => this.select(body));
  readonly sliders = new Sliders((command) => this.command(command), () => this.live !== null);
  readonly gallery = new Gallery({
    command: (command) => this.command(command),
    opening: (title) => {
      this.opening = title;
      if (title) cover(`Opening ${title}`);
      else uncover();
    },
    say: (text, bad) => note(text, bad),
  });
  private tab = 'plots';
  private followed = false; // the camera goes with the selected body
  private readonly wants: Partial<Shown> = {};
  private asked = { contacts: false, q: false }; // of the server
  private latest = new Float32Array(0);
  private masses: Float64Array = new Float64Array(0); // of a recording: what hangs on each body
  private wanted: number[] | null = null; // target to send with the next drawing
  private clock = performance.now();
  private described = 0; // when the texts were written

  constructor() {
    this.hand = new Hand(this.stage, {
      select: (body) => this.select(body),
      allowed: () => {
        const can = this.scene?.pull !== false;
        if (!can) note('These bodies cannot be pulled: nothing reaches into this run while it goes on.');
        return can;
      },
      grab: (body, point) => {
        this.follow.leave();
        this.command({ do: 'grab', body, point });
      },
      drag: (target) => (this.wanted = target),
      drop: () => {
        this.wanted = null;
        this.command({ do: 'drop' });
      },
    });
    this.setTheme(localTheme());
    this.offerQuality();
    this.listen();
    const tick = (now: number): void => {
      this.tick(now);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // --- What comes in ---

  setScene(scene: Scene): void {
    const again = this.scene !== null && this.scene.model === scene.model && this.scene.drawn === scene.drawn;
    this.scene = scene;
    if (this.model) {
      this.stage.scene.remove(this.model.root);
      this.model.dispose();
    }
    this.opening = '';
    this.probes = [];
    this.asked = { contacts: false, q: false };
    if (this.overlay) {
      this.stage.scene.remove(this.overlay.root);
      this.overlay.dispose();
      this.overlay = null;
    }
    this.model = new ModelView(scene, () => (this.stage.dirty = true));
    this.model.setShapes(element<HTMLSelectElement>('set-shapes').value as 'looks');
    this.offerGroups();
    this.model.setLight(this.stage.light);
    this.hand.model = this.model;
    this.stage.scene.add(this.model.root);
    this.history = new History(scene.drawn, this.live ? MINUTE : Infinity);
    this.frame = null;
    this.playhead.clear();
    this.past = null;
    this.shown = 0;
    this.latest = new Float32Array(7 * scene.drawn);
    this.masses = subtreeMasses(scene);
    if (!again) {
      this.stage.setUp(new THREE.Vector3(...scene.up));
      this.size = 0;
    }
    this.makePlots();
    const short = scene.model.split('/').slice(-2).join('/');
    element('model').textContent = short;
    element('model').title = scene.model;
    document.title = `${short} · Calder`;
    const some = scene.drawn < scene.bodies ? `, the first ${scene.drawn.toLocaleString('en')} bodies are drawn` : '';
    const what = scene.moving === undefined ? `${plural(scene.joints ?? 0, 'joint')}, ${plural(scene.degrees ?? 0, 'degree')} of freedom` : `${plural(scene.bodies, 'body', 'bodies')}, ${scene.moving.toLocaleString('en')} of them moving`;
    element('facts').textContent = `${what}${some}`;
    element('choices').hidden = !scene.choices;
    if (scene.choices) this.offerChoices(scene);
    element('hand').hidden = !this.live || scene.pull === false || !scene.instances.some((row) => row[0] >= 0);
    this.bodies.setScene(scene);
    this.sliders.setScene(scene);
    this.gallery.offer(scene);
    this.select(-1);
  }

  private makePlots(): void {
    if (!this.scene) return;
    this.plots?.destroy();
    this.plots = new Plots(element('plots'), this.scene.channels, this.live ? MINUTE : Infinity, this.probes);
  }

  addFrame(frame: Frame): void {
    if (this.frame && frame.epoch !== this.frame.epoch) {
      this.history.clear();
      this.plots?.clear();
      this.past = null;
      this.hand.letGo();
    }
    this.frame = frame;
    this.history.add(frame);
    if (this.live) this.playhead.add(frame, performance.now());
    this.plots?.add(frame.time, frame.channels, Math.min(1, frame.speed));
    if (this.size === 0 && this.model) {
      this.model.update(frame.poses);
      const box = this.model.box();
      this.size = box.getSize(new THREE.Vector3()).length();
      this.leaveRoom();
      this.stage.build(box, this.scene?.instances.some((row) => row[0] < 0 && row[1] === 'plane') ?? false);
      this.follow.begin(this.model, box, this.scene?.floats ?? -1);
      this.model.setLight(this.stage.light);
      this.refine();
      uncover();
    }
    if (this.overlay === null && this.scene) {
      this.overlay = new Overlay(this.scene, this.size);
      this.stage.scene.add(this.overlay.root);
      Object.assign(this.overlay.shown, this.wants);
      this.askForMore();
    }
  }

  setStatus(status: Status): void {
    for (const name of ['solver', 'algorithm', 'machine'] as const) choose(`set-${name}`, status[name]);
    choose('set-tolerance', String(status.tolerance));
    if (this.plots) this.plots.marks = status.marks;
    this.probes = status.probes;
    this.plots?.setProbes(status.probes);
    this.sliders.setProbes(status.probes);
    this.sliders.setControls(status.control);
    element('hint').textContent = status.hint;
    element('hint').hidden = !status.hint;
    if (status.note) note(status.note, true);
  }

  setBody(numbers: BodyNumbers): void {
    // The past has numbers of its own.
    if (numbers.body !== this.selected || this.past !== null) return;
    this.numbers = numbers;
    showBody(numbers, element('body-name'), element('body-numbers'));
    element('body').hidden = false;
  }

  // --- What goes out ---

  command(command: Command): void {
    this.live?.send(command);
  }

  get running(): boolean {
    return this.live ? (this.frame?.running ?? false) : this.playing;
  }

  toggle(): void {
    if (this.live) {
      this.past = null;
      this.command({ do: this.running ? 'pause' : 'run' });
    } else {
      if (!this.playing && (this.past ?? 0) >= this.history.last) this.past = this.history.first;
      this.playing = !this.playing;
    }
    this.stage.dirty = true;
  }

  step(direction: number): void {
    const frames = this.history.frames;
    if (frames.length === 0) return;
    if (this.running) this.toggle();
    const now = this.past ?? this.history.last;
    const next = this.history.indexAt(now) + direction;
    if (direction > 0 && next >= frames.length) {
      this.past = this.live ? null : this.history.last;
      this.command({ do: 'step' });
    } else {
      this.past = frames[Math.max(next, 0)]!.time;
      if (this.live && next === frames.length - 1) this.past = null;
    }
    this.stage.dirty = true;
  }

  reset(): void {
    if (this.live) this.command({ do: 'reset' });
    else this.past = this.history.first;
    this.stage.dirty = true;
  }

  changeSpeed(direction: number): void {
    const now = this.live ? (this.frame?.speed ?? 1) : this.speed;
    let index = SPEEDS.findIndex((speed) => speed >= now * 0.999);
    if (index < 0) index = SPEEDS.length - 1;
    this.speed = SPEEDS[Math.min(Math.max(index + direction, 0), SPEEDS.length - 1)]!;
    this.command({ do: 'speed', speed: this.speed });
    if (!this.live) this.stage.dirty = true;
  }

  select(body: number): void {
    this.selected = body;
    this.numbers = null;
    this.model?.select(body);
    this.bodies.mark(body);
    if (this.followed && this.model) this.follow.chase(this.model, body);
    this.stage.dirty = true;
    if (body < 0 || !this.live) element('body').hidden = true;
    if (this.live) this.command({ do: 'watch', body });
    if (body >= 0 && (!this.live || this.past !== null)) this.showRecordedBody();
  }

  // Shows what was, and its numbers at once; null: now.
  scrub(time: number | null): void {
    this.past = time;
    this.stage.dirty = true;
    this.pose(performance.now());
    this.describe(performance.now());
  }

  // Tells the server what frames should have beside poses, and only that.
  askForMore(): void {
    const shown = this.overlay?.shown;
    const wanted = { contacts: shown?.contacts === true, q: shown?.limits === true || this.tab === 'joints' };
    for (const kind of ['contacts', 'q'] as const) {
      // Only what changed: others who look may have asked for it.
      if (wanted[kind] !== this.asked[kind]) this.command({ do: 'show', kind, index: wanted[kind] ? 1 : 0 });
      this.asked[kind] = wanted[kind];
    }
  }

  showTab(tab: string): void {
    this.tab = tab;
    for (const button of document.querySelectorAll<HTMLElement>('#tabs button')) button.setAttribute('aria-selected', String(button.dataset['tab'] === tab));
    for (const panel of document.querySelectorAll<HTMLElement>('[data-panel]')) panel.hidden = panel.dataset['panel'] !== tab;
    this.askForMore();
    if (tab !== 'plots') return;
    this.plots?.resize();
    this.plots?.draw(performance.now(), 0);
  }

  private showRecordedBody(): void {
    this.numbers = describeRecorded(this.scene!, this.masses, this.history, this.selected, this.past ?? this.history.first, this.model!.poses);
    showBody(this.numbers, element('body-name'), element('body-numbers'));
    element('body').hidden = false;
  }

  // --- Every frame ---

  private tick(now: number): void {
    const passed = Math.min((now - this.clock) / 1000, 0.1);
    this.clock = now;
    if (this.wanted) {
      this.command({ do: 'drag', target: this.wanted });
      this.wanted = null;
    }
    if (!this.live && this.playing && this.history.frames.length > 0) {
      this.past = (this.past ?? this.history.first) + passed * this.speed;
      if (this.past >= this.history.last) {
        this.past = this.history.last;
        this.playing = false;
      }
      this.stage.dirty = true;
    }
    const moves = this.past === null && this.frame !== null && (this.frame.number !== this.shown || this.playhead.time !== this.frame.time);
    if (moves || this.stage.dirty) this.pose(now);
    if (this.size > 0 && this.model && (moves || this.stage.dirty)) this.follow.update(this.model, now, this.running);
    this.refine();
    if (this.video.runs) this.stage.dirty = true; // what stands still has frames, too
    const drawn = this.stage.render();
    // Texts that change sixty times a second cannot be read, and cost as much as the model.
    if ((drawn || moves) && (!this.running || now - this.described > TEXTS)) this.describe(now);
    this.plots?.draw(now, this.stage.quality.level.smooth ? 125 : 250);
    if (this.stage.measure()) this.describe(now);
  }

  // Makes the model's meshes as fine as the quality and the camera ask for.
  private refine(): void {
    if (this.size > 0) this.model?.refine(this.stage.quality.level, this.stage.camera, this.stage.controls.target, this.stage.height);
  }

  // Puts the bodies where they are now, or were.
  private pose(now: number): void {
    if (!this.model || !this.frame) return;
    let pull = null;
    if (this.past === null) {
      const at = this.playhead.sample(now, this.latest) ?? this.frame;
      this.model.update(this.latest);
      this.shown = at.number;
      pull = at.pull;
    } else {
      const at = this.history.sample(this.past, this.latest);
      if (at) this.model.update(this.latest);
      pull = at?.pull ?? null;
    }
    const drawn = this.past === null ? this.frame : this.history.frames[this.history.indexAt(this.past)];
    this.overlay?.update(this.model, drawn?.contacts ?? null, drawn?.q ?? null);
    this.hand.draw(pull, this.size);
    this.plots?.setCursor(this.past);
    this.stage.dirty = true;
  }

  private describe(now: number): void {
    const frame = this.frame;
    if (!frame) return;
    this.described = now;
    if ((!this.live || this.past !== null) && this.selected >= 0) this.showRecordedBody();
    if (this.tab === 'joints') this.sliders.update(frame.q, this.running);
    root.classList.toggle('running', this.running);
    const time = this.past ?? frame.time;
    element('time').textContent = `${time.toFixed(2)} s`;
    const line = element<HTMLInputElement>('timeline');
    const span = this.history.last - this.history.first;
    if (document.activeElement !== line || this.past === null || this.playing) line.value = String(span > 0 ? Math.round((1000 * (time - this.history.first)) / span) : 1000);
    element('live').hidden = this.past === null || !this.live;
    const speed = this.live ? frame.speed : this.speed;
    element('speed').textContent = `${speed} ×`;
    const state = element('state');
    if (this.lost) return;
    state.className = frame.failed ? 'failed' : this.running ? 'running' : 'paused';
    if (this.live && this.past !== null) {
      state.className = 'paused';
      state.textContent = `the past, ${(frame.time - this.past).toFixed(2)} s ago${this.running ? '; it runs on' : ''}`;
      element('pace').textContent = element('rate').textContent = '';
      return;
    }
    state.textContent = !this.live ? 'recorded' : frame.failed ? 'stopped' : this.running ? (frame.behind ? 'running, slower than asked' : 'running') : 'paused';
    const pace = frame.channels[this.scene!.channels.findIndex((channel) => channel.name === 'speed')];
    element('pace').textContent = this.live && this.running && pace !== undefined ? `${pace.toFixed(2)} × real time` : '';
    element('rate').textContent = this.running && this.stage.fps > 0 ? `${this.stage.fps.toFixed(0)} frames/s` : '';
    const { level, fixed } = this.stage.quality;
    element('quality').textContent = `quality: ${level.name}${fixed ? '' : ', automatic'}`;
  }

  // --- Buttons, keys, timeline ---

  setTheme(theme: 'dark' | 'light'): void {
    root.dataset['theme'] = theme;
    this.stage.setTheme(themes[theme]);
    this.model?.setLight(this.stage.light);
    if (this.plots) {
      // Axes take their colours when they are made.
      this.makePlots();
      for (const frame of this.history.frames) this.plots.add(frame.time, frame.channels);
    }
  }

  toggleSide(show?: boolean): void {
    const side = element('side');
    side.hidden = show === undefined ? !side.hidden : !show;
    element('plots-toggle').setAttribute('aria-pressed', String(!side.hidden));
    this.leaveRoom();
    // On a telephone the panel takes half of the room.
    if (window.innerWidth <= 720 && this.size > 0 && !this.follow.taken) this.fit();
    if (side.hidden) return;
    this.plots?.resize();
    this.plots?.draw(performance.now(), 0);
  }

  // The model has the room between what lies above it, below it and beside it.
  private leaveRoom(): void {
    const [side, tools] = [element('side'), element('tools').getBoundingClientRect()];
    const narrow = window.innerWidth <= 720;
    const right = side.hidden || narrow ? 0 : side.offsetWidth + 14;
    const top = narrow ? element('title').getBoundingClientRect().bottom : tools.bottom;
    const below = narrow && !side.hidden ? side : element('controls');
    this.stage.setCovered({ right, top, bottom: window.innerHeight - below.getBoundingClientRect().top });
  }

  fit(): void {
    if (this.model) this.stage.frame(this.model.box(), true);
  }

  toggleHand(): void {
    this.hand.plain = !this.hand.plain;
    element('hand').setAttribute('aria-pressed', String(this.hand.plain));
    this.stage.canvas.classList.toggle('hand', this.hand.plain);
  }

  // By its name, or null: by itself.
  setQuality(name: string | null): void {
    this.stage.quality.fix(name);
    this.stage.applyQuality();
    element<HTMLSelectElement>('set-quality').value = name ?? '';
    remember('calder-quality', name ?? '');
    this.describe(performance.now());
  }

  private nextQuality(): void {
    const names = [null, ...levels.map((level) => level.name)];
    const now = this.stage.quality.fixed ? this.stage.quality.level.name : null;
    const next = names[(names.indexOf(now) + 1) % names.length]!;
    this.setQuality(next);
    note(`Quality: ${next ?? 'automatic'}`);
  }

  private offerQuality(): void {
    const select = element<HTMLSelectElement>('set-quality');
    select.replaceChildren(new Option('automatic', ''), ...levels.map((level) => new Option(level.name, level.name)));
    select.onchange = () => {
      this.setQuality(select.value || null);
      select.blur();
    };
    select.value = this.stage.quality.fixed ? this.stage.quality.level.name : '';
    const kept = recall('calder-quality');
    if (kept && location.hash !== '#fine') this.setQuality(levels.some((level) => level.name === kept) ? kept : null);
  }

  private offerChoices(scene: Scene): void {
    for (const name of ['solver', 'algorithm', 'machine', 'tolerance'] as const) {
      const select = element<HTMLSelectElement>(`set-${name}`);
      select.replaceChildren(...scene.choices![name].map((choice) => new Option(typeof choice === 'number' ? choice.toExponential().replace('e-', 'e−') : choice, String(choice))));
      select.onchange = () => {
        this.command({ do: 'set', [name]: name === 'tolerance' ? Number(select.value) : select.value });
        select.blur();
      };
    }
  }

  private listen(): void {
    const help = element<HTMLDialogElement>('help');
    const actions: Record<string, () => void> = {
      play: () => this.toggle(),
      reset: () => this.reset(),
      back: () => this.step(-1),
      step: () => this.step(1),
      slower: () => this.changeSpeed(-1),
      faster: () => this.changeSpeed(1),
      hand: () => this.toggleHand(),
      fit: () => this.fit(),
      theme: () => {
        const next = root.dataset['theme'] === 'dark' ? 'light' : 'dark';
        remember('calder-theme', next);
        this.setTheme(next);
      },
      'plots-toggle': () => this.toggleSide(),
      quality: () => this.nextQuality(),
      'help-toggle': () => (help.open ? help.close() : help.showModal()),
      live: () => this.scrub(null),
      'gallery-toggle': () => this.gallery.show(!this.gallery.visible),
      picture: () => takePicture(this.stage.canvas, this.scene?.model ?? '', () => this.stage.renderer.render(this.stage.scene, this.stage.camera)),
      video: () => element('video').setAttribute('aria-pressed', String(this.video.toggle(this.stage.canvas, this.scene?.model ?? '', note))),
      'body-close': () => (this.gallery.visible ? this.gallery.show(false) : this.select(-1)),
    };
    for (const [id, action] of Object.entries(actions)) element(id).addEventListener('click', action);
    this.listenToPanels();
    const keys: Record<string, string> = { ' ': 'play', Backspace: 'reset', ArrowLeft: 'back', ArrowRight: 'step', '+': 'faster', '=': 'faster', '-': 'slower', h: 'hand', f: 'fit', g: 'gallery-toggle', s: 'picture', r: 'video', t: 'theme', q: 'quality', p: 'plots-toggle', '?': 'help-toggle', F1: 'help-toggle', Escape: 'body-close' };
    window.addEventListener('keydown', (event) => {
      const name = keys[event.key] ?? keys[event.key.toLowerCase()];
      const target = event.target as HTMLElement;
      if (!name || event.ctrlKey || event.metaKey || event.altKey || target.tagName === 'SELECT' || (target.tagName === 'INPUT' && target.id !== 'timeline')) return;
      if (help.open && name !== 'help-toggle') return;
      // A focused button would be pressed by the space bar as well.
      if (target.tagName === 'BUTTON' || target.id === 'timeline') target.blur();
      event.preventDefault();
      actions[name]!();
    });
    const line = element<HTMLInputElement>('timeline');
    line.addEventListener('input', () => {
      const span = this.history.last - this.history.first;
      const share = Number(line.value) / 1000;
      if (!this.live) this.playing = false;
      this.scrub(share >= 1 && this.live ? null : this.history.first + share * span);
    });
    line.addEventListener('change', () => line.blur());
    help.addEventListener('click', (event) => {
      if (event.target === help) help.close();
    });
    window.addEventListener('resize', () => {
      this.leaveRoom();
      this.plots?.resize();
    });
  }

  // A box for each group of shapes, where there is more than one.
  private offerGroups(): void {
    const groups = [...(this.model?.groups() ?? [])];
    const list = element('groups');
    list.hidden = groups.length < 2;
    list.replaceChildren(
      list.firstElementChild!,
      ...groups.map(([group, shown]) => {
        const label = document.createElement('label');
        const box = document.createElement('input');
        box.type = 'checkbox';
        box.id = `show-group-${group}`;
        box.checked = shown;
        box.addEventListener('change', () => {
          this.model?.setGroup(group, box.checked);
          this.stage.dirty = true;
          box.blur(); // keys are the page's again
        });
        label.className = 'check';
        label.append(box, ` ${group}`);
        return label;
      }),
    );
  }

  private listenToPanels(): void {
    for (const button of document.querySelectorAll<HTMLElement>('#tabs button')) button.addEventListener('click', () => this.showTab(button.dataset['tab']!));
    for (const name of ['frames', 'centers', 'contacts', 'limits'] as const) {
      const box = element<HTMLInputElement>(`show-${name}`);
      box.addEventListener('change', () => {
        this.wants[name] = box.checked;
        if (this.overlay) this.overlay.shown[name] = box.checked;
        this.askForMore();
        this.stage.dirty = true;
        box.blur(); // keys are the page's again
      });
    }
    const follow = element<HTMLInputElement>('show-follow');
    follow.addEventListener('change', () => {
      this.followed = follow.checked;
      follow.blur();
      if (this.model) this.follow.chase(this.model, follow.checked ? this.selected : -1);
    });
    const shapes = element<HTMLSelectElement>('set-shapes');
    shapes.addEventListener('change', () => {
      this.model?.setShapes(shapes.value as 'looks');
      this.offerGroups();
      this.stage.dirty = true;
      shapes.blur();
    });
  }
}

function startLive(viewer: Viewer): void {
  cover('Connecting', '', true);
  viewer.toggleSide(window.innerWidth > 1000);
  viewer.live = new Live({
    scene: (scene) => viewer.setScene(scene),
    frame: (frame) => viewer.addFrame(frame),
    status: (status) => viewer.setStatus(status),
    body: (numbers) => viewer.setBody(numbers),
    note: (text) => note(text),
    connected: () => {
      viewer.lost = false;
      if (viewer.scene) uncover();
      viewer.hand.enabled = true;
    },
    lost: () => {
      viewer.lost = true;
      viewer.hand.enabled = false;
      viewer.hand.letGo();
      element('state').className = 'lost';
      element('state').textContent = 'connection lost';
      element('pace').textContent = element('rate').textContent = '';
      if (viewer.opening) cover(`Opening ${viewer.opening}`);
      else cover('Connection lost', 'Trying again. Is calder view still running?', viewer.scene === null);
    },
  });
}

function startRecorded(viewer: Viewer, scene: Scene, lines: string[]): void {
  root.classList.add('recorded');
  element('hand').hidden = true;
  viewer.toggleSide(window.innerWidth > 1000);
  viewer.setScene(scene);
  lines.forEach((line, i) => viewer.addFrame(decodeRecorded(line, scene.channels.length, i + 1)));
  viewer.past = viewer.history.first;
  viewer.playing = lines.length > 1;
  uncover();
}

function start(): void {
  let viewer: Viewer;
  try {
    viewer = new Viewer();
  } catch (error) {
    cover('This browser cannot draw', `WebGL is not available: ${error instanceof Error ? error.message : String(error)}`, true);
    return;
  }
  // For tests and scripts.
  Object.assign(window, { calderViewer: viewer });
  const scene = document.getElementById('recorded-scene');
  const frames = document.getElementById('recorded-frames');
  if (scene?.textContent && frames?.textContent) startRecorded(viewer, JSON.parse(scene.textContent) as Scene, frames.textContent.trim().split('\n'));
  else if (location.protocol === 'file:') cover('Nothing is recorded here', 'This page belongs to calder view.', true);
  else startLive(viewer);
}

start();
