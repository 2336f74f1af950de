import { expect, it } from 'vitest';
import { PreflightFixture } from '../../../test/doubles/preflight-fixture.ts';
import { wholeCatalog } from '../../../test/doubles/whole-catalog.ts';

const { entries } = await wholeCatalog();

async function reported(text: string, more: { before?: string; edited?: true; id?: string } = {}) {
  const { id = 'overlay-mesh' } = more;
  const entry = entries.find((one) => one.id === id) ?? expect.fail(`no ${id}`);
  const fixture = new PreflightFixture(entry, entries);
  fixture.plan = {
    files: [
      {
        path: `${id}/${entry.configFile?.path}`,
        before: more.before,
        after: text,
        mode: 0o644,
        touched: false,
        ...(more.edited && { edited: true }),
      },
    ],
  };
  return (await fixture.findings()).filter((one) => /config-/.test(one.id));
}
const config = (inbound: string, hosts = '[]') =>
  `pki: {ca: /etc/nebula/ca.crt, cert: /etc/nebula/host.crt, key: /etc/nebula/host.key}\nstatic_host_map: {}\nlighthouse: {am_lighthouse: true, hosts: ${hosts}}\nlisten: {host: 0.0.0.0, port: 4242}\nfirewall: {outbound: [], inbound: [{port: ${inbound}, proto: tcp, host: any}]}\n`;

it('answers that are wrong together are told before the product would', async () => {
  expect(await reported(config('22'))).toEqual([]);
  expect(await reported(config('5-2'))).toEqual([
    {
      id: 'config-file',
      level: 'blocking',
      message: 'files/config.yml would be invalid at line 5, firewall.inbound[0].port: The port range ends before it starts.',
      advice: 'Put the lower port first, for example 8000-8010.',
      rule: 'inbound-port-range',
    },
  ]);
  expect((await reported(config('5-2', '["10.1.0.1"]')))[0]?.message).toMatch(/First of 3 errors\.$/);
});

it('what stands there already, or is of somebody, is left to the product', async () => {
  expect(await reported(config('5-2'), { before: config('5-2') })).toEqual([]);
  expect(await reported(config('5-2'), { edited: true })).toEqual([expect.objectContaining({ level: 'warning' })]);
});

it('a file that only its program reads is named when somebody changes it, and not when it is made of answers', async () => {
  expect(await reported('frontend x\n', { id: 'load-balancer', edited: true })).toEqual([
    expect.objectContaining({
      id: 'config-unread',
      level: 'warning',
      message: 'files/haproxy.cfg was not checked, because only HAProxy can check it.',
      advice: 'Check the file after you apply the plan: quarterdeck config check load-balancer',
    }),
  ]);
  expect(await reported('frontend x\n', { id: 'load-balancer' })).toEqual([]);
});
