import { describe } from 'vitest';
import { ObjectStoreDouble } from '../doubles/object-store-double.ts';
import { objectStorageContract } from './object-storage.contract.ts';

describe('the double of an object storage', () => {
  objectStorageContract(async () => {
    const double = await ObjectStoreDouble.open();
    double.buckets.set('crate', new Map());
    const { port, accessKey, secretKey } = double;
    return {
      port,
      accessKey,
      secretKey,
      close: async function closeDouble() {
        await double.close();
      },
    };
  });
});
