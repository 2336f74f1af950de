import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { DeployFixture } from './deploy-fixture.ts';
import type { RealEngine } from './real-engines.ts';
import { findServer } from './real-server.ts';
import { asInTheCatalog, makeStandIn } from './stand-ins.ts';

const id = 'mesh-control-server';

/** The real Headscale under the name of its image, and its component as the catalog has it, but for relays on the internet. */
export async function offerControlServer(engine: RealEngine, fixture: DeployFixture): Promise<void> {
  const { program = '' } = findServer('headscale');
  // Like the image it has nothing else to do.
  await makeStandIn(engine, {
    name: 'headscale/headscale',
    tag: 'latest',
    from: 'busybox:latest',
    files: { 'usr/bin/headscale': await readFile(program) },
    changes: ['ENTRYPOINT ["headscale"]', 'CMD []'],
  });
  await makeStandIn(engine, {
    name: 'ghcr.io/tale/headplane',
    tag: 'latest',
    from: 'busybox:latest',
    files: { 'www/admin/healthz': '{"status":"OK"}\n' },
    changes: ['CMD ["httpd","-f","-p","3000","-h","/www"]'],
  });
  const files = await asInTheCatalog('vpn', id);
  const config = `${id}/files/headscale/config.yaml.liquid`;
  // One of its own needs nobody.
  const relay =
    '{enabled: true, region_id: 999, region_code: t, region_name: t, stun_listen_addr: "127.0.0.1:3478", private_key_path: /var/lib/headscale/derp.key, automatically_add_embedded_derp_region: true, ipv4: 127.0.0.1}';
  const local = (files[config] ?? '')
    .replace(/server:\n\s+enabled: false/, `server: ${relay}`)
    .replace(/urls:\n\s+- \S+/, 'urls: []')
    .replace('disable_check_updates: false', 'disable_check_updates: true')
    .replace('auto_update_enabled: true', 'auto_update_enabled: false');
  expect(local).toContain('region_id: 999');
  await fixture.catalog({ ...files, [config]: local });
}
