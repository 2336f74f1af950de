import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, runServer } from './real-server.ts';

/** A real OpenBao with integrated storage: new, without keys, and thrown away afterwards. */
export interface RealOpenBao {
  url: string;
  folder: string;
  /** All that it wrote to its log since it was started last. */
  output(): string;
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface Kind {
  /** A node whose cluster it is to join. */
  joins?: { url: string } | undefined;
  /** It opens itself, with a key in a file. */
  opensItself?: boolean;
}

export async function startOpenBao(program: string, { joins, opensItself = false }: Kind = {}): Promise<RealOpenBao> {
  const folder = await mkdtemp(join(tmpdir(), 'qd-openbao-'));
  const [port, clusterPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  await mkdir(join(folder, 'data'));
  if (opensItself) await writeFile(join(folder, 'seal.key'), randomBytes(32));
  const seal = `seal "static" {
  current_key_id = "one"
  current_key    = "file://${folder}/seal.key"
}
`;
  await writeFile(
    join(folder, 'server.hcl'),
    `storage "raft" {
  path    = "${folder}/data"
  node_id = "node-${port}"
${joins ? `  retry_join {\n    leader_api_addr = "${joins.url}"\n  }\n` : ''}}
${opensItself ? seal : ''}listener "tcp" {
  address     = "127.0.0.1:${port}"
  cluster_address = "127.0.0.1:${clusterPort}"
  tls_disable = true
}
api_addr     = "${url}"
cluster_addr = "https://127.0.0.1:${clusterPort}"
`,
  );
  const start = () => runServer(program, ['server', '-config=server.hcl'], { cwd: folder, answers: `${url}/v1/sys/seal-status` });
  let server = await start();
  return {
    url,
    folder,
    output: () => server.output(),
    async restart() {
      await server.stop();
      server = await start();
    },
    async close() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
