import { vi } from 'vitest';
import { deskFlows } from './desk.ts';
import { describeFlows } from './flow.contract.ts';

// What a passphrase costs is the same code with another number.
vi.mock(import('age-encryption'), async (original) => {
  const age = await original();
  class Quick extends age.Encrypter {
    constructor() {
      super();
      this.setScryptWorkFactor(4);
    }
  }
  return { ...age, Encrypter: Quick };
});

describeFlows(deskFlows);
