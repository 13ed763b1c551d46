// The connection to a running simulation: connects, answers for each frame that it has it, and connects again when it is lost.
import { decodeFrame, type BodyNumbers, type Frame, type Scene, type Status } from './wire';

export interface Listener {
  scene(scene: Scene): void;
  frame(frame: Frame): void;
  status(status: Status): void;
  body(numbers: BodyNumbers): void;
  note(text: string): void;
  connected(): void;
  lost(tries: number): void;
}

export interface Command {
  do: 'run' | 'pause' | 'step' | 'reset' | 'speed' | 'watch' | 'grab' | 'drag' | 'drop' | 'set' | 'pose' | 'control' | 'key' | 'probe' | 'show' | 'open' | 'load';
  [key: string]: unknown;
}

const LOOKS = 'This page may only look: open the address that calder view printed, with its token.';
const RETRY = [250, 500, 1000, 1500, 2000]; // ms
const CHECK = 1000; // ms
const SILENCE = 4000; // ms without a frame after which the connection counts as lost

// What the address was printed with: whoever has it may change things.
const token = new URLSearchParams(location.search).get('token') ?? '';
export const withToken = (path: string): string => (token ? `${path}?token=${encodeURIComponent(token)}` : path);

export class Live {
  client = -1;
  may = true; // the server takes commands from here
  private socket: WebSocket | null = null;
  private tries = 0;
  private heard = 0;
  private checked = performance.now();
  private timer = 0;
  private drawn = 0; // bodies in a frame

  constructor(private readonly listener: Listener) {
    this.connect();
    window.setInterval(() => this.checkSilence(), CHECK);
    // A phone that wakes up should not wait for the next try.
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && !this.socket) this.connect();
    });
  }

  send(command: Command): void {
    if (!this.may && command.do !== 'watch') {
      if (command.do !== 'show') this.listener.note(LOOKS);
      return;
    }
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(command));
  }

  private connect(): void {
    window.clearTimeout(this.timer);
    const socket = new WebSocket(`ws://${location.host}${withToken('/live')}`, 'calder');
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.heard = performance.now();
    socket.onopen = () => {
      this.tries = 0;
      this.listener.connected();
    };
    socket.onmessage = (event) => {
      if (socket === this.socket) this.hear(event.data as string | ArrayBuffer);
    };
    socket.onclose = () => {
      if (socket === this.socket) this.lose();
    };
  }

  private lose(): void {
    this.socket = null;
    this.listener.lost(this.tries);
    this.timer = window.setTimeout(() => this.connect(), RETRY[Math.min(this.tries, RETRY.length - 1)]);
    this.tries++;
  }

  private checkSilence(): void {
    const now = performance.now();
    // A page that stood still itself has heard nothing, and knows nothing.
    if (now - this.checked > 2 * CHECK) this.heard = now;
    this.checked = now;
    if (!this.socket || document.hidden || now - this.heard < SILENCE) return;
    const socket = this.socket;
    this.lose();
    socket.close();
  }

  private hear(data: string | ArrayBuffer): void {
    this.heard = performance.now();
    if (data instanceof ArrayBuffer) {
      const frame = decodeFrame(data, this.drawn);
      try {
        this.listener.frame(frame);
      } finally {
        // Also of one that could not be drawn: the server sends no more than a few that nobody has answered.
        this.socket?.send(new Uint32Array([frame.number]));
      }
      return;
    }
    const message = JSON.parse(data) as { say: string };
    switch (message.say) {
      case 'hello':
        ({ client: this.client, may: this.may } = message as unknown as { client: number; may: boolean });
        if (!this.may) this.listener.note(LOOKS);
        break;
      case 'scene':
        this.drawn = (message as Scene).drawn;
        this.listener.scene(message as Scene);
        break;
      case 'status':
        this.listener.status(message as Status);
        break;
      case 'body':
        this.listener.body(message as BodyNumbers);
        break;
      case 'note':
        this.listener.note((message as unknown as { text: string }).text);
        break;
    }
  }
}
