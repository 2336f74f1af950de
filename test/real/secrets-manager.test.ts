import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'vitest';
import { secretsManagerContract } from '../contract/secrets-manager.contract.ts';
import { findServer, freePort, runServer } from './real-server.ts';

const { program, missing } = findServer('openbao');

describe.skipIf(missing)(`a real OpenBao${missing ? ` (${missing})` : ''}`, () => {
  secretsManagerContract(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'qd-openbao-'));
    const [port, clusterPort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    mkdirSync(join(folder, 'data'));
    writeFileSync(
      join(folder, 'server.hcl'),
      `storage "raft" {
  path    = "${folder}/data"
  node_id = "node-1"
}
listener "tcp" {
  address     = "127.0.0.1:${port}"
  cluster_address = "127.0.0.1:${clusterPort}"
  tls_disable = true
}
api_addr     = "${url}"
cluster_addr = "https://127.0.0.1:${clusterPort}"
`,
    );
    const start = () => runServer(program ?? '', ['server', '-config=server.hcl'], { cwd: folder, answers: `${url}/v1/sys/seal-status` });
    let server = await start();
    return {
      url,
      async restart() {
        await server.stop();
        server = await start();
      },
      async close() {
        await server.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
});
