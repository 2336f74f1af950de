import { defineConfig } from 'vitest/config';
import { ClosingLine } from './test/closing-line.ts';

// React's production build is the one that ships, and the console's tests take a third less with it. Known before the first file is compiled:
// the two builds want different code for JSX.
process.env.NODE_ENV = 'production';

// Colour is decided once per process, so what must be seen in colour and what must be seen without run apart.
const common = { env: { COLUMNS: '100', LINES: '40', TZ: 'UTC' }, testTimeout: 20_000, hookTimeout: 120_000 };

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          setupFiles: ['test/as-bundled.ts'],
          // By itself vitest leaves a core alone, which on two is half of them; and many files wait for processes, or for the practice stack, more than they work.
          maxWorkers: 4,
          include: ['source/**/*.test.{ts,tsx}', 'test/{bench,bundle,catalog,contract,lint,spec,docs}/**/*.test.{ts,tsx}'],
          exclude: ['**/*.plain.test.*'],
          env: { ...common.env, FORCE_COLOR: '3' },
        },
      },
      {
        test: {
          ...common,
          name: 'no-colour',
          setupFiles: ['test/as-bundled.ts'],
          maxWorkers: 4,
          include: ['source/**/*.plain.test.{ts,tsx}'],
          env: { ...common.env, NO_COLOR: '1', FORCE_COLOR: '0' },
        },
      },
      {
        test: {
          ...common,
          name: 'pty',
          include: ['test/pty/**/*.test.ts'],
          testTimeout: 60_000,
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'real',
          include: ['test/real/**/*.test.ts'],
          globalSetup: ['test/real/global-setup.ts'],
          testTimeout: 180_000,
          hookTimeout: 300_000,
          // An engine that shares two cores with everything else misses a limit now and then; the report names what needed a second try.
          retry: process.env.CI ? 1 : 0,
          // Mostly they wait for an engine, or for their turn at one: see test/real/turns.ts.
          maxWorkers: 4,
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
          maxWorkers: 4,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
