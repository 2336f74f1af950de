import { describe } from 'vitest';
import { createSsoPortal, portalPort } from '../../source/products/authelia/simulator/sso-portal.ts';
import { serveProduct } from './serve-product.ts';
import { accessControl, ssoPortalContract } from './sso-portal.contract.ts';

const configuration = `authentication_backend:
  file:
    path: /config/users.yml
    watch: true
session:
  cookies:
    - domain: home.example.org
      authelia_url: https://auth.home.example.org
${accessControl}`;

describe('the practice portal', () => {
  ssoPortalContract(async (users) => {
    const product = createSsoPortal();
    const files = new Map([
      ['/config/configuration.yml', { content: Buffer.from(configuration), ms: 1 }],
      ['/config/users.yml', { content: Buffer.from(users), ms: 1 }],
    ]);
    const served = await serveProduct(product, { file: (path) => files.get(path) });
    const run = (argv: string[], stdin = '') => product.exec?.(argv, stdin) ?? Promise.reject(new Error('no such program'));
    return {
      url: served.url(portalPort),
      run: (words) => run(['authelia', ...words]),
      validate: (text) => run(['sh', '-c', 'authelia config validate', '/tmp/x.yml'], text),
      writeUsers: async (text) => void files.set('/config/users.yml', { content: Buffer.from(text), ms: Date.now() }),
      log: () => served.lines.join('\n'),
      close: served.close,
    };
  });
});
