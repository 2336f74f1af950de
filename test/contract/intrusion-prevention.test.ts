import { afterAll, beforeAll, describe } from 'vitest';
import { apiPort, createIntrusionPrevention } from '../../source/products/crowdsec/simulator/intrusion-prevention.ts';
import { type IntrusionPreventionServer, intrusionPreventionContract } from './intrusion-prevention.contract.ts';
import { type ServedProduct, serveProduct } from './serve-product.ts';

describe.each(['1.4.6', '1.7.8'] as const)('the practice CrowdSec %s', (version) => {
  let served: ServedProduct;
  let server: IntrusionPreventionServer;

  beforeAll(async () => {
    const { product, machine, bouncerKey } = createIntrusionPrevention({ version, living: false });
    served = await serveProduct(product);
    server = {
      url: served.url(apiPort),
      machine,
      bouncerKey,
      cscli: async (...argv) => (await product.exec?.(['cscli', ...argv], '')) ?? { exitCode: 127, stdout: '', stderr: '' },
    };
  });
  afterAll(() => served.close());

  intrusionPreventionContract(() => server, { version });
});
