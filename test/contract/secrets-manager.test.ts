import { describe } from 'vitest';
import { createSecretsManager } from '../../source/products/vault/simulator/secrets-manager.ts';
import { autoUnsealContract } from './auto-unseal.contract.ts';
import { listen } from './listening.ts';
import { secretsManagerContract } from './secrets-manager.contract.ts';

describe('the practice secrets manager', () => {
  secretsManagerContract(async () => {
    const { product } = await createSecretsManager({ uninitialised: true });
    const listening = await listen(product, 8200);
    return { url: listening.url, restart: async () => listening.restart(), close: listening.close };
  });
});

describe('a practice secrets manager that opens itself', () => {
  autoUnsealContract(async () => {
    const { product } = await createSecretsManager({ uninitialised: true, autoUnseal: true });
    const listening = await listen(product, 8200);
    return { url: listening.url, restart: async () => listening.restart(), close: listening.close };
  });
});
