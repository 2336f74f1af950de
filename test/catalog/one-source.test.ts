import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadFolder } from '../../source/catalog/load-folder.ts';
import { neverWide } from '../../source/catalog/never-wide.ts';
import { defaultSettings } from '../../source/config/settings.ts';
import { inventory } from './inventory.ts';

const root = new URL('../../', import.meta.url).pathname;
const { entries } = await loadFolder(`${root}catalog`, { own: false });

/** Beyond those that every program knows: 80 is HTTP's and 443 HTTPS's own. */
const tablePorts = new Set(
  inventory.flatMap(({ ports = [] }) => ports.flatMap(({ host, container }) => [host, container])).filter((port) => port >= 1000),
);

/** Numbers of the table that stand in a program's text: not in comments, in sentences for people, or as times. */
function portLiterals(source: string): number[] {
  const code = source
    .replaceAll(/^\s*\/\*[\s\S]*?\*\//gm, '')
    .replaceAll(/^\s*\/\/.*$/gm, '')
    // A text with a blank in it is a sentence, or an example in one.
    .replaceAll(/'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g, (text) => (text.includes(' ') ? "''" : text));
  return code
    .split('\n')
    .filter((line) => !/\w+Ms\b/.test(line))
    .flatMap((line) => [...line.matchAll(/(?<![\w.#\\])\d{4,5}(?![\w.%])/g)].map(([digits]) => Number(digits)))
    .filter((number) => tablePorts.has(number));
}

describe('ports', () => {
  it('stand in the catalog alone: no program text has one of its own (R80)', () => {
    const found = globSync('source/**/*.{ts,tsx}', { cwd: root })
      // The practice stack plays machines as they could be; tests say what they expect.
      .filter((file) => !/\.test\.tsx?$|^source\/practice\/|\/simulator\//.test(file))
      .flatMap((file) => portLiterals(readFileSync(root + file, 'utf8')).map((port) => `${file}: ${port}`))
      // R8 names five that never go wide, by number.
      .filter((literal) => !literal.startsWith('source/catalog/never-wide.ts'));
    expect(found).toEqual([]);
    expect(portLiterals("const a = { port: 8180 };\nconst b = 'http://127.0.0.1:8200';\nconst waitMs = 5000; // 8180\n")).toEqual([
      8180, 8200,
    ]);
  });

  it('that never go wide are those of the table (R80, R8)', () => {
    for (const [id, port] of Object.entries(neverWide))
      expect(inventory.find((row) => row.id === id)?.ports).toContainEqual(expect.objectContaining({ host: port, exposure: 'loopback' }));
  });
});

describe('how often components are asked', () => {
  it('is up to the console, and never often: no interface tells what it would bear (R81)', () => {
    expect(defaultSettings.probeIntervalMs).toBeGreaterThanOrEqual(10_000);
    for (const { id, probe } of entries) {
      if (probe?.every === undefined) continue;
      const seconds = Number.parseInt(probe.every, 10) * (probe.every.endsWith('m') ? 60 : 1);
      expect(seconds, id).toBeGreaterThanOrEqual(10);
    }
  });
});
