import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PracticeProduct, ProductSurroundings } from '../../source/practice/practice.ts';

export interface ServedProduct {
  /** Where a port of its container answers. */
  url(containerPort: number): string;
  /** What it wrote to its container's log. */
  lines: string[];
  close(): Promise<void>;
}

/** Starts a practice product as its container would, behind servers on loopback. */
export async function serveProduct(product: PracticeProduct, more: Partial<ProductSurroundings> = {}): Promise<ServedProduct> {
  const lines: string[] = [];
  product.start({ log: (line) => lines.push(line), ...more });
  const servers = await Promise.all(
    Object.entries(product.listeners).map(async ([port, listener]) => {
      const server = createServer(listener);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return { port: Number(port), server };
    }),
  );
  return {
    lines,
    url(containerPort) {
      const found = servers.find(({ port }) => port === containerPort);
      if (found === undefined) throw new Error(`no port ${containerPort}`);
      return `http://127.0.0.1:${(found.server.address() as AddressInfo).port}`;
    },
    async close() {
      product.stop();
      await Promise.all(
        servers.map(({ server }) => {
          server.closeAllConnections();
          return new Promise((resolve) => server.close(resolve));
        }),
      );
    },
  };
}
