// The page's own elements: texts, notes, what covers the picture, what a browser remembers.

export const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? noun : many}`;
}

// A file that is opened from the disk may not remember anything.
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    return;
  }
}

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function localTheme(): 'dark' | 'light' {
  const kept = recall('calder-theme');
  if (kept === 'dark' || kept === 'light') return kept;
  return window.matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
}

export function choose(id: string, value: string): void {
  const select = element<HTMLSelectElement>(id);
  if (![...select.options].some((option) => option.value === value)) select.add(new Option(value, value));
  select.value = value;
}

export function note(text: string, bad = false): void {
  const box = element('notes');
  const item = document.createElement('div');
  item.className = bad ? 'note bad' : 'note';
  item.textContent = text;
  box.replaceChildren(item);
  window.setTimeout(() => item.remove(), bad ? 8000 : 4000);
}

export function cover(text: string, more = '', opaque = false): void {
  element('cover-text').textContent = text;
  element('cover-more').textContent = more;
  element('cover').className = opaque ? 'opaque' : '';
}

export function uncover(): void {
  element('cover').className = 'clear';
}
