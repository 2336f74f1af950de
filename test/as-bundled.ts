import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { patchedFile, patches } from '../bundle/library-patches.mjs';
import { PlainSegmenter } from '../source/text/plain-text.ts';

// Tests of the console draw with Ink as it is in the bundle: what is tested is what ships, and half of their time was drawing.
if (expect.getState().testPath?.includes('/source/console/')) {
  Object.assign(Intl, { Segmenter: PlainSegmenter });
  registerHooks({
    load(url, context, nextLoad) {
      const [filter, ...changes] = (url.startsWith('file:') && patches.find(([file]) => file instanceof RegExp && file.test(url))) || [];
      if (filter === undefined) return nextLoad(url, context);
      return { format: 'module', source: patchedFile(fileURLToPath(url), changes), shortCircuit: true };
    },
  });
}
