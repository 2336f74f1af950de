import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, posix, resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { contrastOf } from './contrast.ts';

// `npm run site:check [FOLDER]` opens the built site in Chromium and checks links, search, colours and widths. With a folder, it writes
// screenshots there.

const dist = resolve(import.meta.dirname, '../dist');
const pictures = process.argv[2];
const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 800 };

const paths = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.html') && name !== '404.html')
  .map((name) => `/${name.replaceAll('\\', '/')}`);
/** One page of each kind. */
const samples = [
  '/index.html',
  '/reference/components/index.html',
  '/reference/components/recipe-manager.html',
  '/reference/procedures/index.html',
  '/reference/procedures/unseal.html',
  '/reference/commands/index.html',
  '/reference/commands/backup.html',
  '/catalog.html',
  '/contributing.html',
];

const problems: string[] = [];
const failed = (problem: string) => problems.push(problem);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

async function serve() {
  const server = createServer((request, response) => {
    const path = posix.normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname));
    const file = join(dist, path.endsWith('/') ? `${path}index.html` : path);
    if (!existsSync(file) || !statSync(file).isFile()) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return { origin: `http://127.0.0.1:${address.port}`, close: () => server.close() };
}

/** Every link and image of every page leads to a file, and its anchor to an element of that page. */
function checkLinks(): void {
  const ids = new Map(
    paths.map((path) => [path, new Set([...readFileSync(join(dist, path), 'utf8').matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => id))]),
  );
  for (const path of paths) {
    const html = readFileSync(join(dist, path), 'utf8');
    for (const [, written = ''] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      const { origin, pathname, hash } = new URL(written.replaceAll('&amp;', '&'), `http://site${path}`);
      if (origin !== 'http://site') continue;
      const target = decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
      const anchor = decodeURIComponent(hash.slice(1));
      const missing = !existsSync(join(dist, target)) || (anchor !== '' && ids.has(target) && !ids.get(target)?.has(anchor));
      if (missing) failed(`${path}: dead link ${written}`);
    }
  }
}

async function searchFor(page: Page, words: string, expected: RegExp): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.locator('.VPLocalSearchBox input').fill(words);
  const first = page.locator('.VPLocalSearchBox .result').first();
  const found = await first.waitFor({ timeout: 15_000 }).then(
    () => first.innerText(),
    () => undefined,
  );
  if (found === undefined) failed(`Search finds nothing for "${words}".`);
  else if (!expected.test(found)) failed(`Search for "${words}" lists "${found.replaceAll('\n', ' > ')}" first.`);
  await page.keyboard.press('Escape');
}

/** WCAG AA: 4.5 to 1, or 3 to 1 for large text. */
async function checkContrast(page: Page, path: string, appearance: string): Promise<void> {
  for (const { ratio, required, text } of await page.evaluate(contrastOf))
    if (ratio < required) failed(`${path} (${appearance}): contrast ${ratio.toFixed(2)} of "${text}", ${required} is required.`);
}

async function checkWidth(page: Page, path: string): Promise<void> {
  const { scrollWidth, widest } = await page.evaluate(() => {
    const { innerWidth } = window;
    const scrolls = (element: Element | null): boolean =>
      element !== null &&
      element !== document.body &&
      (/auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    const wide = [...document.querySelectorAll('#VPContent *')].find(
      (element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element.parentElement) && !scrolls(element),
    );
    return { scrollWidth: document.documentElement.scrollWidth, widest: wide?.outerHTML.slice(0, 120) };
  });
  if (scrollWidth > phone.width || widest !== undefined) failed(`${path}: ${scrollWidth} px wide at ${phone.width} px. ${widest ?? ''}`);
}

/** tsx wraps functions in `__name`, which the page does not have. */
const named = 'globalThis.__name = (value) => value';

async function checkIn(browser: Browser, origin: string): Promise<void> {
  const backgrounds: Record<string, string> = {};
  for (const appearance of ['light', 'dark'] as const) {
    const context = await browser.newContext({ colorScheme: appearance, viewport: desktop, reducedMotion: 'reduce' });
    await context.addInitScript(named);
    const page = await context.newPage();
    page.on('pageerror', (error) => failed(`${page.url()}: ${error.message}`));
    for (const path of samples.filter((sample) => paths.includes(sample))) {
      await page.goto(origin + path, { waitUntil: 'networkidle' });
      backgrounds[appearance] = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await checkContrast(page, path, appearance);
      if (pictures) await page.screenshot({ path: join(pictures, `${appearance}${path.replaceAll('/', '-')}.png`) });
    }
    if (appearance === 'light') {
      await searchFor(page, 'unseal', /unseal/i);
      await searchFor(page, 'mealie', /mealie/i);
    }
    await context.close();
  }
  if (backgrounds['light'] === backgrounds['dark']) failed('Light and dark have the same background.');

  const context = await browser.newContext({
    colorScheme: 'dark',
    viewport: phone,
    hasTouch: true,
    isMobile: true,
    reducedMotion: 'reduce',
  });
  await context.addInitScript(named);
  // The pages are complete without scripts, and load in a tenth of the time.
  await context.route(/\.js$/, (route) => route.abort());
  const page = await context.newPage();
  for (const path of paths) {
    await page.goto(origin + path, { waitUntil: 'load' });
    await checkWidth(page, path);
    if (pictures && samples.includes(path)) await page.screenshot({ path: join(pictures, `phone${path.replaceAll('/', '-')}.png`) });
  }
  await context.close();
}

/** Returns undefined where no browser is installed. */
function findBrowser(): string | undefined {
  const chosen = process.env['CHROMIUM_BIN'];
  if (chosen) return chosen;
  const folders = (process.env['PATH'] ?? '').split(':');
  return ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}

checkLinks();
const executablePath = findBrowser();
if (executablePath === undefined) {
  failed('No Chromium found: search, colours and widths are not checked. Install the package chromium, or set CHROMIUM_BIN.');
} else {
  const site = await serve();
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  await checkIn(browser, site.origin).finally(async () => {
    await browser.close();
    site.close();
  });
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(problems.length === 0 ? `Checked ${paths.length} pages.\n` : `${problems.length} problems.\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
