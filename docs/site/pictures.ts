import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { flows } from '../../source/app/flow-registry.ts';
import type { Flow } from '../../source/flows/flow.ts';
import { renderSvg } from '../../test/pty/screenshot.ts';
import { Terminal } from '../../test/pty/terminal.ts';

const root = resolve(import.meta.dirname, '../..');
const picturesFolder = join(import.meta.dirname, 'pictures');

/** Procedures that leave the console, or end it. */
const left = new Set(['shell', 'edit']);
/** The component that is selected for procedures about any component. */
const selected = 'media-server';
const limitMs = 8000;
const workMs = 30_000;
const settledMs = 500;

async function openConsole(home: string): Promise<Terminal> {
  const terminal = Terminal.start([join(root, 'bin/quarterdeck'), 'practice'], {
    columns: 104,
    rows: 30,
    env: { QUARTERDECK_HOME: home, QUARTERDECK_KEYCHAIN: 'off', LANG: 'C.UTF-8', COLORTERM: 'truecolor' },
  });
  // The slowest probes have answered.
  await terminal.sees(/sealed 0\/3[\s\S]*loading \d+\/30 min/, 120_000);
  await find(terminal, selected, new RegExp(`▸ (?!do).*${selected}`));
  terminal.press('enter');
  await terminal.seesNot('╭ Find');
  return terminal;
}

async function find(terminal: Terminal, words: string, row: RegExp): Promise<void> {
  terminal.press(':');
  await terminal.sees('╭ Find');
  terminal.type(words);
  await terminal.sees(
    (seen) => seen.text().includes(`│ ${words}`) || seen.text().includes(`:${words}`) || seen.text().includes(`: ${words}`),
  );
  await terminal.sees(row, limitMs);
}

/** A procedure works, and has nothing to show yet. */
const works = (text: string) => /[⠁-⣿] .*Esc cancels/.test(text);

/** Returns when nothing works and the screen has not changed for a moment; clocks and load do not count. */
async function settled(terminal: Terminal): Promise<void> {
  await terminal.seesNot((shown) => works(shown.text()), workMs).catch(() => {});
  const still = () => terminal.text().replaceAll(/[⠀-⣿▁-█]|\d/g, '');
  const end = Date.now() + limitMs;
  let [seen, since] = [still(), Date.now()];
  while (Date.now() < end && Date.now() - since < settledMs) {
    await new Promise((resume) => setTimeout(resume, 50));
    const now = still();
    if (now !== seen) [seen, since] = [now, Date.now()];
  }
}

/** Leaves whatever is open. Throws if the console does not return to its panes. */
async function leave(terminal: Terminal): Promise<void> {
  const isOpen = () => /Esc cancels|╭ Find|Esc (?:cancel|close|back|hide)/.test(terminal.text()) || !/\? help/.test(terminal.text());
  for (let tries = 0; tries < 8 && isOpen(); tries++) {
    terminal.press('esc');
    await settled(terminal);
  }
  if (isOpen()) throw new Error(`The console does not return to its panes.\n${terminal.text()}`);
}

async function takePicture(terminal: Terminal, flow: Flow): Promise<string> {
  const title = flow.title.slice(0, 30).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  await find(terminal, flow.verb, new RegExp(`▸ (?:do|no) +${title}`));
  if (/▸ no /.test(terminal.text())) throw new Error(`"${flow.verb}" is not offered.`);
  terminal.press('enter');
  await terminal.seesNot('╭ Find');
  await settled(terminal);
  if (/│ +→ [A-Z]/.test(terminal.text())) throw new Error(`"${flow.verb}" ends with an error on the practice stack.`);
  return renderSvg(terminal.cells(), { title: `${flow.title}, on the practice stack` });
}

/** Takes a picture of the first screen of each procedure that the practice stack offers. */
async function takePictures(): Promise<void> {
  rmSync(picturesFolder, { recursive: true, force: true });
  mkdirSync(picturesFolder, { recursive: true });
  const home = await mkdtemp(join(tmpdir(), 'quarterdeck-pictures-'));
  let terminal = await openConsole(home);
  let count = 0;
  for (const flow of flows.filter(({ id }) => !left.has(id))) {
    try {
      writeFileSync(join(picturesFolder, `${flow.id}.svg`), await takePicture(terminal, flow));
      count++;
    } catch {
      // Not offered in the state of the practice stack.
    }
    try {
      await leave(terminal);
    } catch {
      await terminal.close();
      terminal = await openConsole(home);
    }
  }
  await terminal.close();
  await rm(home, { recursive: true, force: true });
  process.stdout.write(`${count} pictures of ${flows.length} procedures\n`);
}

await takePictures();
