// Sliders: joints while it is paused, controls always; keyframes to start from; what is plotted of a joint; sensors.
import type { Command } from './live';
import type { Probe, Scene } from './wire';

const MOST = 120; // joints

interface Row {
  input: HTMLInputElement;
  value: HTMLOutputElement;
  q: number;
}

function slider(label: string, low: number, high: number, value: number): { row: HTMLElement; input: HTMLInputElement; output: HTMLOutputElement } {
  const row = document.createElement('div');
  const name = document.createElement('label');
  const input = document.createElement('input');
  const output = document.createElement('output');
  row.className = 'slider';
  name.textContent = name.title = label;
  input.type = 'range';
  input.min = String(low);
  input.max = String(high);
  input.step = 'any';
  input.value = String(value);
  input.setAttribute('aria-label', label);
  input.addEventListener('change', () => input.blur());
  output.textContent = value.toFixed(3);
  row.append(name, input, output);
  return { row, input, output };
}

export class Sliders {
  private readonly joints = document.getElementById('joint-list')!;
  private readonly controls = document.getElementById('control-list')!;
  private readonly sensors = document.getElementById('sensor-list')!;
  private readonly keys = document.getElementById('set-key') as HTMLSelectElement;
  private rows: Row[] = [];
  private inputs: { input: HTMLInputElement; output: HTMLOutputElement }[] = [];
  private buttons: { button: HTMLButtonElement; probe: string }[] = [];

  constructor(
    private readonly command: (command: Command) => void,
    private readonly live: () => boolean,
  ) {
    this.keys.addEventListener('change', () => {
      if (this.keys.value !== '') this.command({ do: 'key', index: Number(this.keys.value) });
      this.keys.value = '';
      this.keys.blur();
    });
  }

  setScene(scene: Scene): void {
    this.rows = [];
    this.buttons = [];
    const made: HTMLElement[] = [];
    const all = (scene.described ?? []).flatMap((row) => row.slice(6) as unknown as [string, string, number, number, number, ...number[]][]);
    for (const joint of all.slice(0, MOST)) {
      const [kind, name, number, q, v] = joint;
      const one = kind === 'revolute' || kind === 'prismatic';
      const range = joint.length > 11 ? [joint[11] as number, joint[12] as number] : kind === 'prismatic' ? [-1, 1] : [-Math.PI, Math.PI];
      const { row, input, output } = slider(name, range[0]!, range[1]!, 0);
      if (one) {
        this.rows.push({ input, value: output, q });
        input.addEventListener('input', () => {
          output.textContent = Number(input.value).toFixed(3);
          this.command({ do: 'pose', index: q, value: Number(input.value) });
        });
      } else input.hidden = output.hidden = true;
      const plots = document.createElement('span');
      plots.className = 'probes';
      for (const [what, index] of [['q', q], ['v', v], ['force', number]] as const) {
        plots.append(this.probeButton(what === 'force' ? 'f' : what, `plot ${what} of ${name}`, what, index));
      }
      row.append(plots);
      made.push(row);
    }
    if (all.length > MOST) made.push(Object.assign(document.createElement('p'), { textContent: `the first ${MOST} of ${all.length.toLocaleString('en')} joints` }));
    this.joints.replaceChildren(...made);
    this.inputs = [];
    this.controls.replaceChildren(
      ...(scene.actuators ?? []).slice(0, MOST).map(([name, , low, high, start], index) => {
        const { row, input, output } = slider(name, low < high ? low : -1, low < high ? high : 1, start);
        input.addEventListener('input', () => {
          output.textContent = Number(input.value).toFixed(3);
          this.command({ do: 'control', index, value: Number(input.value) });
        });
        this.inputs.push({ input, output });
        return row;
      }),
    );
    document.getElementById('controls-title')!.hidden = this.inputs.length === 0;
    this.setSensors(scene);
    const names = scene.keyframes ?? [];
    this.keys.replaceChildren(new Option('start from a keyframe', ''), ...names.map((name, i) => new Option(name, String(i))));
    this.keys.hidden = names.length === 0;
  }

  private probeButton(text: string, title: string, kind: Probe['kind'], index: number): HTMLButtonElement {
    const button = document.createElement('button');
    button.textContent = text;
    button.title = title;
    button.setAttribute('aria-label', title);
    button.addEventListener('click', () => this.command({ do: 'probe', kind, index }));
    this.buttons.push({ button, probe: `${kind} ${index}` });
    return button;
  }

  // A row per sensor, a button per number.
  private setSensors(scene: Scene): void {
    const all = scene.sensors ?? [];
    let first = 0;
    this.sensors.replaceChildren(
      ...all.slice(0, MOST).map(([name, size]) => {
        const row = document.createElement('div');
        const label = document.createElement('label');
        const plots = document.createElement('span');
        row.className = 'slider';
        plots.className = 'probes';
        label.textContent = label.title = name;
        for (let i = 0; i < size; i++) plots.append(this.probeButton(String(i + 1), size > 1 ? `plot number ${i + 1} of sensor ${name}` : `plot sensor ${name}`, 'sensor', first + i));
        first += size;
        row.append(label, plots);
        return row;
      }),
    );
    document.getElementById('sensors-title')!.hidden = all.length === 0;
  }

  setProbes(probes: Probe[]): void {
    const on = new Set(probes.map((probe) => `${probe.kind} ${probe.index}`));
    for (const { button, probe } of this.buttons) button.setAttribute('aria-pressed', String(on.has(probe)));
  }

  setControls(control: number[]): void {
    control.forEach((value, i) => {
      const row = this.inputs[i];
      if (!row || document.activeElement === row.input) return;
      row.input.value = String(value);
      row.output.textContent = value.toFixed(3);
    });
  }

  // Where the joints are now.
  update(q: Float32Array, running: boolean): void {
    for (const row of this.rows) {
      row.input.disabled = running || !this.live();
      const value = q[row.q];
      if (value === undefined || document.activeElement === row.input) continue;
      row.input.value = String(value);
      row.value.textContent = value.toFixed(3);
    }
  }
}
