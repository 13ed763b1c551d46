// One HTML file with its script and style inside: the server sends it, and a recording is a copy of it with the run inside.
import { createHash } from 'node:crypto';
import { defineConfig, type Plugin } from 'vite';

// Puts the bundle into the page, and lets the page run that script and no other, and have that style and no other. The server sends the
// same policy as a header.
function inline(): Plugin {
  return {
    name: 'inline',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html'];
      if (page?.type !== 'asset') throw new Error('there is no index.html');
      let html = String(page.source);
      let script = '';
      let style = '';
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === 'chunk') {
          script = part.code.trim().replaceAll('</script', '<\\/script');
          html = html.replace(/<script type="module"[^>]*><\/script>\s*/, '');
          html = html.replace('</body>', () => `<script type="module">${script}</script>\n</body>`);
        } else if (name.endsWith('.css')) {
          style = String(part.source).trim();
          html = html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`);
        } else continue;
        delete bundle[name];
      }
      const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
      const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'`;
      page.source = html.replace('<head>', `<head>\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [inline()],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 2000 },
});
