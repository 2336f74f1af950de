import { beforeAll, beforeEach, describe, expect, it } from 'vitest';

/** A local API that somebody started empty, and how to reach it. */
export interface IntrusionPreventionServer {
  url: string;
  metricsUrl: string;
  machine: { login: string; password: string };
  bouncerKey: string;
  cscli(...argv: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }>;
}

/** What reference/crowdsec.md says of the two releases that are played. */
interface Expected {
  version: '1.4.6' | '1.7.8';
}

const goDuration = /^-?(?:\d+h)?(?:\d+m)?(?:\d+(?:\.\d+)?(?:s|ms|µs|ns))?$/;
const required =
  'capacity events events_count leakspeed message scenario scenario_hash scenario_version simulated source start_at stop_at'.split(' ');

/**
 * What every CrowdSec of this release does, be it the real one or the practice's. The server is taken as it is: each case begins by
 * removing all alerts, and uses addresses of its own.
 */
export function intrusionPreventionContract(open: () => IntrusionPreventionServer, { version }: Expected): void {
  const old = version === '1.4.6';
  let server: IntrusionPreventionServer;
  let token = '';

  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${server.url}${path}`, { ...init, headers: { 'User-Agent': 'contract/1.0', ...init.headers } });
    const text = await response.text();
    return { status: response.status, text, json: text === '' ? undefined : (JSON.parse(text) as unknown), headers: response.headers };
  };
  const asMachine = (path: string, init: RequestInit = {}) => ask(path, { ...init, headers: { Authorization: `Bearer ${token}` } });
  const asBouncer = (path: string, key = server.bouncerKey) => ask(path, { headers: { 'X-Api-Key': key } });
  const logIn = (body: string) => ask('/v1/watchers/login', { method: 'POST', body });
  const post = (alerts: unknown) => asMachine('/v1/alerts', { method: 'POST', body: JSON.stringify(alerts) });
  const alert = (value: string, rest: Record<string, unknown> = {}, decision: Record<string, unknown> = {}) => ({
    capacity: 0,
    decisions: [{ duration: '4h', origin: 'cscli', scenario: 'contract', scope: 'Ip', type: 'ban', value, ...decision }],
    events: [],
    events_count: 1,
    leakspeed: '0',
    message: 'contract',
    scenario: 'contract',
    scenario_hash: '',
    scenario_version: '',
    simulated: false,
    source: { scope: decision.scope ?? 'Ip', value },
    start_at: new Date().toISOString(),
    stop_at: new Date().toISOString(),
    ...rest,
  });

  beforeAll(async () => {
    server = open();
    const answer = await logIn(JSON.stringify({ machine_id: server.machine.login, password: server.machine.password }));
    token = (answer.json as { token: string }).token;
  });
  beforeEach(async () => {
    await asMachine('/v1/alerts', { method: 'DELETE' });
  });

  describe('without a login', () => {
    it('says that it is up', async () => {
      const answer = await ask('/health');
      expect(answer).toMatchObject({ status: 200, text: '{"status":"up"}' });
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    });
    it('has no body for unknown paths and methods', async () => {
      expect(await ask('/nothing')).toMatchObject({ status: 404, text: '' });
      expect(await ask('/health', { method: 'POST' })).toMatchObject({ status: 405, text: '' });
      expect(await ask('/v1/decisions', { method: 'PUT' })).toMatchObject({ status: 405, text: '' });
    });
    it('refuses alerts without and with a bad token', async () => {
      const answer = await ask('/v1/alerts');
      expect(answer).toMatchObject({ status: 401, json: { code: 401, message: 'cookie token is empty' } });
      expect(answer.headers.get('www-authenticate')).toBe('JWT realm=Crowdsec API local');
      const bad = await ask('/v1/alerts', { headers: { Authorization: 'Bearer bad' } });
      expect(bad.status).toBe(401);
      expect((bad.json as { message: string }).message).toContain('token contains an invalid number of segments');
    });
  });

  describe('machines', () => {
    it('log in for an hour', async () => {
      const answer = await logIn(JSON.stringify({ machine_id: server.machine.login, password: server.machine.password, scenarios: [] }));
      expect(answer).toMatchObject({ status: 200, json: { code: 200, token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) } });
      const leftMs = Date.parse((answer.json as { expire: string }).expire) - Date.now();
      expect(leftMs).toBeGreaterThan(3_500_000);
      expect(leftMs).toBeLessThanOrEqual(3_600_000);
    });
    it.each([
      ['{"machine_id":"nobody","password":"x"}', 'ent: machine not found'],
      ['{}', old ? 'input format error' : 'validation failure list:\nmachine_id in body is required\npassword in body is required'],
      ['', 'missing: EOF'],
      ['{', 'missing: unexpected EOF'],
    ])('are refused with %s', async (body, words) => {
      expect(await logIn(body)).toMatchObject({ status: 401, json: { code: 401, message: words } });
    });
    it('are refused with a wrong password', async () => {
      const answer = await logIn(JSON.stringify({ machine_id: server.machine.login, password: 'wrong' }));
      expect(answer).toMatchObject({ status: 401, json: { code: 401, message: 'incorrect Username or Password' } });
    });
    it('register once, and wait for validation', async () => {
      const body = JSON.stringify({ machine_id: `m${Date.now()}`, password: 'secretsecret' });
      const register = () => ask('/v1/watchers', { method: 'POST', body });
      expect(await register()).toMatchObject({ status: 201, text: '' });
      const name = (JSON.parse(body) as { machine_id: string }).machine_id;
      expect(await register()).toMatchObject({ status: 403, json: { message: `user '${name}': user already exist` } });
      expect(await logIn(body)).toMatchObject({ status: 401, json: { message: `machine ${name} not validated` } });
      await server.cscli('machines', 'delete', name);
    });
    it('send a heartbeat', async () => {
      expect(await asMachine('/v1/heartbeat')).toMatchObject({ status: 200, text: '' });
    });
  });

  describe('bouncers', () => {
    it('need their key; a machine does not do', async () => {
      const refusal = { status: 403, text: '{"message":"access forbidden"}' };
      expect(await ask('/v1/decisions')).toMatchObject(refusal);
      expect(await asBouncer('/v1/decisions', 'wrong')).toMatchObject(refusal);
      expect(await asMachine('/v1/decisions')).toMatchObject(refusal);
    });
    it('get null where there is nothing', async () => {
      expect(await asBouncer('/v1/decisions')).toMatchObject({ status: 200, text: 'null' });
    });
    it('get decisions by address, by what contains it and by what it contains', async () => {
      await post([
        alert('10.20.0.0/16', {}, { scope: 'Range' }),
        alert('FR', {}, { scope: 'Country' }),
        alert('192.0.2.9'),
        alert('2001:db8::1'),
      ]);
      const values = async (query: string) =>
        ((await asBouncer(`/v1/decisions?${query}`)).json as { value: string }[] | null)?.map(({ value }) => value) ?? null;
      expect(await values('ip=192.0.2.9')).toEqual(['192.0.2.9']);
      expect(await values('ip=10.20.1.1')).toEqual(['10.20.0.0/16']);
      expect(await values('ip=10.20.1.1&contains=false')).toBeNull();
      expect(await values('range=10.0.0.0/8')).toBeNull();
      expect(await values('range=10.0.0.0/8&contains=false')).toEqual(['10.20.0.0/16']);
      expect(await values('ip=2001:db8::1')).toEqual(['2001:db8::1']);
      expect(await values('scopes=ip,range')).toEqual(['10.20.0.0/16', '192.0.2.9', '2001:db8::1']);
      expect(await values('scopes=Country')).toEqual(['FR']);
      expect(await values('value=FR')).toEqual(['FR']);
      expect(await values('type=captcha')).toBeNull();
      expect(await values('origins=cscli,lists')).toHaveLength(4);
      expect(await values('origins=lists')).toBeNull();
      expect(await values('scenarios_containing=TRACT')).toHaveLength(4);
      expect(await values('nonsense=1')).toHaveLength(4);
    });
    it('get keys in their order and durations as Go writes them', async () => {
      await post([alert('192.0.2.10')]);
      const [decision] = (await asBouncer('/v1/decisions')).json as { duration: string }[];
      expect(Object.keys(decision ?? {})).toEqual(['duration', 'id', 'origin', 'scenario', 'scope', 'type', 'value']);
      expect(decision?.duration).toMatch(goDuration);
      expect(decision?.duration).toMatch(old ? /^3h59m5\d\.\d+s$/ : /^(?:3h59m5\ds|4h0m0s)$/);
    });
    it('are told what is wrong with a filter', async () => {
      const words = "unable to convert 'abc' to int: invalid address: invalid ip address / range";
      if (old) expect(await asBouncer('/v1/decisions?ip=abc')).toMatchObject({ status: 500, json: { message: words } });
      expect((await asBouncer('/v1/decisions?ip=abc')).status).toBe(500);
      const bad = await asBouncer('/v1/decisions?contains=abc');
      expect(bad.status).toBe(500);
      expect((bad.json as { message: string }).message).toMatch(
        /^invalid contains value ?: strconv\.ParseBool: parsing "abc": invalid syntax: invalid filter$/,
      );
    });
    it('do not see simulated decisions', async () => {
      await post([alert('192.0.2.11', { simulated: true })]);
      expect((await asBouncer('/v1/decisions')).text).toBe('null');
      expect((await asBouncer('/v1/decisions?simulated=true')).json).toHaveLength(1);
    });
    it('pull what is new and what is over, addresses and ranges only, each key for itself', async () => {
      const name = `puller${Date.now()}`;
      const key = (await server.cscli('bouncers', 'add', name, '-o', 'raw')).stdout.trim();
      type Pull = { new: { value: string }[] | null; deleted: { value: string; duration: string }[] | null };
      const pull = async (query = '') => (await asBouncer(`/v1/decisions/stream${query}`, key)).json as Pull;
      const values = (rows: { value: string }[] | null) => rows?.map(({ value }) => value) ?? null;
      expect(Object.keys(await pull('?startup=true'))).toEqual(old ? ['deleted', 'new'] : ['new', 'deleted']);
      await post([alert('192.0.2.12'), alert('DE', {}, { scope: 'Country' })]);
      expect(values((await pull()).new)).toEqual(['192.0.2.12']);
      const none = old ? null : [];
      expect((await pull()).new).toEqual(none);
      await asMachine('/v1/decisions?ip=192.0.2.12', { method: 'DELETE' });
      const after = await pull();
      expect(values(after.deleted)).toContain('192.0.2.12');
      expect(after.deleted?.find(({ value }) => value === '192.0.2.12')?.duration).toMatch(old ? /^-/ : /^-?\d/);
      expect((await pull('?startup=true')).new).toEqual(none);
      await server.cscli('bouncers', 'delete', name);
    });
  });

  describe('alerts', () => {
    it('are null where there are none', async () => {
      expect(await asMachine('/v1/alerts')).toMatchObject({ status: 200, text: 'null' });
    });
    it('name what is missing', async () => {
      const answer = await post([{}]);
      expect(answer.status).toBe(500);
      expect((answer.json as { message: string }).message).toBe(
        ['validation failure list:', ...required.map((key) => `0.${key} in body is required`)].join('\n'),
      );
      expect(await asMachine('/v1/alerts', { method: 'POST', body: '' })).toMatchObject({ status: 400, json: { message: 'EOF' } });
      expect(await post({})).toMatchObject({
        status: 400,
        json: { message: 'json: cannot unmarshal object into Go value of type models.AddAlertsRequest' },
      });
      expect(await post([])).toMatchObject({ status: 201, text: '[]' });
    });
    it('come back whole, by their id', async () => {
      const created = await post([
        alert('192.0.2.20', {
          labels: ['lost'],
          events: [{ timestamp: '2026-01-02T03:04:05Z', meta: [{ key: 'source_ip', value: '192.0.2.20' }] }],
        }),
      ]);
      expect(created).toMatchObject({ status: 201, text: expect.stringMatching(/^\["\d+"\]$/) });
      const [id] = created.json as string[];
      const one = (await asMachine(`/v1/alerts/${id}`)).json as Record<string, unknown>;
      const optional = ['kind', 'uuid', 'remediation'];
      expect(Object.keys(one).filter((key) => !optional.includes(key))).toEqual(
        'capacity created_at decisions events events_count id labels leakspeed machine_id message scenario scenario_hash scenario_version simulated source start_at stop_at'.split(
          ' ',
        ),
      );
      expect(one).toMatchObject({
        id: Number(id),
        labels: null,
        machine_id: server.machine.login,
        events: [{ meta: [{ key: 'source_ip', value: '192.0.2.20' }], timestamp: '2026-01-02 03:04:05 +0000 UTC' }],
        source: { scope: 'Ip', value: '192.0.2.20' },
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        start_at: expect.stringMatching(
          old ? /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \+0000 UTC$/ : /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
        ),
        decisions: [{ origin: 'cscli', scenario: 'contract', scope: 'Ip', simulated: false, type: 'ban', value: '192.0.2.20' }],
      });
      expect((await asMachine('/v1/alerts')).json).toHaveLength(1);
    });
    it('get the decision of the default profile when they bring none, counted from their end', async () => {
      const hourAgo = new Date(Date.now() - 3_600_000).toISOString().replace(/\.\d+/, '');
      await post([
        alert('192.0.2.21', { decisions: [], remediation: true, scenario: 'crowdsecurity/ssh-bf', start_at: hourAgo, stop_at: hourAgo }),
      ]);
      const [found] = (await asMachine('/v1/alerts')).json as { decisions: { duration: string; origin: string; type: string }[] }[];
      expect(found?.decisions).toMatchObject([{ origin: 'crowdsec', type: 'ban', duration: expect.stringMatching(/^2h59m|^3h0m0/) }]);
    });
    it('have null for no decision, unless remediation is wanted', async () => {
      await post([alert('192.0.2.22', { decisions: [] })]);
      expect((await asMachine('/v1/alerts')).json).toMatchObject([{ decisions: null, events: null }]);
    });
    it('refuse a duration in days until 1.6.8, and take them since', async () => {
      const answer = await post([alert('192.0.2.23', {}, { duration: '7d' })]);
      const words = `unable to create alerts: decision duration '7d' : time: unknown unit "d" in duration "7d": unable to parse duration`;
      if (old) expect(answer).toMatchObject({ status: 500, json: { message: words } });
      else expect(answer.status).toBe(201);
    });
    it('refuse an address that is none, or leave it out', async () => {
      const answer = await post([alert('notip')]);
      const words = 'unable to create alerts: invalid addr/range notip : invalid address: unable to parse duration';
      if (old) expect(answer).toMatchObject({ status: 500, json: { message: words } });
      else expect(answer).toMatchObject({ status: 201, json: [] });
      expect((await asMachine('/v1/alerts')).json).toBeNull();
    });
    it('can be filtered', async () => {
      const hourAgo = new Date(Date.now() - 7_200_000).toISOString().replace(/\.\d+/, '');
      // One by one: what comes in one request may be listed in any order.
      await post([alert('192.0.2.30')]);
      await post([alert('10.40.0.0/16', {}, { scope: 'Range', type: 'captcha' })]);
      await post([alert('192.0.2.31', { decisions: [], start_at: hourAgo, stop_at: hourAgo })]);
      await post([alert('192.0.2.32', { simulated: true }, { origin: 'crowdsec', scenario: 'crowdsecurity/ssh-bf' })]);
      const found = async (query: string) =>
        ((await asMachine(`/v1/alerts?${query}`)).json as { source: { value: string } }[] | null)?.map(({ source }) => source.value) ??
        null;
      expect(await found('')).toEqual(['192.0.2.32', '192.0.2.31', '10.40.0.0/16', '192.0.2.30']);
      expect(await found('has_active_decision=true')).toEqual(['192.0.2.32', '10.40.0.0/16', '192.0.2.30']);
      expect(await found('has_active_decision=false')).toEqual(['192.0.2.31']);
      expect(await found('ip=192.0.2.30')).toEqual(['192.0.2.30']);
      expect(await found('ip=10.40.7.7')).toEqual(['10.40.0.0/16']);
      expect(await found('range=10.0.0.0/8&contains=false')).toEqual(['10.40.0.0/16']);
      expect(await found('scope=range')).toEqual(['10.40.0.0/16']);
      expect(await found('value=192.0.2.31')).toEqual(['192.0.2.31']);
      expect(await found('decision_type=captcha')).toEqual(['10.40.0.0/16']);
      expect(await found('origin=crowdsec')).toEqual(['192.0.2.32']);
      expect(await found('scenario=crowdsecurity/ssh-bf')).toEqual(['192.0.2.32']);
      expect(await found('simulated=false')).toEqual(['192.0.2.31', '10.40.0.0/16', '192.0.2.30']);
      expect(await found('since=1h')).toEqual(['192.0.2.32', '10.40.0.0/16', '192.0.2.30']);
      expect(await found('until=1h')).toEqual(['192.0.2.31']);
      expect(await found('since=30d')).toHaveLength(4);
      expect(await found('limit=2')).toEqual(['192.0.2.32', '192.0.2.31']);
      expect(await found('limit=0')).toHaveLength(4);
      expect(await found('origin=nobody')).toBeNull();
    });
    it.each([
      ['has_active_decision=x', `'x' is not a boolean: strconv.ParseBool: parsing "x": invalid syntax: unable to parse type`],
      ['limit=x', 'bad limit in parameters: [x]: unable to query'],
      ['foo=1', `${old ? 'Filter' : 'filter'} parameter 'foo' is unknown (=1): invalid filter`],
    ])('say what is wrong with the filter %s', async (query, words) => {
      expect(await asMachine(`/v1/alerts?${query}`)).toMatchObject({ status: 500, json: { message: words } });
    });
    it('that are unknown are not found, or no numbers', async () => {
      expect(await asMachine('/v1/alerts/99999')).toMatchObject({ status: 404, json: { message: 'object not found' } });
      expect(await asMachine('/v1/alerts/abc')).toMatchObject({ status: 400, json: { message: 'alert_id must be valid integer' } });
      expect(await asMachine('/v1/alerts/99999', { method: 'DELETE' })).toMatchObject({
        status: 500,
        json: { message: 'ent: alert not found' },
      });
    });
    it('take their decisions with them; the count is a text', async () => {
      const [id] = (await post([alert('192.0.2.40')])).json as string[];
      expect(await asMachine(`/v1/alerts/${id}`, { method: 'DELETE' })).toMatchObject({ status: 200, text: '{"nbDeleted":"1"}' });
      expect((await asBouncer('/v1/decisions')).text).toBe('null');
      await post([alert('192.0.2.41'), alert('192.0.2.42')]);
      expect(await asMachine('/v1/alerts', { method: 'DELETE' })).toMatchObject({ status: 200, text: '{"nbDeleted":"2"}' });
    });
  });

  describe('deleting decisions', () => {
    it('ends them now and counts as text; their alerts stay', async () => {
      await post([alert('192.0.2.50')]);
      expect((await asMachine('/v1/decisions?ip=192.0.2.50', { method: 'DELETE' })).text).toBe('{"nbDeleted":"1"}');
      expect((await asMachine('/v1/decisions?ip=192.0.2.50', { method: 'DELETE' })).text).toBe('{"nbDeleted":"0"}');
      expect((await asBouncer('/v1/decisions')).text).toBe('null');
      const [left] = (await asMachine('/v1/alerts')).json as { decisions: { duration: string }[] }[];
      expect(left?.decisions[0]?.duration).toMatch(old ? /^-/ : /^(?:-|0s)/);
    });
    it('works by id, also of what is over; an unknown id is a fault', async () => {
      await post([alert('192.0.2.51')]);
      const [{ id } = { id: 0 }] = (await asBouncer('/v1/decisions')).json as { id: number }[];
      expect((await asMachine(`/v1/decisions/${id}`, { method: 'DELETE' })).text).toBe('{"nbDeleted":"1"}');
      expect((await asMachine(`/v1/decisions/${id}`, { method: 'DELETE' })).text).toBe('{"nbDeleted":"1"}');
      const unknown = { status: 500, json: { message: "decision with id '99999' doesn't exist: unable to delete" } };
      expect(await asMachine('/v1/decisions/99999', { method: 'DELETE' })).toMatchObject(unknown);
      expect(await asMachine('/v1/decisions/abc', { method: 'DELETE' })).toMatchObject({
        status: 400,
        json: { message: 'decision_id must be valid integer' },
      });
    });
    it('refuses a filter that it does not know', async () => {
      expect(await asMachine('/v1/decisions?foo=1', { method: 'DELETE' })).toMatchObject({
        status: 500,
        json: { message: "'foo' doesn't exist: invalid filter" },
      });
      expect((await ask('/v1/decisions?ip=192.0.2.1', { method: 'DELETE' })).status).toBe(401);
    });
  });

  describe('metrics', () => {
    it('tell alerts and requests in the form of Prometheus', async () => {
      await post([alert('192.0.2.60')]);
      await asBouncer('/v1/decisions');
      const text = await (await fetch(`${server.metricsUrl}/metrics`)).text();
      expect(text).toMatch(/^cs_info\{version="v[\d.]+/m);
      expect(text).toMatch(/^cs_lapi_machine_requests_total\{machine="[^"]+",method="POST",route="\/v1\/alerts"\} \d+$/m);
      expect(text).toMatch(/^cs_lapi_decisions_ok_total\{bouncer="[^"]+"\} \d+$/m);
    });
  });

  describe('cscli', () => {
    const cli = (...argv: string[]) => server.cscli(...argv);
    const fatal = (words: string) =>
      old ? expect.stringContaining(`level=fatal msg=${JSON.stringify(words)}`) : expect.stringMatching(/^Error: cscli[ :]/);

    it('has nothing to list', async () => {
      expect(await cli('decisions', 'list')).toMatchObject({ exitCode: 0, stdout: 'No active decisions\n' });
      expect(await cli('decisions', 'list', '-o', 'json')).toMatchObject({ exitCode: 0, stdout: old ? 'null' : '[]\n' });
      expect(await cli('alerts', 'list', '-o', 'json')).toMatchObject({
        exitCode: 0,
        stdout: old ? 'null' : expect.stringMatching(/^\[\]/),
      });
      expect((await cli('decisions', 'list', '-o', 'raw')).stdout).toBe(
        'id,source,ip,reason,action,country,as,events_count,expiration,simulated,alert_id\n',
      );
    });
    it('adds, and says so on stderr in words only', async () => {
      const human = await cli('decisions', 'add', '-i', '192.0.2.70');
      expect(human).toMatchObject({ exitCode: 0, stdout: '' });
      expect(human.stderr).toMatch(/level=info msg="Decision successfully added"\n$/);
      expect(await cli('decisions', 'add', '--ip', '192.0.2.71', '-o', 'json')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    });
    it('lists alerts with their decisions; of several decisions about one value only the newest, and an empty alert', async () => {
      await cli('decisions', 'add', '-i', '192.0.2.72');
      await cli('decisions', 'add', '-i', '192.0.2.72');
      const { stdout } = await cli('decisions', 'list', '-o', 'json');
      const alerts = JSON.parse(stdout) as { decisions: unknown[]; message: string; source: unknown }[];
      expect(alerts.map(({ decisions }) => decisions.length)).toEqual([1, 0]);
      expect(alerts[0]).toMatchObject({
        message: `manual 'ban' from '${server.machine.login}'`,
        source: { ip: '192.0.2.72', scope: 'Ip', value: '192.0.2.72' },
      });
      const human = await cli('decisions', 'list');
      expect(human.stdout).toMatch(/\n1 duplicated entries skipped\n$/);
      expect(human.stdout).toMatch(/\| Ip:192\.0\.2\.72 +\|/);
    });
    it('writes CSV that needs a reader of CSV', async () => {
      await cli('decisions', 'add', '-r', '192.0.2.0/25', '-d', '24h', '-t', 'captcha', '-R', 'a, "quoted" reason');
      const { stdout } = await cli('decisions', 'list', '-o', 'raw', '-m');
      expect(stdout.split('\n')[1]).toMatch(
        new RegExp(
          `^\\d+,cscli,Range:192\\.0\\.2\\.0/25,"a, ""quoted"" reason",captcha,,,1,2[34]h\\S+s,false,\\d+,${server.machine.login}$`,
        ),
      );
    });
    it('knows scopes of any name', async () => {
      await cli('decisions', 'add', '--scope', 'country', '-v', 'FR');
      await cli('decisions', 'add', '--scope', 'username', '-v', 'root');
      const { stdout } = await cli('decisions', 'list', '-o', 'raw');
      expect(stdout).toContain(',username:root,');
      expect(stdout).toContain(',Country:FR,');
    });
    it('filters what it lists', async () => {
      await cli('decisions', 'add', '-i', '192.0.2.73');
      await cli('decisions', 'add', '-r', '10.60.0.0/16', '-t', 'captcha');
      const count = async (...argv: string[]) =>
        (await cli('decisions', 'list', '-o', 'raw', ...argv)).stdout.trim().split('\n').length - 1;
      expect(await count('-i', '192.0.2.73')).toBe(1);
      expect(await count('-i', '192.0.2.74')).toBe(0);
      expect(await count('--contained', '-r', '10.0.0.0/8')).toBe(1);
      expect(await count('--type', 'captcha')).toBe(1);
      expect(await count('--scope', 'ip')).toBe(1);
      expect(await count('--origin', 'cscli')).toBe(2);
      expect(await count('--until', '1h')).toBe(0);
      expect(await count('-l', '1')).toBe(1);
    });
    it.each([
      ['an address that is none', ['decisions', 'add', '-i', 'notanip'], `notanip ${old ? "isn't" : 'is not'} a valid ip`],
      ['a range that is none', ['decisions', 'add', '-r', '192.0.2.1'], `192.0.2.1 ${old ? "isn't" : 'is not'} a valid range`],
      [
        'an unknown id',
        ['decisions', 'delete', '--id', '99999'],
        "Unable to delete decision : API error: decision with id '99999' doesn't exist: unable to delete",
      ],
      [
        'an id that is no number',
        ['decisions', 'delete', '--id', 'abc'],
        `id 'abc' is not an integer: strconv.Atoi: parsing "abc": invalid syntax`,
      ],
      ['an unknown flag', ['decisions', 'add', '--bogus'], 'unknown flag: --bogus'],
      ['an unknown command', ['nonsense'], 'unknown command "nonsense" for "cscli"'],
      ['an unknown alert', ['alerts', 'inspect', '99999'], "can't find alert with id 99999: API error: object not found"],
    ])('refuses %s', async (_what, argv, words) => {
      const answer = await cli(...argv);
      const showsUsage = !old && argv[0] === 'nonsense';
      expect(answer).toMatchObject({ exitCode: 1, stdout: showsUsage ? expect.stringContaining('Usage:') : '' });
      expect(answer.stderr).toEqual(fatal(words));
      if (!old) expect(answer.stderr.toLowerCase()).toContain(words.toLowerCase().replace(' : ', ': '));
    });
    it('shows its usage where a target or a filter is missing', async () => {
      const add = await cli('decisions', 'add');
      expect(add.exitCode).toBe(1);
      expect(add.stderr).toMatch(/issing arguments, a value is required \(--ip, --range or --scope and --value\)"?\n$/);
      const remove = await cli('decisions', 'delete');
      expect(remove.exitCode).toBe(1);
      expect(remove.stdout).toContain('Usage:');
      expect(remove.stderr).toMatch(/t least one filter or --all must be specified"?\n$/);
    });
    it('takes days for a duration, or names the unit that it does not know', async () => {
      const answer = await cli('decisions', 'add', '-i', '192.0.2.75', '-d', '7d');
      if (!old) expect(answer.exitCode).toBe(0);
      else
        expect(answer.stderr).toContain(
          JSON.stringify(
            `API error: unable to create alerts: decision duration '7d' : time: unknown unit "d" in duration "7d": unable to parse duration`,
          ),
        );
    });
    it('deletes nothing with success, and counts on stderr', async () => {
      const nothing = await cli('decisions', 'delete', '-i', '192.0.2.76');
      expect(nothing).toMatchObject({ exitCode: 0, stdout: '' });
      expect(nothing.stderr).toMatch(/level=info msg="0 decision\(s\) deleted"\n$/);
      await cli('decisions', 'add', '-i', '192.0.2.77');
      await cli('decisions', 'add', '-i', '192.0.2.77');
      expect((await cli('decisions', 'delete', '-i', '192.0.2.77')).stderr).toMatch(/msg="2 decision\(s\) deleted"\n$/);
      // Adding takes a scope, deleting does not.
      expect((await cli('decisions', 'add', '--scope', 'Country', '--value', 'FR')).exitCode).toBe(0);
      const scoped = await cli('decisions', 'delete', '--scope', 'Country', '--value', 'FR');
      expect([scoped.exitCode, scoped.stderr]).toEqual([1, expect.stringContaining('unknown flag: --scope')]);
      expect((await cli('decisions', 'delete', '--value', 'FR')).stderr).toMatch(/msg="1 decision\(s\) deleted"\n$/);
      expect(await cli('decisions', 'delete', '--all', '-o', 'raw')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    });
    it('lists alerts', async () => {
      await cli('decisions', 'add', '-i', '192.0.2.78');
      const raw = (await cli('alerts', 'list', '-o', 'raw')).stdout.split('\n');
      expect(raw[0]).toMatch(/^id,scope,value,reason,country,as,decisions,created_at/);
      expect(raw[1]).toMatch(/^\d+,Ip,192\.0\.2\.78,manual 'ban' from '[^']+',,,ban:1,/);
      expect(JSON.parse((await cli('alerts', 'list', '-o', 'json')).stdout)).toHaveLength(1);
      const id = raw[1]?.split(',')[0] ?? '';
      expect((await cli('alerts', 'inspect', id)).stdout).toMatch(/^ - Scope:Value *: Ip:192\.0\.2\.78$/m);
      expect(JSON.parse((await cli('alerts', 'inspect', id, '-o', 'json')).stdout)).toMatchObject({ id: Number(id) });
      expect((await cli('alerts', 'delete', '--id', id)).stderr).toMatch(/msg="1 alert\(s\) deleted"\n$/);
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
      const human = await cli('bouncers', 'list');
      expect(human.stdout).toContain(name);
      if (old) expect(human.stderr).toContain('You are using sqlite without WAL');
      expect((await cli('bouncers', 'delete', name)).exitCode).toBe(0);
      expect((await asBouncer('/v1/decisions', key)).status).toBe(403);
    });
    it('lists machines in a mix of spellings', async () => {
      const machines = JSON.parse((await cli('machines', 'list', '-o', 'json')).stdout) as Record<string, unknown>[];
      expect(machines).toContainEqual(
        expect.objectContaining({ machineId: server.machine.login, isValidated: true, auth_type: 'password' }),
      );
      const raw = (await cli('machines', 'list', '-o', 'raw')).stdout.split('\n');
      expect(raw[0]).toMatch(/^machine_id,ip_address,updated_at,validated,version,auth_type,last_heartbeat/);
    });
    it('can talk to its own API, which it says in words only', async () => {
      const status = await cli('lapi', 'status');
      expect(status.exitCode).toBe(0);
      expect(old ? status.stderr : status.stdout).toContain('You can successfully interact with Local API (LAPI)');
      expect((await cli('capi', 'status')).exitCode).toBe(1);
    });
    it('prints metrics as one object, or as nine without anything between them', async () => {
      const { exitCode, stdout } = await cli('metrics', '-o', 'json');
      expect(exitCode).toBe(0);
      if (old) {
        expect(() => JSON.parse(stdout)).toThrow();
        expect(JSON.parse(`[${stdout.replaceAll('}{', '},{')}]`)).toHaveLength(9);
      } else
        expect(Object.keys(JSON.parse(stdout) as object)).toEqual(
          expect.arrayContaining(['acquisition', 'alerts', 'decisions', 'lapi', 'lapi-machine', 'parsers', 'scenarios']),
        );
    });
    it('names its version', async () => {
      const { exitCode, stdout, stderr } = await cli('version');
      expect(exitCode).toBe(0);
      expect(old ? stderr : stdout).toMatch(new RegExp(`version: v${version.replaceAll('.', '\\.')}`));
    });
    it('imports no file that is not there', async () => {
      const answer = await cli('decisions', 'import', '-i', '/nowhere.csv');
      expect(answer.exitCode).toBe(1);
      expect(answer.stderr).toMatch(/unable to open '?\/nowhere\.csv'?: open \/nowhere\.csv: no such file or directory/);
    });
    it('knows its hub', async () => {
      const kinds = Object.keys(JSON.parse((await cli('hub', 'list', '-o', 'json')).stdout) as object);
      expect(kinds).toEqual(expect.arrayContaining(['collections', 'parsers', 'postoverflows', 'scenarios']));
    });
    it('has allowlists from 1.6.6 on', async () => {
      const list = await cli('allowlists', 'list', '-o', 'json');
      if (old) {
        expect(list.exitCode).toBe(1);
        expect(list.stderr).toContain(JSON.stringify('unknown command "allowlists" for "cscli"'));
        expect(await asMachine('/v1/allowlists')).toMatchObject({ status: 404, text: '' });
        return;
      }
      expect(list).toMatchObject({ exitCode: 0, stdout: '[]\n' });
      expect((await cli('allowlists', 'create', 'own', '-d', 'own addresses')).stdout).toBe("allowlist 'own' created successfully\n");
      await cli('decisions', 'add', '-i', '192.0.2.80');
      expect((await cli('allowlists', 'add', 'own', '192.0.2.0/24', '-d', 'lan')).stdout).toBe(
        'added 1 values to allowlist own\n1 decisions deleted by allowlists\n',
      );
      expect((await asMachine('/v1/allowlists/check/192.0.2.80')).json).toEqual({
        allowlisted: true,
        reason: '192.0.2.0/24 from own (lan)',
      });
      expect((await asMachine('/v1/allowlists/check/198.51.100.1')).json).toEqual({});
      const refused = await cli('decisions', 'add', '-i', '192.0.2.80');
      expect(refused.exitCode).toBe(1);
      expect(refused.stderr).toContain(
        '192.0.2.80 is allowlisted by item 192.0.2.0/24 from own (lan), use --bypass-allowlist to add the decision anyway',
      );
      expect((await cli('decisions', 'add', '-i', '192.0.2.80', '-B')).exitCode).toBe(0);
      expect(JSON.parse((await cli('allowlists', 'list', '-o', 'json')).stdout)).toMatchObject([
        {
          name: 'own',
          description: 'own addresses',
          items: [{ value: '192.0.2.0/24', expiration: expect.stringMatching(/^0001-01-01/) }],
        },
      ]);
      expect((await cli('allowlists', 'list', '-o', 'raw')).stdout).toMatch(
        /^name,description,created_at,updated_at,console_managed,size\nown,own addresses,\S+,\S+,false,1\n$/,
      );
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
