import { describe } from 'vitest';
import { createSecretsManager } from '../../source/practice/secrets-manager/secrets-manager.ts';
import { listen } from './listening.ts';
import { secretsManagerContract } from './secrets-manager.contract.ts';

describe('the practice secrets manager', () => {
  secretsManagerContract(async () => {
    const { product } = await createSecretsManager({ uninitialised: true });
    const listening = await listen(product, 8200);
    return { url: listening.url, restart: async () => listening.restart(), close: listening.close };
  });
});
