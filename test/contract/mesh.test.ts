import { describe } from 'vitest';
import { createMesh } from '../../source/products/headscale/simulator/mesh.ts';
import { listen } from './listening.ts';
import { meshContract } from './mesh.contract.ts';

describe('the practice mesh control server', () => {
  meshContract(async () => {
    const { product, apiKey } = createMesh({ empty: true });
    const { url, close } = await listen(product, 8080);
    const run = (argv: string[], stdin = '') => product.exec?.(['headscale', ...argv], stdin) ?? Promise.reject(new Error('no command'));
    return { url, apiKey, run, close };
  });
});
