import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PracticeProduct, ProductSurroundings } from '../../source/practice/practice.ts';

export interface Listening {
  url: string;
  logged: string[];
  restart(): void;
  close(): Promise<void>;
}

/** Puts a server on loopback in front of one port of a practice product, and plays the container that it runs in. */
export async function listen(product: PracticeProduct, port: number): Promise<Listening> {
  const logged: string[] = [];
  const surroundings: ProductSurroundings = { log: (line) => logged.push(line) };
  product.start(surroundings);
  const server = createServer(product.listeners[port] as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    logged,
    restart() {
      product.stop();
      product.start(surroundings);
    },
    async close() {
      product.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
