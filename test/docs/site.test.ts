import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { anchorsOf, linksOf, slugify } from '../../docs/site/anchors.ts';
import { generatedPages, writtenPages } from '../../docs/site/generate.ts';
import type { Pages } from '../../docs/site/markdown.ts';
import { navigationFor, sections } from '../../docs/site/navigation.ts';
import { flows } from '../../source/app/flow-registry.ts';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { renderSvg } from '../pty/screenshot.ts';

const root = resolve(import.meta.dirname, '../..');
const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('site/'))
    .map((name) => `docs/${name}`),
];
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Returns the links that lead to no page, or to an anchor that the page does not have. */
function deadLinks(pages: ReadonlyMap<string, string>): string[] {
  const anchors = new Map([...pages].map(([path, text]) => [path, new Set(anchorsOf(text))]));
  return [...pages].flatMap(([path, text]) =>
    linksOf(text).flatMap(({ target }) => {
      const [name = '', anchor] = target.split('#');
      const wanted = name === '' ? path : posix.join(posix.dirname(path), name);
      if (!wanted.endsWith('.md')) return [];
      const dead = !anchors.has(wanted) || (anchor !== undefined && !anchors.get(wanted)?.has(anchor));
      return dead ? [`${path} -> ${target}`] : [];
    }),
  );
}

describe('the documents', () => {
  test('every link between them leads to a page and a heading of it', () => {
    const pages = new Map(documents.map((file) => [file, read(file)]));
    // Documents of other folders may be linked too, such as results of measurements.
    for (const file of documents)
      for (const { target } of linksOf(read(file))) {
        const other = posix.join(dirname(file), target.split('#')[0] ?? '');
        if (other.endsWith('.md') && !pages.has(other)) pages.set(other, read(other));
      }
    expect([...pages.values()].flatMap(linksOf).length).toBeGreaterThan(10);
    expect(deadLinks(pages)).toEqual([]);
  });

  test('a link to a missing page or heading is found, and code is not read as one', () => {
    const page = '# One\n[a](two.md) [b](#three) [c](#one) `[d](four.md)`\n```\n# Three\n[e](five.md)\n```\n';
    expect(deadLinks(new Map([['docs/one.md', page]]))).toEqual(['docs/one.md -> two.md', 'docs/one.md -> #three']);
  });

  test.each([
    ['Entries of your own', 'entries-of-your-own'],
    ["Who isn't `root`, and why?", 'who-isnt-root-and-why'],
    ['VPN & tunnels', 'vpn--tunnels'],
    ['`exit_code` of 1.2', 'exit_code-of-12'],
  ])('the heading "%s" has the anchor that GitHub gives it', (heading, anchor) => {
    expect(anchorsOf(`## ${heading}`)).toEqual([anchor]);
  });

  test('the second of two equal headings has its own anchor', () => {
    expect(anchorsOf('## Example\n## Example\n')).toEqual(['example', 'example-1']);
    expect(slugify('Example')).toBe('example');
  });
});

describe('the site', () => {
  let pages: Pages;
  let sidebars: Awaited<ReturnType<typeof generatedPages>>['sidebars'];
  beforeAll(async () => {
    ({ pages, sidebars } = await generatedPages());
  });

  test('its navigation lists every page once, and leaves out what is not written yet', () => {
    const listed = sections.flatMap(({ pages }) => pages);
    expect(new Set(listed).size).toBe(listed.length);
    expect(navigationFor(['catalog', 'json'])).toEqual([{ title: 'Reference', pages: ['json', 'catalog'] }]);
    expect(() => navigationFor(['catalog', 'left-over'])).toThrow('Add docs/left-over.md to docs/site/navigation.ts.');
    const linked = writtenPages().sidebar.flatMap(({ items = [] }) => items.map(({ link }) => link));
    expect(linked).toHaveLength(documents.filter((file) => !file.startsWith('docs/help/')).length - 1);
  });

  test('has a page for every component, procedure and command, and no dead link', async () => {
    const { entries } = await openCatalog({ compiledFile: join(root, 'dist/catalog.json') });
    const missing = [
      ...entries.map(({ id }) => `reference/components/${id}.md`),
      ...flows.map(({ id }) => `reference/procedures/${id}.md`),
      ...flows.map(({ verb }) => `reference/commands/${verb.split(' ')[0]}.md`),
      ...['status', 'ports', 'logs', 'catalog', 'audit', 'practice', 'run', 'completion', 'flows'].map(
        (name) => `reference/commands/${name}.md`,
      ),
    ].filter((path) => !pages.has(path));
    expect(missing).toEqual([]);
    expect(deadLinks(new Map([...writtenPages().pages, ...pages, ['index.md', read('docs/site/home.md')]]))).toEqual([]);
    const links = Object.values(sidebars).flatMap((items) =>
      items.flatMap(({ link, items: inner = [] }) => [link, ...inner.map((item) => item.link)]),
    );
    const pathOf = (link: string) => `${link.slice(1)}${link.endsWith('/') ? 'index' : ''}.md`;
    expect(links.filter((link) => link !== undefined && !pages.has(pathOf(link)))).toEqual([]);
  });

  test('a picture has each word in its column', () => {
    const plain = { foreground: undefined, background: undefined, bold: false, dim: false, italic: false, underline: false };
    const row = [...'ab c   <d'].map((text) => ({ ...plain, inverse: false, strikethrough: false, invisible: false, text, width: 1 }));
    const found = [...renderSvg([row], { title: 'A picture' }).matchAll(/<text x="([\d.]+)"[^>]*textLength="([\d.]+)"[^>]*>([^<]*)</g)];
    // A column is 9.03 wide, and the margin 12.
    expect(found.map(([, x, length, text]) => [Number(x), Number(length), text])).toEqual([
      [12, 36.12, 'ab c'],
      [75.21, 18.06, '&lt;d'],
    ]);
  });

  test('shows a text of the program as it is', () => {
    // Vue evaluates two braces outside of code, and Markdown drops what looks like an element.
    const outside = [...pages].map(([path, text]) => [path, text.replaceAll(/```[\s\S]*?```|`+[^`\n]+`+|<https?:[^>]+>/g, '')] as const);
    const elements = outside.flatMap(([path, text]) =>
      [...text.matchAll(/<\/?([\w-]+)[^>]*>/g)].flatMap(([tag, name = '']) =>
        ['br', 'div', 'kbd', 'span'].includes(name) ? [] : [`${path}: ${tag}`],
      ),
    );
    expect(elements).toEqual([]);
  });
});
