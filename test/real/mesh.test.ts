import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { meshContract } from '../contract/mesh.contract.ts';
import { describeContract } from './describe-contract.ts';
import { findServer, freePort, runServer } from './real-server.ts';
import { runOrThrow } from './scripts.ts';

const { program = '', missing } = findServer('headscale');

/** Runs it to its end, with a file as stdin: Node's own pipes are sockets, which cannot be opened again as /dev/stdin. The limit is the test's. */
function runToEnd(argv: string[], stdin: string, folder: string): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const file = join(folder, 'stdin');
  writeFileSync(file, stdin);
  const descriptor = openSync(file, 'r');
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, { stdio: [descriptor, 'pipe', 'pipe'] });
    closeSync(descriptor);
    const pieces: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
    child.stdout?.on('data', (piece: Buffer) => pieces.stdout.push(piece));
    child.stderr?.on('data', (piece: Buffer) => pieces.stderr.push(piece));
    child.once('error', reject);
    child.once('close', (code) =>
      resolve({ exitCode: code ?? -1, stdout: Buffer.concat(pieces.stdout).toString(), stderr: Buffer.concat(pieces.stderr).toString() }),
    );
  });
}

const version = () => runOrThrow([program, 'version']);

describeContract('headscale', { name: 'headscale', missing, version }, () => {
  meshContract(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'qd-headscale-'));
    const [port, metricsPort, grpcPort, stunPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const config = join(folder, 'config.yaml');
    writeFileSync(
      config,
      `server_url: ${url}
listen_addr: 127.0.0.1:${port}
metrics_listen_addr: 127.0.0.1:${metricsPort}
grpc_listen_addr: 127.0.0.1:${grpcPort}
grpc_allow_insecure: true
noise: {private_key_path: ${folder}/noise.key}
prefixes: {v4: 100.64.0.0/10, v6: "fd7a:115c:a1e0::/48", allocation: sequential}
derp:
  server: {enabled: true, region_id: 999, region_code: t, region_name: t, stun_listen_addr: "127.0.0.1:${stunPort}", private_key_path: ${folder}/derp.key, automatically_add_embedded_derp_region: true, ipv4: 127.0.0.1}
  urls: []
  auto_update_enabled: false
disable_check_updates: true
database: {type: sqlite, sqlite: {path: ${folder}/db.sqlite}}
dns: {magic_dns: true, base_domain: mesh.internal, override_local_dns: false}
unix_socket: ${folder}/headscale.sock
unix_socket_permission: "0700"
policy: {mode: database}
log: {level: info, format: text}
`,
    );
    const server = await runServer(program, ['-c', config, 'serve'], { cwd: folder, answers: `${url}/health` });
    const run = (argv: string[], stdin = '') => runToEnd(['-c', config, ...argv], stdin, folder);
    return {
      url,
      apiKey: (await run(['apikeys', 'create'])).stdout.trim(),
      run,
      async close() {
        await server.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
});
