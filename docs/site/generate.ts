import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, resolve } from 'node:path';
import { groups, groupTitles } from '../../source/catalog/groups.ts';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { linksOf, plainHeading } from './anchors.ts';
import { commandIndex, commandPage, readCommands } from './command-pages.ts';
import { componentIndex, componentPage } from './component-pages.ts';
import { flowIndex, flowPage, readFlowGroups } from './flow-pages.ts';
import type { Pages } from './markdown.ts';
import { navigationFor } from './navigation.ts';

const root = resolve(import.meta.dirname, '../..');
const docs = join(root, 'docs');
/** `pictures.ts` writes them. */
const picturesFolder = join(import.meta.dirname, 'pictures');

/** Files outside docs/ that are pages too. The home page of the site stands in for the README. */
const outside: Readonly<Record<string, string>> = { 'CONTRIBUTING.md': 'contributing.md', 'CHANGELOG.md': 'changelog.md' };

interface SidebarItem {
  text: string;
  link?: string;
  collapsed?: boolean;
  items?: SidebarItem[];
}

/** Returns the hand-written pages, by their path on the site. Throws for a page that is not in the navigation. */
export function writtenPages(): { pages: Pages; sources: ReadonlyMap<string, string>; sidebar: SidebarItem[] } {
  const names = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md') && !/^(?:site|help)\//.test(name));
  // From the path in the repository to the path on the site.
  const sources = new Map([
    ...names.map((name) => [`docs/${name}`, name] as const),
    ...Object.entries(outside).filter(([file]) => existsSync(join(root, file))),
    ['README.md', 'index.md'],
  ]);
  const pages: Pages = new Map();
  for (const [file, path] of sources)
    if (file !== 'README.md') pages.set(path, sitePage(file, path, readFileSync(join(root, file), 'utf8'), sources));
  const sidebar = navigationFor([...pages.keys()].map((path) => path.replace(/\.md$/, ''))).map(({ title, pages: listed }) => ({
    text: title,
    items: listed.map((name) => ({ text: titleOf(pages.get(`${name}.md`) ?? '') || name, link: `/${name}` })),
  }));
  return { pages, sources, sidebar };
}

const titleOf = (markdown: string) => plainHeading(/^# +(.*)$/m.exec(markdown)?.[1] ?? '');

/** Returns a page with its links as they are on the site. A link to a file that is no page of the site becomes plain text. */
function sitePage(file: string, path: string, markdown: string, sources: ReadonlyMap<string, string>): string {
  let page = markdown;
  for (const { index, target } of linksOf(markdown).reverse()) {
    if (target.startsWith('#')) continue;
    const [name = '', anchor] = target.split('#');
    const wanted = posix.join(posix.dirname(file), name);
    const found = sources.get(wanted);
    if (found !== undefined) {
      const relative = posix.relative(posix.dirname(path), found);
      const written = `${relative.startsWith('.') ? '' : './'}${relative}${anchor === undefined || found === 'index.md' ? '' : `#${anchor}`}`;
      page = page.slice(0, index) + written + page.slice(index + target.length);
    } else if (/\.(?:png|svg|jpg)$/.test(wanted)) {
      const relative = posix.relative(posix.dirname(path), wanted.replace(/^docs\//, ''));
      page = `${page.slice(0, index)}${relative.startsWith('.') ? '' : './'}${relative}${page.slice(index + target.length)}`;
    } else {
      const end = index + target.length + 1;
      const start = page.lastIndexOf('[', index);
      page = page.slice(0, start) + page.slice(start + 1, index - 2) + page.slice(end);
    }
  }
  return page;
}

/** Returns the pages about the program, by their path on the site. `pictures`: the pages of flows that have one. */
export async function generatedPages(pictures: ReadonlySet<string> = new Set()) {
  const pages: Pages = new Map();
  const { entries } = await openCatalog({ compiledFile: join(root, 'dist/catalog.json') });
  const ids = new Set(entries.map(({ id }) => id));
  for (const entry of entries) pages.set(`reference/components/${entry.id}.md`, componentPage(entry, entries, ids));
  pages.set('reference/components/index.md', componentIndex(entries));

  const flowGroups = await readFlowGroups();
  for (const group of flowGroups)
    for (const flow of group.flows)
      pages.set(
        `reference/procedures/${flow.id}.md`,
        await flowPage(flow, group, pictures.has(flow.id) ? `/procedures/${flow.id}.svg` : undefined),
      );
  pages.set('reference/procedures/index.md', flowIndex(flowGroups));

  const commands = await readCommands();
  for (const command of commands)
    pages.set(
      `reference/commands/${command.name}.md`,
      await commandPage(command, (flow) => `[${flow.title}](../procedures/${flow.id}.md)`),
    );
  pages.set('reference/commands/index.md', await commandIndex(commands));

  const sidebars: Record<string, SidebarItem[]> = {
    '/reference/components/': [
      { text: 'All components', link: '/reference/components/' },
      ...groups.map((group) => ({
        text: groupTitles[group],
        collapsed: true,
        items: entries
          .filter((entry) => entry.group === group)
          .map(({ id, product }) => ({ text: `${product.name} (${id})`, link: `/reference/components/${id}` })),
      })),
    ],
    '/reference/procedures/': [
      { text: 'All procedures', link: '/reference/procedures/' },
      ...flowGroups.map((group) => ({
        text: group.title,
        collapsed: true,
        items: group.flows.map(({ id, title }) => ({ text: title, link: `/reference/procedures/${id}` })),
      })),
    ],
    '/reference/commands/': [
      { text: 'All commands', link: '/reference/commands/' },
      ...[...new Set(commands.map(({ heading }) => heading))].map((heading) => ({
        text: heading,
        collapsed: true,
        items: commands.filter((each) => each.heading === heading).map(({ name }) => ({ text: name, link: `/reference/commands/${name}` })),
      })),
    ],
  };
  return { pages, sidebars };
}

/** Writes all pages, and the navigation for the configuration of VitePress. */
async function writeSite(folder: string): Promise<void> {
  const written = writtenPages();
  const pictures = existsSync(picturesFolder) ? readdirSync(picturesFolder) : [];
  const generated = await generatedPages(new Set(pictures.map((name) => name.replace(/\.svg$/, ''))));
  rmSync(folder, { recursive: true, force: true });
  const home = readFileSync(join(import.meta.dirname, 'home.md'), 'utf8').replace('GUIDE', written.sidebar[0]?.items?.[0]?.link ?? '/');
  for (const [path, text] of [...written.pages, ...generated.pages, ['index.md', home] as const]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  cpSync(join(docs, 'pictures'), join(folder, 'pictures'), { recursive: true });
  cpSync(join(import.meta.dirname, 'logo.svg'), join(folder, 'public/logo.svg'));
  cpSync(join(docs, 'pictures/tour.svg'), join(folder, 'public/tour.svg'));
  if (pictures.length > 0) cpSync(picturesFolder, join(folder, 'public/procedures'), { recursive: true });
  writeFileSync(join(folder, 'navigation.json'), JSON.stringify({ '/': written.sidebar, ...generated.sidebars }));
  process.stdout.write(`${written.pages.size} written and ${generated.pages.size} generated pages\n`);
}

if (process.argv[1] === import.meta.filename) await writeSite(join(import.meta.dirname, 'pages'));
