import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSiteName, isPrivateName, siteFileName, siteText } from './proxy-site.ts';

const at = (port: number) => ({ host: 'localhost', port });

describe('the rule of a site', () => {
  it('of a private name is exactly the internal certificate and the port (R11)', () => {
    expect(siteText({ host: 'vault.lan', upstream: at(8180) })).toBe('vault.lan {\n\ttls internal\n\treverse_proxy localhost:8180\n}\n');
  });

  it('of a public name leaves the certificate to a public authority (R10, R11)', () => {
    expect(siteText({ host: 'vault.example.org', upstream: at(18180) })).toBe('vault.example.org {\n\treverse_proxy localhost:18180\n}\n');
  });

  it('behind the portal asks it, and copies exactly four headers (R36)', () => {
    const portal = { upstream: at(9091), url: 'https://auth.lan/' };
    expect(siteText({ host: 'chat.lan', upstream: at(3000), portal })).toBe(`chat.lan {
	tls internal
	route {
		request_header -Remote-User
		request_header -Remote-Groups
		request_header -Remote-Name
		request_header -Remote-Email
		forward_auth localhost:9091 {
			uri /api/verify?rd=https://auth.lan
			copy_headers Remote-User Remote-Groups Remote-Name Remote-Email
		}
		reverse_proxy localhost:3000
	}
}
`);
  });

  it('sends a path to its own port, and to the main one where nobody answers there (R51, R54)', () => {
    const routes = [{ path: '/notifications/hub', upstreams: [at(3012), at(8180)] }];
    expect(siteText({ host: 'vault.lan', upstream: at(8180), routes, websocket: true })).toBe(`vault.lan {
	tls internal
	# WebSockets need no directive here. Do not remove the Upgrade header.
	reverse_proxy /notifications/hub localhost:3012 localhost:8180 {
		lb_policy first
		lb_try_duration 2s
		fail_duration 30s
	}
	reverse_proxy localhost:8180
}
`);
    expect(siteText({ host: 'vault.lan', upstream: at(8180), routes: [{ path: '/hub/*', upstreams: [at(3012)] }] })).toContain(
      '\treverse_proxy /hub/* localhost:3012\n\treverse_proxy localhost:8180\n',
    );
  });

  it('reaches a component that speaks TLS itself, or listens on one address only', () => {
    expect(siteText({ host: 'siem.lan', upstream: { ...at(10443), tls: true } })).toContain(
      'reverse_proxy https://localhost:10443 {\n\t\ttransport http {\n\t\t\ttls_insecure_skip_verify\n\t\t}\n\t}\n',
    );
    expect(siteText({ host: 'x.lan', upstream: { host: '192.168.1.2', port: 80 } })).toContain('reverse_proxy 192.168.1.2:80\n');
    expect(siteText({ host: 'fd00::1', upstream: { host: 'fd00::2', port: 80 } })).toBe(
      '[fd00::1] {\n\ttls internal\n\treverse_proxy [fd00::2]:80\n}\n',
    );
  });
});

describe('private or public (R10)', () => {
  it.each([
    'vault',
    'localhost',
    'vault.lan',
    'a.b.LAN',
    'nas.local',
    'x.internal',
    'x.home.arpa',
    'a.localhost',
    '192.168.1.2',
    '10.0.0.1',
    '127.0.0.1',
    '::1',
    'fd00::1',
    '100.64.0.1',
    '169.254.1.1',
  ])('%s is private', (name) => expect(isPrivateName(name)).toBe(true));
  it.each(['example.org', 'vault.example.org', 'lan.example.org', 'x.plan', 'home.arpa.example', '9.9.9.9', '2606:4700::1'])(
    '%s is public',
    (name) => expect(isPrivateName(name)).toBe(false),
  );
});

describe('names of sites', () => {
  it.each(['vault', 'vault.lan', 'a-b.example.org', 'xn--bcher-kva.example', '192.168.1.2', '::1', 'fd00::1:2', '3com.lan'])(
    '%s is one',
    (name) => expect(checkSiteName(name)).toBeUndefined(),
  );
  it.each([
    '',
    'Vault.lan',
    'bücher.example',
    'https://vault.lan',
    'vault.lan:443',
    'vault.lan/x',
    '*.lan',
    'a..b',
    '.lan',
    'lan.',
    '-a.lan',
    'a_b.lan',
    'a b',
    'a{b',
    'a\nb {',
    '../../etc/passwd',
    `${'a'.repeat(64)}.lan`,
    `${'a.'.repeat(130)}lan`,
    '1.2.3',
    '8080',
    '999.1.1.1',
    'import',
    'fe80::1%eth0',
    '"x"',
  ])('%j is none, and the sentence says why', (name) => expect(checkSiteName(name)).toMatch(/^["A-Z].*\.$/));

  it('whatever passes is one word of the rule, and a safe file of its own', () => {
    const files = new Map<string, string>();
    fc.assert(
      fc.property(fc.oneof(fc.domain(), fc.ipV6(), fc.ipV4(), fc.string(), fc.stringMatching(/^[a-z0-9.:_-]{1,12}$/)), (name) => {
        if (checkSiteName(name) !== undefined) return;
        const text = siteText({ host: name, upstream: at(1) });
        expect(text).toMatch(/^[[\]a-z0-9:.-]+ \{\n(?:\ttls internal\n)?\treverse_proxy localhost:1\n\}\n$/i);
        const file = siteFileName(name);
        expect(file).toMatch(/^[\w.-]+\.caddy$/i);
        expect(file.startsWith('.')).toBe(false);
        expect(files.get(file) ?? name).toBe(name);
        files.set(file, name);
      }),
      { numRuns: 2000 },
    );
  });
});
