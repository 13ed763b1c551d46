// Plots of the channels, those of one plot together, with marks where the solver was changed.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { Channel, Probe } from './wire';

const colors = ['#e5484d', '#3e8ef7', '#30a46c', '#f5a623', '#a06bf0', '#12a594'];
const SPACING = 1 / 30; // s between points
const HEIGHT = 128;

export interface Mark {
  time: number;
  text: string;
}

interface Plot {
  chart: uPlot;
  channels: number[];
}

// 0.0012 as 1.2e-3, 1234567 as 1.23e6.
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(1).replace('e+', 'e');
  return String(Number(value.toPrecision(3)));
}

export class Plots {
  marks: Mark[] = [];
  private readonly times: number[] = [];
  private values: (number | null)[][];
  private readonly plots: Plot[] = [];
  private cursor: number | null = null; // s, where a recording is
  private drawn = 0;
  private channels: Channel[];
  private level = NaN; // energy at the start, J

  constructor(
    private readonly root: HTMLElement,
    private readonly own: Channel[], // of the run
    private readonly span: number,
    probes: Probe[] = [],
  ) {
    this.channels = [...own, ...probes.map(asChannel)];
    this.values = this.channels.map(() => []);
    this.build();
  }

  private build(): void {
    for (const plot of this.plots) plot.chart.destroy();
    this.plots.length = 0;
    this.root.replaceChildren();
    // What somebody asked for comes first.
    const names = [...new Set([...this.channels.slice(this.own.length), ...this.own].map((channel) => channel.plot))];
    for (const name of names) this.addPlot(name);
  }

  // Other numbers beside the run's channels; those that were there keep what they have.
  setProbes(probes: Probe[]): void {
    const before = new Map(this.channels.map((channel, i) => [channel.plot + channel.name, this.values[i]!]));
    const next = [...this.own, ...probes.map(asChannel)];
    if (next.length === this.channels.length && next.every((channel, i) => channel.name === this.channels[i]!.name)) return;
    this.channels = next;
    this.values = next.map((channel) => before.get(channel.plot + channel.name) ?? this.times.map(() => null));
    this.build();
  }

  private addPlot(name: string): void {
    const members = this.channels.map((_, i) => i).filter((i) => this.channels[i]!.plot === name);
    const first = this.channels[members[0]!]!;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--soft').trim();
    const lines = style.getPropertyValue('--line').trim();
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = (first.unit ? `${name}, ${first.unit}` : name) + (members.some((i) => isLevelled(this.channels[i]!)) ? ', from the total at the start' : '');
    figure.append(caption);
    this.root.append(figure);
    const axis: uPlot.Axis = { stroke: ink, grid: { stroke: lines, width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif' };
    const chart = new uPlot(
      {
        width: Math.max(this.root.clientWidth, 200),
        height: HEIGHT,
        padding: [9, 14, 0, 0],
        cursor: { points: { size: 6 }, drag: { x: false, y: false }, sync: { key: 'calder' } },
        legend: { show: members.length > 1, live: true },
        scales: { x: { time: false }, y: first.logarithmic ? { distr: 3, range: logarithmicRange } : {} },
        axes: [
          { ...axis, size: 22, values: (_, ticks) => ticks.map((tick) => short(tick)) },
          { ...axis, size: 52, space: 22, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : short(tick))), ...(first.logarithmic ? { splits: decades } : {}) },
        ],
        series: [
          { label: 's', value: (_, value) => short(value) },
          ...members.map((channel, i) => ({
            label: this.channels[channel]!.name,
            stroke: colors[i % colors.length]!,
            width: 1.5,
            points: { show: false },
            value: (_: uPlot, value: number | null) => short(value),
          })),
        ],
        hooks: { draw: [(u) => this.drawMarks(u)] },
      },
      this.data(members),
      figure,
    );
    this.plots.push({ chart, channels: members });
  }

  private data(members: number[]): uPlot.AlignedData {
    const logarithmic = this.channels[members[0]!]!.logarithmic;
    const columns = members.map((i) => (logarithmic ? this.values[i]!.map((value) => (value !== null && value > 0 ? value : null)) : this.values[i]!));
    // A single moment has an axis of a second.
    const first = this.times[0];
    if (this.times.length === 1) return [[first!, first! + 1], ...columns.map((column) => [column[0], column[0]])] as uPlot.AlignedData;
    return [this.times, ...columns] as uPlot.AlignedData;
  }

  private drawMarks(u: uPlot): void {
    const context = u.ctx;
    context.save();
    context.strokeStyle = '#888';
    context.setLineDash([3, 3]);
    for (const mark of this.marks) {
      if (mark.time < (u.scales['x']!.min ?? 0)) continue;
      const x = Math.round(u.valToPos(mark.time, 'x', true));
      context.beginPath();
      context.moveTo(x, u.bbox.top);
      context.lineTo(x, u.bbox.top + u.bbox.height);
      context.stroke();
    }
    if (this.cursor !== null) {
      const x = Math.round(u.valToPos(this.cursor, 'x', true));
      context.setLineDash([]);
      context.strokeStyle = '#39b8ff';
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(x, u.bbox.top);
      context.lineTo(x, u.bbox.top + u.bbox.height);
      context.stroke();
    }
    context.restore();
  }

  clear(): void {
    this.times.length = 0;
    for (const list of this.values) list.length = 0;
    this.marks = [];
    this.level = NaN;
  }

  add(time: number, channels: Float64Array, speed = 1): void {
    const last = this.times[this.times.length - 1];
    if (last !== undefined && time < last) this.clear();
    else if (last !== undefined && time - last < SPACING * speed) return;
    this.times.push(time);
    // A frame from before somebody asked has other numbers.
    const whole = channels.length === this.channels.length;
    const total = this.own.findIndex((channel) => channel.name === 'total' && isLevelled(channel));
    if (total >= 0 && !Number.isFinite(this.level)) this.level = channels[total]!;
    this.values.forEach((list, i) => {
      const value = i < this.own.length || whole ? channels[i]! - (isLevelled(this.channels[i]!) ? this.level : 0) : NaN;
      list.push(Number.isFinite(value) ? value : null);
    });
    let old = 0;
    while (this.times[old]! < time - this.span) old++;
    if (old < 60) return;
    this.times.splice(0, old);
    for (const list of this.values) list.splice(0, old);
  }

  setCursor(time: number | null): void {
    this.cursor = time;
  }

  // Draws what is seen, unless it did so less than `interval` ms ago.
  draw(now: number, interval: number): void {
    if (this.root.closest('[hidden]') || now - this.drawn < interval) return;
    this.drawn = now;
    const view = this.root.getBoundingClientRect();
    for (const plot of this.plots) {
      const box = plot.chart.root.getBoundingClientRect();
      if (box.bottom < view.top - 400 || box.top > window.innerHeight) continue;
      plot.chart.setData(this.data(plot.channels));
    }
  }

  resize(): void {
    const width = Math.max(this.root.clientWidth, 200);
    for (const plot of this.plots) plot.chart.setSize({ width, height: HEIGHT });
  }

  destroy(): void {
    for (const plot of this.plots) plot.chart.destroy();
    this.root.replaceChildren();
  }
}

const asChannel = (probe: Probe): Channel => ({ name: probe.name, unit: probe.unit, plot: probe.name, logarithmic: false });

// Potential energy has no zero of its own; what it and the total do is seen against the total at the start.
const isLevelled = (channel: Channel): boolean => channel.plot === 'Energy' && (channel.name === 'potential' || channel.name === 'total');

// A line for each decade, or every second, fifth …: lines between decades would merge into bars.
function decades(_: uPlot, __: number, low: number, high: number): number[] {
  const [from, to] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const step = [1, 2, 5, 10, 20, 50, 100].find((every) => (to - from) / every <= 4) ?? 100;
  const ticks: number[] = [];
  for (let power = Math.ceil(from / step) * step; power <= to; power += step) ticks.push(10 ** power);
  return ticks;
}

// Whole decades around the data, at least one.
function logarithmicRange(_: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !(low > 0)) return [0.1, 10];
  const from = 10 ** Math.floor(Math.log10(low));
  const to = 10 ** Math.ceil(Math.log10(high));
  return [from, to > from ? to : 10 * from];
}
