import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tunnelUiContract } from '../contract/tunnel-ui.contract.ts';
import { describeContract } from './describe-contract.ts';
import { freePort, runServer } from './real-server.ts';

/** `src/` of wg-easy 13 or 14, with its node_modules. Its licence does not let it into a cache of ours, and no registry has it. */
const folder = process.env['QUARTERDECK_TEST_WG_EASY'] ?? '';
const missing =
  folder === ''
    ? 'QUARTERDECK_TEST_WG_EASY names no src/ of wg-easy'
    : existsSync(join(folder, 'server.js'))
      ? undefined
      : `${folder} has no server.js`;

const version = async () => {
  const { release } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { release: { version: string } };
  return release.version;
};

describeContract('tunnels', { name: 'wg-easy', missing, version }, () => {
  tunnelUiContract(async () => {
    const home = await mkdtemp(join(tmpdir(), 'qd-wg-easy-'));
    // The page is real, the interface is none: a kernel without WireGuard does as well.
    const script = (name: string, text: string) => writeFile(join(home, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    await script('wg', 'case $1 in genkey | genpsk | pubkey) exec /usr/bin/wg "$@" ;; esac');
    await script('wg-quick', 'exit 0');
    const port = await freePort();
    const password = 'geheim-4711';
    const { hashSync } = createRequire(join(folder, 'server.js'))('bcryptjs') as { hashSync(text: string, rounds: number): string };
    const server = await runServer(process.execPath, ['server.js'], {
      cwd: folder,
      answers: `http://127.0.0.1:${port}/api/session`,
      env: {
        PATH: `${home}:${process.env['PATH']}`,
        ...{ WG_PATH: `${home}/`, WG_HOST: 'vpn.example.net', WG_MTU: '1420', PASSWORD_HASH: hashSync(password, 4) },
        ...{ PORT: String(port), WEBUI_HOST: '127.0.0.1' },
      },
    });
    return {
      port,
      password,
      async close() {
        await server.stop();
        await rm(home, { recursive: true, force: true });
      },
    };
  });
});
