import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { drawing } from '../bundle/drawing.mjs';

// Tests of the console draw with Ink as it is in the bundle: what is tested is what ships, and half of their time was drawing.
if (expect.getState().testPath?.includes('/source/console/')) {
  registerHooks({
    load(url, context, nextLoad) {
      const change = url.startsWith('file:') && url.includes('/node_modules/') && drawing.find(({ filter }) => filter.test(url));
      return change ? { format: 'module', source: change.contents(fileURLToPath(url)), shortCircuit: true } : nextLoad(url, context);
    },
  });
}
