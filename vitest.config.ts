import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ClosingLine } from './test/closing-line.ts';

// React's production build is the one that ships, and the console's tests take a third less with it. Known before the first file is compiled:
// the two builds want different code for JSX.
process.env.NODE_ENV = 'production';

/** A fresh clone knows no durations, and vitest begins with the largest files. These are small and take minutes: begun last, one core waits for them. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const long =
      /\/contract\/flows\/|interrupted\.test\.|tunnel-server\.test\.|\/real\/(?:apply|backup|ban|deploy|engine|operate|pull|rotate|route|secrets-rest|ssh-limits|update)\b|fresh-clone/;
    const isLong = ({ moduleId }: TestSpecification) => long.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// Colour is decided once per process, so what must be seen in colour and what must be seen without run apart.
const common = {
  env: { COLUMNS: '100', LINES: '40', TZ: 'UTC' },
  testTimeout: 20_000,
  hookTimeout: 120_000,
  // Two cores that engines, servers and terminals share miss a limit now and then; the report names what needed a second try.
  retry: process.env.CI ? 1 : 0,
};

const units = ['source/**/*.test.{ts,tsx}', 'test/{bench,bundle,catalog,contract,lint,spec,docs}/**/*.test.{ts,tsx}'];
const consoleUnits = 'source/console/**/*.test.{ts,tsx}';
const plainUnits = 'source/**/*.plain.test.{ts,tsx}';
/** They replace modules, or depend on which are loaded, and would do so for the files that come after them in the same process. */
const isolatedUnits = globSync(units, { exclude: [plainUnits] }).filter((file) =>
  /\bvi\.(?:do)?(?:un)?(?:mock|hoisted|resetModules)\b/i.test(readFileSync(file, 'utf8')),
);

/** Files share processes: starting one and loading the source in it would take as long as the tests of most of them. */
const unit = {
  ...common,
  isolate: false,
  unstubEnvs: true,
  unstubGlobals: true,
  // By itself vitest leaves a core alone, which on two is half of them; and many files wait for processes, or for the practice stack, more than
  // they work. More processes would each load and compile the source.
  maxWorkers: 5,
  env: { ...common.env, FORCE_COLOR: '3' },
};

/** Of projects that run beside each other. Mostly they wait for an engine, or for their turn at one: see test/real/turns.ts. */
const realWorkers = 8;

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...unit, name: 'unit', include: units, exclude: [consoleUnits, plainUnits, ...isolatedUnits] } },
      { test: { ...unit, name: 'isolated', include: isolatedUnits, setupFiles: ['test/as-bundled.ts'], isolate: true } },
      {
        test: {
          ...unit,
          name: 'console',
          include: [consoleUnits],
          exclude: [plainUnits, ...isolatedUnits],
          setupFiles: ['test/as-bundled.ts'],
        },
      },
      {
        test: {
          ...unit,
          name: 'no-colour',
          include: [plainUnits],
          setupFiles: ['test/as-bundled.ts'],
          env: { ...common.env, NO_COLOR: '1', FORCE_COLOR: '0' },
        },
      },
      {
        test: {
          ...common,
          name: 'pty',
          include: ['test/pty/**/*.test.ts'],
          testTimeout: 60_000,
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'real',
          isolate: false,
          include: ['test/real/**/*.test.ts'],
          globalSetup: ['test/real/global-setup.ts'],
          testTimeout: 180_000,
          hookTimeout: 300_000,
          maxWorkers: realWorkers,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...common,
          name: 'packaging',
          include: ['test/packaging/**/*.test.ts'],
          testTimeout: 240_000,
          hookTimeout: 300_000,
          maxWorkers: realWorkers,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
