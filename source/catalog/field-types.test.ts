import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkValue, type FieldRule, fieldTypes } from './field-types.ts';

/** Per type: valid and invalid values. */
const cases: Record<FieldRule['type'], { fits: unknown[]; not: unknown[] }> = {
  string: { fits: ['', 'a b', 'two\nlines', 5, true], not: [null, {}, [], 'a\u001b[31m', 'a\u0000b'] },
  'secret-string': { fits: ['s3cr3t!'], not: ['', 'two\nlines', null, 'a\u0000b'] },
  'string-boolean': { fits: ['true', 'false'], not: [true, 'True', 'yes', '1', ''] },
  boolean: { fits: [true, 'false'], not: ['yes', 1, 'TRUE'] },
  integer: { fits: [5432, '0', '-1'], not: ['5.5', 'many', '', '1e3', '007', '-01', '99999999999999999999', null] },
  'string-integer': { fits: ['1000', 1000], not: ['ten', '1 000', '0080'] },
  enum: { fits: [], not: ['x'] },
  url: {
    fits: ['https://example.org', 'http://127.0.0.1:8080/a?b=c', 'redis://redis:6379', 'ldap://ldap:3890'],
    not: ['example.org', 'https://', 'https://a b', '', 'javascript:alert(1)'],
  },
  'jdbc-url': {
    fits: ['jdbc:postgresql://db/keycloak', 'jdbc:postgresql://db:5432/keycloak?ssl=true'],
    not: ['postgresql://db/keycloak', 'jdbc:postgresql', 'jdbc:postgresql://db'],
  },
  'database-url': { fits: ['postgres://u:p@db/app?sslmode=disable', 'mysql://u@db/app'], not: ['db/app', 'https://db/app', 'postgres://'] },
  path: { fits: ['/config/users.yml', './files'], not: ['config', '', 'C:\\x', '~/x'] },
  hostname: {
    fits: ['id.example.org', 'nas', '192.168.1.2'],
    not: ['-a.org', 'a_b', 'https://a', 'a..b', '', '1.2.3', '1', '192.168.001.2'],
  },
  domain: { fits: ['example.org', 'lan'], not: ['.org', '10.0.0.1', 'a/b'] },
  address: { fits: ['0.0.0.0:8080', ':8443', '[::1]:80', 'db:5432', 'localhost:8096', '::1'], not: ['a:b', ':0', 'x:70000', '[zz]:1', ''] },
  'ip-address': { fits: ['192.168.1.2', '2001:db8::1'], not: ['192.168.1', '256.1.1.1', '1', 'nas', '10.0.0.0/8'] },
  cidr: { fits: ['10.8.0.0/24', '0.0.0.0/0', 'fd00::/8'], not: ['10.8.0.0', '10.8.0.0/33', '10/8'] },
  email: { fits: ['ann@example.org'], not: ['ann', '@example.org', 'a b@c.d', 'ann@'] },
  timezone: {
    fits: ['Europe/Berlin', 'UTC', 'Etc/UTC', 'America/Argentina/Buenos_Aires', 'US/Eastern', 'Asia/Calcutta'],
    // In lower case this machine resolves it, but no container does.
    not: ['Berlin', '+02:00', 'Mars/Base', 'europe/berlin', 'utc', 'AMERICA/NEW_YORK'],
  },
  duration: { fits: ['24h', '30d', '1h30m', '500ms', '720h'], not: ['24', 'soon', '1 h', '-1h', 'h'] },
  cron: { fits: ['0 2 * * *', '0 */6 * * *', '@daily'], not: ['0 2 * *', '99 * * * *', 'often', '* * * * * *'] },
  dn: {
    fits: ['dc=example,dc=org', 'uid=admin,ou=people,dc=example,dc=org', 'cn=a\\,b,dc=x'],
    not: ['example.org', 'dc=', '=x', 'dc=a,,dc=b'],
  },
  'ldap-filter': {
    fits: ['(uid=ann)', '(&({username_attribute}={input})(objectClass=person))', '(!(disabled=true))', '(|(a=1)(b>=2)(c=*x*))'],
    not: ['uid=ann', '(uid=ann', '(&)', '(!(a=1)(b=2))', '(uid=ann))', '()'],
  },
  list: { fits: ['a', 'a, b', ['a', 'b']], not: ['', 'a,,b', []] },
  'comma-separated-list': { fits: ['a', 'ca.lan,localhost'], not: ['', 'a,,b', ['a']] },
  'cidr-list': { fits: ['0.0.0.0/0', '10.8.0.0/24, fd00::/64', ['10.0.0.0/8']], not: ['', '10.8.0.2', '10.8.0.0/24, lan', []] },
  map: { fits: ['{"10.1.0.1": ["192.0.2.1:4242"]}', {}], not: ['', '[]', 'a=b', []] },
  'list of ip-address': { fits: ['1.1.1.1, 9.9.9.9', ['2620:fe::fe']], not: ['', '1.1.1.1, dns', []] },
  object: { fits: ['{"a": 1}', { a: 1 }], not: ['[1]', 'text', '', null, []] },
  quantity: { fits: ['500m', '512Mi', '4', 8, '1.5', '2e3', '100G'], not: ['', '-1', '512 Mi', '5mb', 'many', null] },
  size: { fits: ['512 MB', '10000', '4GB', '64KiB'], not: ['', 'big', '5 apples', '-1 MB'] },
  schedule: { fits: ['1h', '@every 24h', '0 2 * * *', '@daily'], not: ['', 'hourly', '@every day', '61 * * * *'] },
  command: { fits: ['iptables -I OUTPUT ! -o %i -j REJECT'], not: ['', 'a\nb', null] },
  line: { fits: ['web1 10.0.0.1:80 check'], not: ['', 'a\nb', {}] },
  lines: { fits: ['acl lan src 10.0.0.0/8\nacl dmz src 10.1.0.0/16', ['allow lan']], not: ['', ' ', [], [''], null] },
  credentials: { fits: ['admin:s3cret'], not: ['admin', ':x', 'admin:', 'a b:c', ''] },
  'interface-name': { fits: ['eth0', 'enp3s0', 'wg0'], not: ['', 'a b', 'an-interface-too-long', '..', 'eth0/1'] },
  group: { fits: [], not: ['DB_HOST', ''] },
};

describe('checkValue', () => {
  it('has a case for every type (R17)', () => {
    expect(Object.keys(cases).sort()).toEqual([...fieldTypes].sort());
  });

  for (const [type, { fits, not }] of Object.entries(cases) as [FieldRule['type'], { fits: unknown[]; not: unknown[] }][]) {
    it(`takes and refuses values of type ${type} (R17)`, () => {
      for (const value of fits) expect([value, checkValue({ type }, value)]).toEqual([value, undefined]);
      for (const value of not) {
        const problem = checkValue({ type }, value);
        expect([value, problem]).not.toEqual([value, undefined]);
        expect(problem).toMatch(/^\S.* .*\.$/);
      }
    });
  }

  it('takes only the strings "true" and "false" where they are documented as strings (R18)', () => {
    expect(checkValue({ type: 'string-boolean' }, 'true')).toBeUndefined();
    expect(checkValue({ type: 'string-boolean' }, true)).toBe('true must be the string "true" or "false".');
    expect(checkValue({ type: 'string-boolean' }, 'on')).toBe('"on" must be the string "true" or "false".');
  });

  it.each([
    ['ASR_MODEL', ['tiny', 'base', 'small', 'medium', 'large', 'large-v3'], 'huge'],
    ['--device', ['cpu', 'cuda', 'rocm'], 'metal'],
    ['balance', ['roundrobin', 'leastconn', 'source', 'uri'], 'random'],
    ['load-balancer mode', ['http', 'tcp'], 'udp'],
    ['audit level', ['None', 'Metadata', 'Request', 'RequestResponse'], 'none'],
    ['IdP command', ['server', 'worker'], 'both'],
    ['enterprise IdP command', ['start-dev', 'start'], 'stop'],
  ])('offers exactly the values of %s (R23)', (_, allowed, other) => {
    for (const value of allowed) expect(checkValue({ type: 'enum', enum: allowed }, value)).toBeUndefined();
    expect(checkValue({ type: 'enum', enum: allowed }, other)).toBe(`"${other}" must be one of ${allowed.join(', ')}.`);
  });

  it.each([
    ['WG_DEFAULT_ADDRESS', { type: 'string', pattern: '^10\\.8\\.0\\.x$' }, '10.8.0.x', '10.8.0.1'],
    ['DEFAULT_MODEL', { type: 'string', pattern: '^[a-z0-9-]+/\\S+$' }, 'ollama/llama3', 'llama3'],
    ['a duration string', { type: 'duration' }, '24h', 'a day'],
    ['AllowedIPs', { type: 'cidr' }, '0.0.0.0/0', '0.0.0.0'],
    ['the last ingress entry', { type: 'string', pattern: '^http_status:404$' }, 'http_status:404', 'http_status:200'],
  ] as [string, FieldRule, string, string][])('checks the pattern of %s (R24)', (_, rule, right, wrong) => {
    expect(checkValue(rule, right)).toBeUndefined();
    expect(checkValue(rule, wrong)).toBeDefined();
  });

  it('counts characters where a length is exact (R75)', () => {
    const rule: FieldRule = { type: 'secret-string', length: 32 };
    expect(checkValue(rule, 'x'.repeat(32))).toBeUndefined();
    expect(checkValue(rule, 'x'.repeat(31))).toBe('The value must have exactly 32 characters, not 31.');
    // 33 bytes, for a program that counts bytes.
    expect(checkValue(rule, `${'x'.repeat(31)}é`)).toMatch(/counted in bytes/);
  });

  it.each([
    ['integer', { name: 'AUTHENTIK_EMAIL__PORT' }],
    ['integer', { name: 'ZITADEL_EXTERNALPORT' }],
    ['string-integer', { name: 'mail port', env: 'SMTP_PORT' }],
    ['integer', { name: 'listener', env: 'LISTEN_PORT' }],
  ] as const)('of type %s, %j is a port', (type, called) => {
    for (const value of [1, '587', '65535']) expect(checkValue({ type, ...called }, value)).toBeUndefined();
    for (const value of [0, '-1', '65536', '99999'])
      expect(checkValue({ type, ...called }, value)).toMatch(/must be a port from 1 to 65535\.$/);
    expect(checkValue({ type, name: 'workers' }, 0)).toBeUndefined();
  });

  it('says the form in words where somebody wrote them down', () => {
    const rule: FieldRule = { type: 'string', pattern: '^10\\.8\\.0\\.x$', rule: '10.8.0.x, with an x at the end' };
    expect(checkValue(rule, '10.8.0.1')).toBe('"10.8.0.1" does not follow the rule: 10.8.0.x, with an x at the end.');
    expect(checkValue({ type: 'string', pattern: '^a$' }, 'b')).toBe('"b" must match ^a$.');
  });

  it('never repeats a secret', () => {
    for (const type of fieldTypes) {
      expect(checkValue({ type, secret: true, length: 3 }, 'hunter2 hunter2') ?? '').not.toContain('hunter2');
    }
  });

  // Catastrophic backtracking takes minutes; shorter delays may come from other load on the machine.
  it('never throws and is quick, whatever the value', { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...fieldTypes),
        fc.oneof(fc.anything(), fc.string(), fc.string({ minLength: 500, maxLength: 4000 })),
        (type, value) => {
          const begin = performance.now();
          checkValue({ type }, value);
          expect(performance.now() - begin).toBeLessThan(2000);
        },
      ),
    );
    for (const long of [
      'a='.repeat(4000),
      `dc=${'a'.repeat(8000)}\\`,
      `(${'&('.repeat(4000)}`,
      `${'a'.repeat(250)}.`.repeat(20),
      '1h'.repeat(5000),
    ]) {
      for (const type of fieldTypes) {
        const begin = performance.now();
        checkValue({ type }, long);
        expect(performance.now() - begin).toBeLessThan(2000);
      }
    }
  });

  it('takes every IPv4 and IPv6 address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (ip) => {
        expect(checkValue({ type: 'ip-address' }, ip)).toBeUndefined();
      }),
    );
  });
});
