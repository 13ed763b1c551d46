// One HTML file with its script and style inside: the server sends it, and a recording is a copy of it with the run inside.
import { createHash } from 'node:crypto';
import { defineConfig, type Plugin } from 'vite';

// Puts the bundle into the page, and lets the page run that script and no other.
function inline(): Plugin {
  return {
    name: 'inline',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['index.html'];
      if (page?.type !== 'asset') throw new Error('there is no index.html');
      let html = String(page.source);
      let script = '';
      for (const [name, part] of Object.entries(bundle)) {
        if (part.type === 'chunk') {
          script = part.code.trim().replaceAll('</script', '<\\/script');
          html = html.replace(/<script type="module"[^>]*><\/script>\s*/, '');
          html = html.replace('</body>', () => `<script type="module">${script}</script>\n</body>`);
        } else if (name.endsWith('.css')) {
          html = html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${String(part.source).trim()}</style>`);
        } else continue;
        delete bundle[name];
      }
      const hash = createHash('sha256').update(script).digest('base64');
      const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'`;
      page.source = html.replace('<head>', `<head>\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [inline()],
  build: { target: 'es2022', modulePreload: false, cssCodeSplit: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 2000 },
});
