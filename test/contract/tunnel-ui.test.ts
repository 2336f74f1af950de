import { describe } from 'vitest';
import { TunnelUiDouble } from '../doubles/tunnel-ui-double.ts';
import { tunnelUiContract } from './tunnel-ui.contract.ts';

describe.each([13, 15] as const)('the double of wg-easy %i', (release) => {
  tunnelUiContract(async () => {
    const double = await TunnelUiDouble.open();
    double.release = release;
    return { port: double.port, password: double.password, close: () => double.close() };
  });
});
