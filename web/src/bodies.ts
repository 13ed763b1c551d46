// The tree of bodies, with a search: a click selects.
import type { Scene } from './wire';

const MOST = 400; // rows at a time

export class Bodies {
  private readonly list = document.getElementById('body-list')!;
  private readonly search = document.getElementById('body-search') as HTMLInputElement;
  private names: string[] = [];
  private parents: number[] = [];
  private order: { body: number; depth: number }[] = []; // depth first
  private readonly closed = new Set<number>();
  private selected = -1;

  constructor(private readonly select: (body: number) => void) {
    this.search.addEventListener('input', () => this.write());
  }

  setScene(scene: Scene): void {
    this.names = scene.described?.map((row) => row[0]) ?? scene.listed?.map((row) => row[0]) ?? [];
    this.parents = scene.described?.map((row) => row[1]) ?? this.names.map(() => -1);
    const children = new Map<number, number[]>();
    this.parents.forEach((parent, body) => {
      const known = children.get(parent);
      if (known) known.push(body);
      else children.set(parent, [body]);
    });
    this.order = [];
    this.closed.clear();
    const stack = (children.get(-1) ?? []).map((body) => ({ body, depth: 0 })).reverse();
    for (let at = stack.pop(); at; at = stack.pop()) {
      this.order.push(at);
      for (const body of [...(children.get(at.body) ?? [])].reverse()) stack.push({ body, depth: at.depth + 1 });
    }
    this.search.value = '';
    this.write();
  }

  mark(body: number): void {
    this.selected = body;
    for (const row of this.list.querySelectorAll<HTMLElement>('button')) row.setAttribute('aria-pressed', String(Number(row.dataset['body']) === body));
    this.list.querySelector("[aria-pressed='true']")?.scrollIntoView({ block: 'nearest' });
  }

  private write(): void {
    const wanted = this.search.value.trim().toLowerCase();
    const rows: HTMLElement[] = [];
    let hiddenBelow = Infinity;
    let left = 0;
    for (const [i, { body, depth }] of this.order.entries()) {
      if (wanted ? !this.names[body]!.toLowerCase().includes(wanted) : depth > hiddenBelow) continue;
      hiddenBelow = !wanted && this.closed.has(body) ? depth : Infinity;
      if (rows.length >= MOST) {
        left++;
        continue;
      }
      const row = document.createElement('button');
      const branches = (this.order[i + 1]?.depth ?? 0) > depth;
      row.dataset['body'] = String(body);
      row.style.paddingLeft = `${8 + (wanted ? 0 : Math.min(depth, 14) * 12)}px`;
      row.textContent = `${branches && !wanted ? (this.closed.has(body) ? '▸ ' : '▾ ') : ''}${this.names[body]}`;
      row.setAttribute('aria-pressed', String(body === this.selected));
      row.addEventListener('click', () => this.select(body));
      row.addEventListener('dblclick', () => {
        if (!branches) return;
        if (!this.closed.delete(body)) this.closed.add(body);
        this.write();
      });
      rows.push(row);
    }
    const note = document.createElement('p');
    note.textContent = left > 0 ? `and ${left.toLocaleString('en')} more: search for a part of a name` : this.order.length === 0 ? 'no bodies' : '';
    this.list.replaceChildren(...rows, note);
  }
}
