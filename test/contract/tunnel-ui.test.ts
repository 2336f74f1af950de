import { describe } from 'vitest';
import { createTunnelUi, tunnelUiPort } from '../../source/products/tunnels/simulator/tunnel-ui.ts';
import { TunnelUiDouble } from '../doubles/tunnel-ui-double.ts';
import { serveProduct } from './serve-product.ts';
import { tunnelUiContract } from './tunnel-ui.contract.ts';

describe.each([13, 15] as const)('the double of wg-easy %i', (release) => {
  tunnelUiContract(async () => {
    const double = await TunnelUiDouble.open();
    double.release = release;
    return { port: double.port, password: double.password, close: () => double.close() };
  });
});

describe('the practice tunnel server', () => {
  tunnelUiContract(async () => {
    const environment = { PASSWORD: 'geheim-4711', WG_HOST: 'vpn.example.net', WG_MTU: '1420' };
    const served = await serveProduct(createTunnelUi(), { environment });
    return { port: Number(new URL(served.url(tunnelUiPort)).port), password: environment.PASSWORD, close: served.close };
  });
});
