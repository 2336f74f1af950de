import { beforeEach, describe, expect, it } from 'vitest';

/** A local API that somebody started empty, and how to reach it. */
export interface IntrusionPreventionServer {
  url: string;
  machine: { login: string; password: string };
  bouncerKey: string;
  cscli(...argv: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

/** What reference/crowdsec.md says of the two releases that are simulated. */
interface Expected {
  version: '1.4.6' | '1.7.8';
}

interface Alert {
  id: number;
  decisions: { id: number; value: string; duration: string }[] | null;
  source: { value: string };
}

/**
 * What every CrowdSec of this release does of what our client uses, be it the real one or the practice's. The server is taken as it is: each
 * case begins by removing all alerts, and uses addresses of its own.
 */
export function intrusionPreventionContract(open: () => IntrusionPreventionServer, { version }: Expected): void {
  const old = version === '1.4.6';
  const cli = (...argv: string[]) => open().cscli(...argv);
  const add = (value: string, ...words: string[]) => cli('decisions', 'add', value.includes('/') ? '-r' : '-i', value, ...words);
  const listed = async (...words: string[]) => JSON.parse((await cli(...words, '-o', 'json')).stdout) as Alert[];

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${open().url}${path}`, { ...init, headers: { 'User-Agent': 'contract/1.0', ...init.headers } });
    const text = await response.text();
    return { status: response.status, text, json: text === '' ? undefined : (JSON.parse(text) as unknown), headers: response.headers };
  };
  const logIn = (login = open().machine) =>
    ask('/v1/watchers/login', {
      method: 'POST',
      body: JSON.stringify({ machine_id: login.login, password: login.password, scenarios: [] }),
    });
  const asMachine = async (path: string) =>
    ask(path, { headers: { Authorization: `Bearer ${((await logIn()).json as { token: string }).token}` } });
  const asBouncer = (path: string, key = open().bouncerKey) => ask(path, { headers: { 'X-Api-Key': key } });

  beforeEach(async () => {
    await cli('alerts', 'delete', '--all');
  });

  describe('the local API', () => {
    it('says that it is up', async () => {
      const answer = await ask('/health');
      expect(answer).toMatchObject({ status: 200, text: '{"status":"up"}' });
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    });
    it('has no body for unknown paths and methods', async () => {
      expect(await ask('/nothing')).toMatchObject({ status: 404, text: '' });
      expect(await ask('/health', { method: 'POST' })).toMatchObject({ status: 405, text: '' });
    });
    it('lets a machine in for an hour', async () => {
      const answer = await logIn();
      expect(answer).toMatchObject({ status: 200, json: { code: 200, token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) } });
      const leftMs = Date.parse((answer.json as { expire: string }).expire) - Date.now();
      expect(leftMs).toBeGreaterThan(3_500_000);
      expect(leftMs).toBeLessThanOrEqual(3_600_000);
    });
    it('refuses a machine that it does not know, a wrong password, and a token that is none', async () => {
      expect(await logIn({ login: 'nobody', password: 'x' })).toMatchObject({ status: 401, json: { message: 'ent: machine not found' } });
      const wrong = await logIn({ login: open().machine.login, password: 'wrong' });
      expect(wrong).toMatchObject({ status: 401, json: { code: 401, message: 'incorrect Username or Password' } });
      expect(await ask('/v1/alerts')).toMatchObject({ status: 401, json: { code: 401, message: 'cookie token is empty' } });
      expect((await ask('/v1/alerts', { headers: { Authorization: 'Bearer bad' } })).status).toBe(401);
    });
    it('lists alerts, null where there are none', async () => {
      expect(await asMachine('/v1/alerts')).toMatchObject({ status: 200, text: 'null' });
      // One by one: what is added at once may be listed in any order.
      await add('192.0.2.30');
      await add('10.40.0.0/16', '-t', 'captcha');
      await add('192.0.2.31');
      await cli('decisions', 'delete', '-i', '192.0.2.31');
      const found = async (query: string) =>
        ((await asMachine(`/v1/alerts?${query}`)).json as Alert[] | null)?.map(({ source }) => source.value);
      expect(await found('include_capi=false&limit=0')).toEqual(['192.0.2.31', '10.40.0.0/16', '192.0.2.30']);
      expect(await found('has_active_decision=true&include_capi=true&limit=0')).toEqual(['10.40.0.0/16', '192.0.2.30']);
      expect(await found('limit=2')).toEqual(['192.0.2.31', '10.40.0.0/16']);
      expect(await found('has_active_decision=true&limit=0&origin=cscli')).toHaveLength(2);
      expect(await found('origin=nobody')).toBeUndefined();
    });
    it('gives bouncers with a key what is decided, and nobody else', async () => {
      const refusal = { status: 403, text: '{"message":"access forbidden"}' };
      expect(await ask('/v1/decisions')).toMatchObject(refusal);
      expect(await asBouncer('/v1/decisions', 'wrong')).toMatchObject(refusal);
      expect(await asBouncer('/v1/decisions')).toMatchObject({ status: 200, text: 'null' });
      await add('192.0.2.10');
      expect((await asBouncer('/v1/decisions')).json).toMatchObject([
        { value: '192.0.2.10', origin: 'cscli', scope: 'Ip', type: 'ban', duration: expect.stringMatching(/^3h59m|^4h0m0s/) },
      ]);
    });
  });

  describe('cscli', () => {
    const fatal = (words: string) =>
      old ? expect.stringContaining(`level=fatal msg=${JSON.stringify(words)}`) : expect.stringMatching(/^Error: cscli[ :]/);

    it('has nothing to list', async () => {
      expect(await cli('decisions', 'list')).toMatchObject({ exitCode: 0, stdout: 'No active decisions\n' });
      expect(await cli('decisions', 'list', '-o', 'json')).toMatchObject({ exitCode: 0, stdout: old ? 'null' : '[]\n' });
      const alerts = await cli('alerts', 'list', '-o', 'json');
      expect(alerts).toMatchObject({ exitCode: 0, stdout: old ? 'null' : expect.stringMatching(/^\[\]/) });
    });
    it('adds, and says so on stderr in words only', async () => {
      const human = await add('192.0.2.70');
      expect(human).toMatchObject({ exitCode: 0, stdout: '' });
      expect(human.stderr).toMatch(/level=info msg="Decision successfully added"\n$/);
      expect(await add('192.0.2.71', '-o', 'json')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    });
    it('lists alerts with their decisions; of several decisions about one value only the newest, and an empty alert', async () => {
      await add('192.0.2.72');
      await add('192.0.2.72');
      const alerts = await listed('decisions', 'list');
      expect(alerts.map(({ decisions }) => decisions?.length)).toEqual([1, 0]);
      expect(alerts[0]).toMatchObject({
        message: `manual 'ban' from '${open().machine.login}'`,
        source: { ip: '192.0.2.72', scope: 'Ip', value: '192.0.2.72' },
        decisions: [{ duration: expect.stringMatching(/^3h59m|^4h0m0s/), origin: 'cscli', scope: 'Ip', simulated: false, type: 'ban' }],
      });
      expect((await cli('decisions', 'list')).stdout).toContain('192.0.2.72');
      expect(await listed('alerts', 'list', '--value', '192.0.2.72', '--limit', '0')).toHaveLength(2);
    });
    it('shows an alert', async () => {
      await add('192.0.2.78', '-d', '24h', '-t', 'captcha', '-R', 'a, "quoted" reason');
      const [alert] = await listed('alerts', 'list');
      expect(alert).toMatchObject({
        machine_id: open().machine.login,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        decisions: [{ type: 'captcha', scenario: 'a, "quoted" reason', duration: expect.stringMatching(/^(?:23h59m|24h0m0s)/) }],
      });
      const inspected = JSON.parse((await cli('alerts', 'inspect', String(alert?.id), '-o', 'json')).stdout) as object;
      expect(inspected).toMatchObject({ id: alert?.id, source: { value: '192.0.2.78' } });
    });
    it('filters what it lists', async () => {
      await add('192.0.2.73');
      await add('10.60.0.0/16');
      const count = async (...argv: string[]) => ((await listed('decisions', 'list', ...argv)) ?? []).length;
      expect(await count('--limit', '0', '--origin', 'cscli')).toBe(2);
      expect(await count('--limit', '0', '--all')).toBe(2);
      expect(await count('--origin', 'lists')).toBe(0);
      expect(await count('-l', '1')).toBe(1);
    });
    it.each([
      ['an address that is none', ['decisions', 'add', '-i', 'notanip'], `notanip ${old ? "isn't" : 'is not'} a valid ip`],
      ['a range that is none', ['decisions', 'add', '-r', '192.0.2.1'], `192.0.2.1 ${old ? "isn't" : 'is not'} a valid range`],
      ['an unknown flag', ['decisions', 'add', '--bogus'], 'unknown flag: --bogus'],
      ['an unknown command', ['nonsense'], 'unknown command "nonsense" for "cscli"'],
      ['an unknown alert', ['alerts', 'inspect', '99999'], "can't find alert with id 99999: API error: object not found"],
    ])('refuses %s', async (_what, argv, words) => {
      const answer = await cli(...argv);
      expect(answer.exitCode).toBe(1);
      expect(answer.stderr).toEqual(fatal(words));
      if (!old) expect(answer.stderr.toLowerCase()).toContain(words.toLowerCase());
    });
    it('refuses to delete a decision that there is not, or all of them by accident', async () => {
      const unknown = await cli('decisions', 'delete', '--id', '99999');
      expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining("decision with id '99999' doesn't exist")]);
      const missing = await cli('decisions', 'delete');
      expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringMatching(/t least one filter or --all must be specified"?\n$/)]);
    });
    it('deletes nothing with success, counts on stderr, and leaves the alert', async () => {
      const nothing = await cli('decisions', 'delete', '-i', '192.0.2.76');
      expect(nothing).toMatchObject({ exitCode: 0, stdout: '' });
      expect(nothing.stderr).toMatch(/level=info msg="0 decision\(s\) deleted"\n$/);
      await add('192.0.2.77');
      await add('192.0.2.0/25');
      // What contains the address is ended with it.
      expect((await cli('decisions', 'delete', '-i', '192.0.2.77')).stderr).toMatch(/msg="2 decision\(s\) deleted"\n$/);
      expect((await listed('alerts', 'list')).map(({ decisions }) => decisions?.[0]?.duration)).toEqual(
        Array(2).fill(expect.stringMatching(/^(?:-|0s)/)),
      );
      // Adding takes a scope, deleting does not.
      expect((await cli('decisions', 'add', '--scope', 'Country', '--value', 'FR')).exitCode).toBe(0);
      const scoped = await cli('decisions', 'delete', '--scope', 'Country', '--value', 'FR');
      expect([scoped.exitCode, scoped.stderr]).toEqual([1, expect.stringContaining('unknown flag: --scope')]);
      expect((await cli('decisions', 'delete', '--value', 'FR')).stderr).toMatch(/msg="1 decision\(s\) deleted"\n$/);
      await add('192.0.2.79');
      const id = String((await listed('decisions', 'list'))[0]?.decisions?.[0]?.id);
      expect((await cli('decisions', 'delete', '--id', id)).stderr).toMatch(/msg="1 decision\(s\) deleted"\n$/);
      expect(await cli('decisions', 'delete', '--all', '-o', 'raw')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    });
    it('adds a bouncer and prints its key alone, once', async () => {
      const name = `bouncer${Date.now()}`;
      const key = (await cli('bouncers', 'add', name, '-o', 'raw')).stdout;
      expect(key).toMatch(/^[\w/+=-]{20,}$/);
      expect((await asBouncer('/v1/decisions', key)).status).toBe(200);
      const again = await cli('bouncers', 'add', name);
      expect(again.exitCode).toBe(1);
      expect(again.stderr).toContain(`unable to create bouncer: bouncer ${name} already exists`);
      const list = await cli('bouncers', 'list', '-o', 'json');
      const own = (JSON.parse(list.stdout) as Record<string, unknown>[]).find((bouncer) => bouncer.name === name);
      expect(own).toMatchObject({ revoked: false, type: 'contract', version: '1.0', auth_type: 'api-key' });
      expect(list.stdout).not.toContain(key);
      expect('api_key' in (own ?? {})).toBe(old);
      expect((await cli('bouncers', 'list')).stdout).toContain(name);
      expect((await cli('bouncers', 'delete', name)).exitCode).toBe(0);
      expect((await asBouncer('/v1/decisions', key)).status).toBe(403);
    });
    it('lists machines in a mix of spellings', async () => {
      const machines = JSON.parse((await cli('machines', 'list', '-o', 'json')).stdout) as Record<string, unknown>[];
      expect(machines).toContainEqual(
        expect.objectContaining({ machineId: open().machine.login, isValidated: true, auth_type: 'password' }),
      );
    });
    it('can talk to its own API', async () => {
      expect((await cli('lapi', 'status')).exitCode).toBe(0);
      expect((await cli('capi', 'status')).exitCode).toBe(1);
    });
    it('prints metrics as one object, or as several without anything between them', async () => {
      const { exitCode, stdout } = await cli('metrics', '-o', 'json');
      expect(exitCode).toBe(0);
      if (old) {
        expect(() => JSON.parse(stdout)).toThrow();
        expect((JSON.parse(`[${stdout.replaceAll('}{', '},{')}]`) as object[]).length).toBeGreaterThan(2);
      } else expect(Object.keys(JSON.parse(stdout) as object)).toEqual(expect.arrayContaining(['alerts', 'decisions', 'lapi']));
    });
    it('names its version', async () => {
      const { exitCode, stdout, stderr } = await cli('version');
      expect(exitCode).toBe(0);
      expect(old ? stderr : stdout).toMatch(new RegExp(`version: v${version.replaceAll('.', '\\.')}`));
    });
    it('knows its hub', async () => {
      const kinds = Object.keys(JSON.parse((await cli('hub', 'list', '-o', 'json')).stdout) as object);
      expect(kinds).toEqual(expect.arrayContaining(['collections', 'parsers', 'postoverflows', 'scenarios']));
    });
    it('has allowlists from 1.6.6 on', async () => {
      const list = await cli('allowlists', 'list', '-o', 'json');
      if (old) {
        expect([list.exitCode, list.stderr]).toEqual([
          1,
          expect.stringContaining(JSON.stringify('unknown command "allowlists" for "cscli"')),
        ]);
        return;
      }
      expect(list).toMatchObject({ exitCode: 0, stdout: '[]\n' });
      expect((await cli('allowlists', 'create', 'own', '-d', 'own addresses')).stdout).toBe("allowlist 'own' created successfully\n");
      await add('192.0.2.80');
      expect((await cli('allowlists', 'add', 'own', '192.0.2.0/24', '-d', 'lan')).stdout).toBe(
        'added 1 values to allowlist own\n1 decisions deleted by allowlists\n',
      );
      const item = '192.0.2.0/24 from own (lan)';
      expect((await cli('allowlists', 'check', '192.0.2.80')).stdout).toBe(`192.0.2.80 is allowlisted by item ${item}\n`);
      const refused = await add('192.0.2.80');
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toContain(`192.0.2.80 is allowlisted by item ${item}, use --bypass-allowlist to add the decision anyway`);
      expect((await add('192.0.2.80', '-B')).exitCode).toBe(0);
      expect(await listed('allowlists', 'list')).toMatchObject([
        {
          name: 'own',
          description: 'own addresses',
          items: [{ value: '192.0.2.0/24', expiration: expect.stringMatching(/^0001-01-01/) }],
        },
      ]);
      expect((await cli('allowlists', 'remove', 'own', '192.0.2.0/24')).stdout).toBe('removed 1 values from allowlist own');
      expect((await cli('allowlists', 'check', '192.0.2.80')).stdout).toBe('192.0.2.80 is not allowlisted\n');
      expect((await cli('allowlists', 'delete', 'own')).stdout).toBe("allowlist 'own' deleted successfully\n");
    });
    it('writes faults as JSON where that is asked of 1.4, and in words since', async () => {
      const { stderr } = await cli('decisions', 'add', '-i', 'notanip', '-o', 'json');
      if (old) expect(JSON.parse(stderr)).toMatchObject({ level: 'fatal', msg: "notanip isn't a valid ip" });
      else expect(stderr).toBe('Error: cscli decisions add: notanip is not a valid ip\n');
    });
  });
}
