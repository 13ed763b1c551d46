// A picture of the page's canvas, and a video of it.

function download(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const fileName = (model: string, ending: string): string => `${model.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '') || 'calder'}.${ending}`;

// `draw` draws now: the canvas keeps its picture only until the browser shows it.
export function takePicture(canvas: HTMLCanvasElement, model: string, draw: () => void): void {
  draw();
  canvas.toBlob((blob) => {
    if (blob) download(blob, fileName(model, 'png'));
  });
}

export class Video {
  bytes = 0; // that came so far, a few times per second
  private recorder: MediaRecorder | null = null;

  get runs(): boolean {
    return this.recorder !== null;
  }

  // Begins, or ends and hands the file over; returns whether it records now. Where browsers cannot, it says so.
  toggle(canvas: HTMLCanvasElement, model: string, say: (text: string) => void): boolean {
    if (this.recorder) {
      this.recorder.stop();
      this.recorder = null;
      return false;
    }
    const type = ['video/webm;codecs=vp9', 'video/webm;codecs=vp8', 'video/webm'].find((kind) => typeof MediaRecorder !== 'undefined' && MediaRecorder.isTypeSupported(kind));
    if (!type) {
      say('This browser cannot record video.');
      return false;
    }
    const recorder = new MediaRecorder(canvas.captureStream(60), { mimeType: type, videoBitsPerSecond: 8e6 });
    const pieces: Blob[] = [];
    this.bytes = 0;
    recorder.ondataavailable = (event) => {
      pieces.push(event.data);
      this.bytes += event.data.size;
    };
    recorder.onstop = () => {
      for (const track of recorder.stream.getTracks()) track.stop();
      const film = new Blob(pieces, { type: 'video/webm' });
      if (film.size > 0) download(film, fileName(model, 'webm'));
      else say('Nothing was drawn in that time: there is no video.');
    };
    recorder.start(500);
    this.recorder = recorder;
    return true;
  }
}
