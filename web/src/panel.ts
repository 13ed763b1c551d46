// The selected body's numbers, as text.
import type { BodyNumbers } from './wire';

function number(value: number): string {
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size < 5e-5) return '0';
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace('e+', 'e');
  return value.toFixed(size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

const list = (values: number[]): string => values.map(number).join('  ');
const length = (values: number[]): number => Math.hypot(...values);

type Row = [string, string, string];

function addJoints(numbers: BodyNumbers, rows: Row[]): void {
  const joints = numbers.joints ?? [];
  for (const joint of joints) {
    const one = joint.v.length === 1;
    const angle = joint.kind === 'revolute';
    const label = joints.length > 1 ? joint.name : 'joint';
    rows.push([label, numbers.parent ? `${joint.kind}, on ${numbers.parent}` : joint.kind, '']);
    if (joint.q.length > 0) rows.push(['  q', list(joint.q), one ? (angle ? 'rad' : 'm') : '']);
    if (joint.v.length > 0) rows.push(['  v', list(joint.v), one ? (angle ? 'rad/s' : 'm/s') : '']);
    if (joint.force) rows.push(['  force', list(joint.force), angle ? 'N m' : 'N']);
  }
  if (joints.length === 0) rows.push(['joint', numbers.parent ? `fixed to ${numbers.parent}` : 'fixed', '']);
  rows.push(['mass', number(numbers.mass ?? 0), 'kg']);
  rows.push(['carries', number((numbers.subtree ?? 0) - (numbers.mass ?? 0)), 'kg']);
}

export function showBody(numbers: BodyNumbers, name: HTMLElement, table: HTMLElement): void {
  name.textContent = numbers.name;
  const rows: Row[] = [];
  if (numbers.motion) rows.push(['moves', numbers.asleep ? `${numbers.motion}, asleep` : numbers.motion, '']);
  else addJoints(numbers, rows);
  rows.push(['position', list(numbers.position), 'm']);
  rows.push(['velocity', list(numbers.velocity), 'm/s']);
  rows.push(['turning', list(numbers.angular), 'rad/s']);
  if (numbers.weight) rows.push(['weight', number(length(numbers.weight)), 'N']);
  if (numbers.carried) rows.push(['in the joint', `${list(numbers.carried)} (${number(length(numbers.carried))})`, 'N']);
  if (numbers.pull && length(numbers.pull) > 0) rows.push(['pull', `${list(numbers.pull)} (${number(length(numbers.pull))})`, 'N']);
  table.replaceChildren(
    ...rows.flatMap(([label, value, unit]) => {
      const term = document.createElement('dt');
      const text = document.createElement('dd');
      term.textContent = label;
      text.textContent = value;
      if (unit) {
        const small = document.createElement('span');
        small.textContent = unit;
        text.append(' ', small);
      }
      return [term, text];
    }),
  );
}
