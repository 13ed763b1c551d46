// The gallery: a card for each model that the server offers, and folders that are dropped onto the page.
import avalanche from './cards/avalanche.jpg?inline';
import figure from './cards/figure.jpg?inline';
import fivebar from './cards/fivebar.jpg?inline';
import mobile from './cards/mobile.jpg?inline';
import stickman from './cards/stickman.jpg?inline';
import { withToken, type Command } from './live';
import type { Scene } from './wire';

const pictures: Record<string, string> = { avalanche, figure, fivebar, mobile, stickman };
const MODELS = /\.(xml|mjcf|urdf)$/i;

export interface Dropped {
  path: string; // inside the folder
  file: File;
}

export interface GalleryListener {
  command(command: Command): void;
  opening(title: string): void;
  say(text: string, bad?: boolean): void;
}

// All files below what was dropped.
async function walk(entry: FileSystemEntry, into: Dropped[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    into.push({ path: entry.fullPath.replace(/^\//, ''), file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // A reader hands over a part at a time.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return;
    for (const inner of part) await walk(inner, into);
  }
}

// The file to open: a scene where there is one, else the model that is nearest to the folder itself.
export function chooseModel(paths: string[]): string | null {
  const depth = (path: string): number => path.split('/').length;
  const models = paths.filter((path) => MODELS.test(path)).sort((a, b) => depth(a) - depth(b) || a.length - b.length || a.localeCompare(b));
  return models.find((path) => /(^|\/)scene\.xml$/i.test(path)) ?? models[0] ?? null;
}

export class Gallery {
  private readonly root: HTMLElement;
  private offered = false;

  constructor(private readonly listener: GalleryListener) {
    this.root = document.getElementById('gallery')!;
    document.getElementById('gallery-close')!.addEventListener('click', () => this.show(false));
    const input = document.getElementById('folder') as HTMLInputElement;
    document.getElementById('folder-choose')!.addEventListener('click', () => input.click());
    input.addEventListener('change', () => {
      const files = [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
      input.value = '';
      void this.open(files);
    });
    window.addEventListener('dragover', (event) => event.preventDefault());
    window.addEventListener('drop', (event) => {
      event.preventDefault();
      const entries = [...(event.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
      void this.take(entries);
    });
  }

  get available(): boolean {
    return this.offered;
  }

  get visible(): boolean {
    return !this.root.hidden;
  }

  show(visible: boolean): void {
    this.root.hidden = !visible || !this.offered;
  }

  offer(scene: Scene): void {
    const cards = scene.cards ?? [];
    this.offered = cards.length > 0;
    document.getElementById('gallery-toggle')!.hidden = !this.offered;
    this.show(scene.gallery === true);
    const list = document.getElementById('cards')!;
    list.replaceChildren(
      ...cards.map((card, index) => {
        const button = document.createElement('button');
        const picture = document.createElement('img');
        const [title, text, command] = [document.createElement('strong'), document.createElement('span'), document.createElement('code')];
        picture.src = pictures[card.picture] ?? '';
        picture.alt = '';
        title.textContent = card.title;
        text.textContent = card.text;
        command.textContent = card.command;
        button.className = 'card';
        button.append(picture, title, text, command);
        button.addEventListener('click', () => {
          this.listener.opening(card.title);
          this.listener.command({ do: 'open', index });
        });
        return button;
      }),
    );
  }

  private async take(entries: FileSystemEntry[]): Promise<void> {
    const files: Dropped[] = [];
    for (const entry of entries) await walk(entry, files);
    await this.open(files);
  }

  // Sends the files to the server, which is this machine's own, and asks it to open the model among them.
  async open(files: Dropped[]): Promise<void> {
    if (files.length === 0) return;
    if (!this.offered) {
      this.listener.say('calder view without a model takes folders.', true);
      return;
    }
    const kept = files.filter(({ path }) => !path.split('/').some((name) => name.startsWith('.')));
    const model = chooseModel(kept.map(({ path }) => path));
    if (!model) {
      this.listener.say('There is no model in this folder: no .xml, .mjcf or .urdf.', true);
      return;
    }
    this.listener.opening(model);
    for (const { path, file } of kept) {
      // The answer to its end: the server ends to begin anew with the model, and what is still on its way then is lost.
      const taken = await fetch(withToken('/drop'), { method: 'POST', body: new Blob([`${path}\n`, file]) })
        .then((answer) => answer.text().then(() => answer.ok))
        .catch(() => false);
      if (taken) continue;
      this.listener.say(`${path} could not be sent.`, true);
      this.listener.opening('');
      return;
    }
    this.listener.command({ do: 'load', file: model });
  }
}
