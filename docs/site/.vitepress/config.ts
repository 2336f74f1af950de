import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { slugify } from '../anchors.ts';

const sidebar = JSON.parse(readFileSync(new URL('../pages/navigation.json', import.meta.url), 'utf8'));
const firstGuide = sidebar['/'][0].items[0].link;

export default defineConfig({
  title: 'Quarterdeck',
  description: 'A keyboard-driven terminal console for a self-hosted stack of containers',
  lang: 'en-US',
  srcDir: 'pages',
  outDir: 'dist',
  // Otherwise every page has the navigation of the whole site twice.
  metaChunk: true,
  // The index of the search.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/logo.svg' }]],
  markdown: {
    // Texts of the program have braces and colons that mean nothing here.
    attrs: { disable: true },
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-default' },
    config(md) {
      md.disable('emoji');
      md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
      // Vue would evaluate them.
      for (const kind of ['text', 'code_inline']) {
        const rule = md.renderer.rules[kind];
        if (rule) md.renderer.rules[kind] = (...given) => rule(...given).replaceAll('{{', '&#123;&#123;');
      }
    },
  },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      { text: 'Guide', link: firstGuide, activeMatch: '^/(?!reference/|$)' },
      { text: 'Procedures', link: '/reference/procedures/', activeMatch: '/reference/procedures/' },
      { text: 'Components', link: '/reference/components/', activeMatch: '/reference/components/' },
      { text: 'Commands', link: '/reference/commands/', activeMatch: '/reference/commands/' },
    ],
    sidebar,
    outline: { level: [2, 3], label: 'On this page' },
    search: {
      provider: 'local',
      options: {
        miniSearch: { searchOptions: { boost: { title: 6, titles: 2, text: 1 }, fuzzy: 0.15, prefix: true } },
      },
    },
    footer: { message: 'Released under the MIT License.' },
  },
});
