import { vi } from 'vitest';
import { componentFlows } from './components.ts';
import { describeFlows } from './flow.contract.ts';

// Flows wait to see what they asked for; here they look again at once.
vi.mock(import('../../../source/faults/waits.ts'), async (original) => ({
  ...(await original()),
  pauseFor: async (_: number, signal: AbortSignal) => {
    signal.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  },
}));

describeFlows(componentFlows);
