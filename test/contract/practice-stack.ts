import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openCatalog } from '../../source/catalog/open-catalog.ts';
import { readInstalled } from '../../source/config/installation.ts';
import { openPractice } from '../../source/practice/open-practice.ts';
import type { PracticeFacts } from '../../source/practice/practice.ts';

export interface PracticeStack extends AsyncDisposable {
  facts: PracticeFacts;
  folder: string;
  /** The engine's socket, as a path. */
  socket: string;
}

/** A practice stack of a test's own, on the catalog that was compiled last. */
export async function startPractice(): Promise<PracticeStack> {
  const home = await mkdtemp(join(tmpdir(), 'qd-practice-'));
  const catalog = await openCatalog({ compiledFile: resolve(import.meta.dirname, '../../dist/catalog.json') });
  const components = JSON.parse(await readInstalled('dist/practice.json'));
  const practice = await openPractice({ folder: join(home, 's'), catalog, components });
  return {
    facts: practice.facts,
    folder: join(home, 's'),
    socket: practice.facts.engine.replace('unix://', ''),
    async [Symbol.asyncDispose]() {
      await practice.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
