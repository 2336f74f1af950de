import { afterEach, describe, expect, test } from 'vitest';
import { CrowdsecFixture } from '../../../test/doubles/crowdsec-fixture.ts';
import { engineView } from '../../../test/doubles/fleet-double.ts';
import { OperatorDouble } from '../../../test/doubles/operator-double.ts';
import { Fault } from '../../faults/fault.ts';
import type { Question } from '../../session/session.ts';

let fixture: CrowdsecFixture;
const open = async (...how: Parameters<typeof CrowdsecFixture.open>) => (fixture = await CrowdsecFixture.open(...how));
afterEach(() => fixture.close());

/** Accepts the default unless an answer is set; cancels at the named step. */
class Person extends OperatorDouble {
  away = '';
  override async ask(question: Question): Promise<string | readonly string[]> {
    if (question.id === this.away) {
      this.asked.push(question);
      throw new Fault('interrupted.cancelled', 'Left.', 'Come back.');
    }
    const given = this.answers[question.id]?.[0];
    if (given !== undefined) return super.ask(question);
    this.asked.push(question);
    if (question.kind === 'choice' && question.initial === undefined) return question.choices[0]?.value ?? '';
    return (question as { initial?: string }).initial ?? '';
  }
}
function person(answers: Record<string, string> = {}, away = ''): Person {
  const one = new Person();
  one.answers = Object.fromEntries(Object.entries(answers).map(([step, answer]) => [step, [answer]]));
  one.away = away;
  return one;
}
/** An operator who answers nothing that was not set in advance. */
class Nobody extends OperatorDouble {
  constructor() {
    super('unattended');
  }
  override async ask(question: Question): Promise<string | readonly string[]> {
    this.asked.push(question);
    throw new Fault('usage.unanswered', 'Nobody is there.', 'Say it.');
  }
}

/** Adds a decision of four hours that neither the server nor its cscli created. */
function addElsewhere(origin: string, value: string): void {
  const { store } = fixture.played;
  const rest = { scenario: 'other', scope: 'Ip', value };
  const alert = { machine: 'N/A', message: 'other', scenario: 'other', source: { scope: 'Ip', value } };
  store.addAlert(alert, [{ ...rest, origin, type: 'ban', untilMs: Date.now() + 4 * 3_600_000 }]);
}

describe.each(['1.7.8', '1.4.6'] as const)('banning on CrowdSec %s (R63)', (version) => {
  test('an address: asked for, for how long and why; then it is in force, and the audit has the request', async () => {
    await open({ version });
    const { message, data } = await fixture.run('ban', [], {
      operator: person({ target: '203.0.113.7', duration: '7d', reason: 'tries "passwords", again' }),
    });
    expect(message).toMatch(/^203\.0\.113\.7 is banned for (?:7d|168h)\..*no bouncer|^203\.0\.113\.7 is banned for (?:7d|168h)\./);
    expect(data).toMatchObject({ scope: 'Ip', value: '203.0.113.7', type: 'ban', reason: 'tries "passwords", again' });
    expect(fixture.operator.asked.map(({ id }) => id)).toEqual(['target', 'duration', 'reason']);
    expect(fixture.operator.confirmations).toEqual([]);
    expect(fixture.changes()).toEqual(['decisions add --ip 203.0.113.7 --duration 168h --reason tries "passwords", again']);
    const list = await fixture.run('decisions');
    expect(list.data).toMatchObject({ decisions: [{ value: '203.0.113.7', origin: 'cscli', type: 'ban' }] });
    expect((await fixture.audited()).filter(({ act }) => act === 'ban').map(({ phase, outcome }) => [phase, outcome])).toEqual([
      ['before', undefined],
      ['after', 'done'],
    ]);
  });

  test('with all words given nobody has to be there; a second time nothing is sent', async () => {
    await open({ version });
    const words = ['203.0.113.0/24'];
    await fixture.run('ban', words, { options: { for: '24h', reason: 'scans' }, operator: new Nobody() });
    const again = await fixture.run('ban', words, { options: { for: '24h', reason: 'scans' }, operator: new Nobody() });
    expect(fixture.changes()).toHaveLength(1);
    expect(again.message).toMatch(/^203\.0\.113\.0\/24 is already banned until .* \((?:24h|23h)/);
  });

  test('from a line with an address: two more answers, and both stand there already', async () => {
    await open({ version, around: { ssh: '198.51.100.9 50000 203.0.113.80 22' } });
    const operator = person();
    await fixture.run('ban', [], {
      options: { among: '198.51.100.9 203.0.113.7 203.0.113.80', because: 'seen in the log of proxy' },
      operator,
    });
    expect(operator.asked.map(({ id }) => id)).toEqual(['duration', 'reason']);
    expect(fixture.changes()).toEqual(['decisions add --ip 203.0.113.7 --duration 4h --reason seen in the log of proxy']);
  });

  test('lifting it; lifting it again says that there is nothing', async () => {
    await open({ version });
    await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    const { message } = await fixture.run('unban', ['203.0.113.7'], { operator: new Nobody() });
    expect(message).toBe('203.0.113.7 is no longer blocked.');
    expect(fixture.changes().at(-1)).toBe('decisions delete --ip 203.0.113.7');
    expect((await fixture.run('decisions')).data).toEqual({ decisions: [] });
    expect((await fixture.run('unban', ['203.0.113.7'])).message).toBe('203.0.113.7 is not banned.');
  });

  test('lifting the ban of an address that is also in a banned range asks, and does what is said', async () => {
    await open({ version });
    for (const target of ['203.0.113.7', '203.0.113.0/24']) await fixture.run('ban', [target], { operator: person() });
    const own = await fixture.run('unban', ['203.0.113.7'], { operator: person({ around: 'own' }) });
    expect(fixture.operator.asked[0]?.label).toContain('203.0.113.0/24');
    expect(own.message).toMatch(/still blocked: 203\.0\.113\.0\/24/);
    const both = await fixture.run('unban', ['203.0.113.7'], { operator: person() });
    expect(both.message).toBe('203.0.113.7 is no longer blocked. The ban on 203.0.113.0/24 was lifted.');
    for (const target of ['203.0.113.7', '203.0.113.0/24']) await fixture.run('ban', [target], { operator: person() });
    const unattended = await fixture.run('unban', ['203.0.113.7'], { operator: new Nobody() });
    expect(unattended.message).toContain('The ban on 203.0.113.0/24 was also lifted.');
  });

  test('a country is confirmed, with what nobody can see from here', async () => {
    await open({ version, around: { ssh: '198.51.100.9 50000 203.0.113.80 22' } });
    await fixture.run('ban', ['fr'], { operator: person() });
    expect(fixture.operator.confirmations[0]?.consequences.join(' ')).toMatch(/France.*198\.51\.100\.9.*lock yourself out/);
    expect(fixture.changes()[0]).toContain('--scope Country --value FR');
    const { message } = await fixture.run('unban', ['FR'], { operator: new Nobody() });
    expect(message).toBe('France (FR) is no longer blocked.');
  });
});

describe.each(['1.7.8', '1.4.6'] as const)('what others decide at the same time, on CrowdSec %s (R63)', (version) => {
  const add = (value: string, duration: string) =>
    fixture.cscli('decisions', 'add', '--ip', value, '--duration', duration, '--reason', 'another console');
  const ban = (hours: string, how: { operator?: OperatorDouble; options?: Record<string, string | boolean> } = {}) =>
    fixture.run('ban', ['203.0.113.7'], { operator: how.operator ?? new Nobody(), options: { for: hours, ...how.options } });
  const lasting = async () =>
    ((await fixture.run('decisions')).data as { decisions: { value: string; until: string }[] }).decisions.map(({ until }) =>
      Math.round((Date.parse(until) - Date.now()) / 3_600_000),
    );

  test('a shorter ban that another console adds right behind it is no failure of this one', async () => {
    await open({ version });
    let added = false;
    fixture.engine.before = (argv) => {
      if (added || fixture.changes().length === 0 || argv.includes('add')) return;
      added = true;
      void add('203.0.113.7', '1h');
    };
    expect((await ban('24h')).message).toMatch(/^203\.0\.113\.7 is banned for (?:24h|23h)/);
    expect(added).toBe(true);
  });

  test('a refusal of the server counts only where the address is not banned by then', async () => {
    await open({ version });
    const broken = new Fault('failed.crowdsec', 'CrowdSec did not: database is locked.', 'Look.');
    let others = false;
    fixture.engine.before = (argv) => {
      if (!argv.includes('add') || argv.at(-1) === 'another console') return;
      if (others) void add('203.0.113.7', '24h');
      throw broken;
    };
    await expect(ban('4h')).rejects.toBe(broken);
    others = true;
    expect((await ban('4h')).message).toMatch(
      /^203\.0\.113\.7 is already banned until .*24h|^203\.0\.113\.7 is already banned until .*23h/,
    );
  });

  test('one that lasts as long already is reported as such', async () => {
    await open({ version });
    await add('203.0.113.7', '4h');
    const { message, data } = await ban('4h');
    expect(message).toMatch(/^203\.0\.113\.7 is already banned until \d{4}-\d\d-\d\d \d\d:\d\d UTC \((?:4h|3h59m) left\)\.$/);
    expect(data).toMatchObject({ until: expect.any(String), sent: false });
    expect(fixture.changes()).toEqual([]);
  });

  test('a shorter one over a longer one is not sent, and that is said; with --replace it takes its place', async () => {
    await open({ version });
    await add('203.0.113.7', '24h');
    await add('203.0.113.7', '1h');
    const kept = await ban('4h');
    expect(kept.message).toMatch(
      /^203\.0\.113\.7 is already banned until .* \((?:24h|23h59m) left\)\. The ban for 4h was not sent.*--replace/,
    );
    expect(fixture.changes()).toEqual([]);
    const { message } = await ban('4h', { options: { replace: true } });
    expect(message).toMatch(/^203\.0\.113\.7 is banned for (?:4h|3h59m)\./);
    expect(fixture.changes()).toEqual(['decisions add --ip 203.0.113.7 --duration 4h', 'decisions delete --id 1']);
    expect(await lasting()).toEqual([4]);
  });

  test('an operator is asked whether the shorter one replaces the longer', async () => {
    await open({ version });
    await add('203.0.113.7', '24h');
    const kept = await ban('4h', { operator: person() });
    expect(fixture.operator.asked.at(-1)).toMatchObject({
      id: 'longer',
      label: expect.stringMatching(/already banned until .*24h left|23h59m left/),
    });
    expect(kept.message).toContain('The ban for 4h was not sent');
    await ban('4h', { operator: person({ longer: 'replace' }) });
    expect(await lasting()).toEqual([4]);
  });

  test('imported decisions are listed by their origin and counted apart; those of lists are not', async () => {
    await open({ version, blocklist: 5 });
    await add('203.0.113.7', '4h');
    for (const value of ['203.0.113.60', '203.0.113.61']) addElsewhere('cscli-import', value);
    const { message, data } = await fixture.run('decisions');
    expect(message).toBe('3 decisions active (cscli 1, cscli-import 2), excluding shared lists (--all includes them).');
    expect(
      (data as { decisions: { value: string; origin: string }[] }).decisions.map(({ value, origin }) => `${value} ${origin}`).sort(),
    ).toEqual(['203.0.113.60 cscli-import', '203.0.113.61 cscli-import', '203.0.113.7 cscli']);
    const all = await fixture.run('decisions', [], { options: { all: true } });
    expect(all.message).toMatch(/^8 decisions active \(cscli 1, cscli-import 2, (?:CAPI|lists) 5\)\.$/);
    // This manual ban expires before an imported one.
    expect((await fixture.run('ban', ['203.0.113.60'], { options: { for: '1h' }, operator: new Nobody() })).message).toContain(
      'already banned until',
    );
    expect((await fixture.run('unban', ['203.0.113.60'], { operator: new Nobody() })).message).toBe('203.0.113.60 is no longer blocked.');
  });
});

test.each(['1.7.8', '1.4.6'] as const)('CrowdSec %s: decisions of an origin that is not known are listed', async (version) => {
  await open({ version, blocklist: 5 });
  addElsewhere('remediation_sync', '203.0.113.90');
  const { message, data } = await fixture.run('decisions');
  expect(data).toMatchObject({ decisions: [{ value: '203.0.113.90', origin: 'remediation_sync' }] });
  expect(message).toBe('1 decision active, excluding shared lists (--all includes them).');
  await fixture.run('unban', ['203.0.113.90'], { operator: new Nobody() });
  expect((await fixture.run('decisions')).data).toEqual({ decisions: [] });
});

describe('what is refused', () => {
  const around = {
    ssh: '198.51.100.9 50000 203.0.113.80 22\n',
    who: 'ada  pts/0  2026-11-22 09:01 (198.51.100.77)\nbob pts/1 2026-11-22 09:01 (2001:db8:7::5)\n',
    route: [
      'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT',
      'eth0\t00000000\tFE01A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
      'eth1\t007100CB\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
      'wg0\t00080A0A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
    ].join('\n'),
    route6:
      'fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth0\n',
    addresses: ['127.0.0.1', '::1', '192.168.1.10', '203.0.113.80', '100.101.102.103', '2001:db8:9::10'],
    networks: [{ name: 'proxy_default', subnets: ['172.20.0.0/16', 'fd12:3456::/64'] }],
  };

  test.each([
    ['198.51.100.9', /the address from which you connect to local/],
    ['198.51.100.0/24', /includes 198\.51\.100\.(?:9|77)/],
    ['198.51.100.77', /a user is logged in/],
    ['2001:db8:7::beef', /belongs to 2001:db8:7::\/64/],
    ['203.0.113.80', /an address of local itself|the address at which you reach local/],
    ['2001:db8:9::11', /an address of local itself/],
    ['192.168.1.254', /a gateway of local/],
    ['192.168.1.77', /the network of local on eth0/],
    ['10.10.8.9', /the network of local on wg0/],
    ['100.64.0.9', /the mesh/],
    ['fd00::9', /the network of local on eth0/],
    ['172.20.3.4', /the container network proxy_default/],
    ['fd12:3456::7', /the container network proxy_default/],
    ['127.1.2.3', /loopback/],
    ['::1', /loopback/],
    ['0.0.0.0/0', /includes/],
    ['::/0', /includes/],
    ['::ffff:192.168.1.254', /a gateway/],
  ])('%s', async (target, why) => {
    await open({ around });
    for (const operator of [person(), new Nobody()]) {
      const thrown = await fixture.run('ban', [target], { options: { for: '4h' }, operator }).catch((fault: unknown) => fault);
      expect(thrown).toMatchObject({ code: 'refused.lockOut', message: expect.stringMatching(why) });
    }
    expect(fixture.changes()).toEqual([]);
  });

  test.each([
    ['198.51.100.0/24', true],
    ['192.168.1.0/28', false],
  ])('%s: a smaller range is suggested only if one can be banned: %s', async (target, isSuggested) => {
    await open({ around });
    const thrown = await fixture.run('ban', [target], { options: { for: '4h' }, operator: new Nobody() }).catch((fault: unknown) => fault);
    expect(thrown).toMatchObject({ code: 'refused.lockOut' });
    expect((thrown as Fault).remedy.includes('smaller range')).toBe(isSuggested);
  });

  test('neighbours of a server in a data centre are no network of ours', async () => {
    await open({ around });
    await fixture.run('ban', ['203.0.113.81'], { operator: person() });
    expect(fixture.changes()).toHaveLength(1);
  });

  test('an address of a private network that this machine is not part of is confirmed', async () => {
    await open({ around });
    await fixture.run('ban', ['10.99.0.7'], { operator: person() });
    expect(fixture.operator.confirmations[0]?.consequences.join(' ')).toMatch(/10\.99\.0\.7 is a private address/);
    await fixture.run('ban', ['203.0.113.81'], { operator: person() });
    expect(fixture.operator.confirmations).toEqual([]);
  });

  test('without SSH_CONNECTION, whoever has an ssh connection open may be the operator: that is confirmed', async () => {
    const tcp = [
      '   0: 500071CB:0016 096433C6:C350 01 00000000:00000000 02:0009 00000000 0 0 1',
      '   1: 0000000000000000FFFF0000500071CB:0016 0000000000000000FFFF00000A6433C6:C351 01 00000000:00000000 02:0009 00000000 0 0 2',
    ].join('\n');
    await open({ around: { tcp } });
    await fixture.run('ban', ['198.51.100.9'], { operator: person() });
    expect(fixture.operator.confirmations[0]?.consequences.join(' ')).toMatch(
      /198\.51\.100\.9 has an open SSH connection to local.*may be your own/,
    );
    await fixture.run('ban', ['198.51.100.10'], { operator: person() });
    expect(fixture.operator.confirmations).toHaveLength(1);
    await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    expect(fixture.operator.confirmations).toEqual([]);
    // If the operator is known, the address of anyone else who tries to log in can be banned at once.
    fixture.around = { ...fixture.around, ssh: '203.0.113.9 50000 203.0.113.80 22' };
    await fixture.run('ban', ['198.51.100.11'], { operator: person() });
    expect(fixture.operator.confirmations).toEqual([]);
    expect(fixture.operator.texts().join(' ')).not.toContain('Cannot tell where');
    // In tmux the variable is from an earlier login, whose connection is closed by now.
    fixture.around = { ...fixture.around, ssh: '192.0.2.44 50000 203.0.113.80 22' };
    await fixture.run('ban', ['198.51.100.9'], { operator: person({ duration: '2d' }) });
    expect(fixture.operator.confirmations[0]?.consequences.join(' ')).toContain('198.51.100.9 has an open SSH connection to local');
    fixture.around = { ...fixture.around, ssh: '198.51.100.10 50000 203.0.113.80 22' };
    await fixture.run('ban', ['198.51.100.9'], { operator: person({ duration: '4d' }) });
    expect(fixture.operator.confirmations).toEqual([]);
  });

  test('where nothing tells where the operator comes from, that is said', async () => {
    await open();
    await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    expect(fixture.operator.texts().join(' ')).toContain('Cannot tell where you connect from');
  });

  test('a machine over ssh whose connections are seen need not tell more', async () => {
    await open({ around: { tcp: '   0: 500071CB:0016 096433C6:C350 01 00000000:00000000 02:0009 00000000 0 0 1' } });
    fixture.playHost({ kind: 'ssh', link: { view: { state: 'connected', sinceMs: 0 } } as never });
    await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    expect(fixture.changes()).toHaveLength(1);
  });

  test('where bouncers and machines come from', async () => {
    await open();
    for (const bouncer of fixture.played.store.bouncers) bouncer.address = '198.51.100.40';
    await expect(fixture.run('ban', ['198.51.100.0/24'], { operator: person() })).rejects.toMatchObject({
      message: expect.stringContaining('the bouncer firewall'),
    });
  });

  test('at the question already, so that another one can be typed', async () => {
    await open({ around });
    await expect(fixture.run('ban', [], { operator: person({ target: '198.51.100.9' }) })).rejects.toMatchObject({
      code: 'usage.answer',
      message: expect.stringMatching(/the address from which you connect/),
    });
    expect(fixture.changes()).toEqual([]);
  });

  test('who has moved meanwhile is seen where they are now', async () => {
    await open({ around });
    const operator = person();
    const ask = operator.ask.bind(operator);
    operator.ask = async (question) => {
      if (question.id === 'reason') fixture.around = { ...fixture.around, ssh: '203.0.113.7 1 203.0.113.80 22' };
      return ask(question);
    };
    await expect(fixture.run('ban', ['203.0.113.7'], { operator })).rejects.toMatchObject({ code: 'refused.lockOut' });
    expect(fixture.changes()).toEqual([]);
  });

  test('a machine over ssh that does not tell where the operator comes from', async () => {
    await open();
    fixture.playHost({ kind: 'ssh', link: { view: { state: 'connected', sinceMs: 0 } } as never });
    await expect(fixture.run('ban', ['203.0.113.7'], { operator: person() })).rejects.toMatchObject({ code: 'refused.unseen' });
  });

  test.each([
    [['203.0.113.7'], { for: '10s' }, 'usage.duration'],
    [['203.0.113.7'], { for: '6y' }, 'usage.duration'],
    [['203.0.113.7'], { for: '9999d' }, 'usage.duration'],
    [['203.0.113.7'], { reason: 'x'.repeat(201) }, 'usage.reason'],
    [['203.0.113.7'], { reason: 'a\nb' }, 'usage.reason'],
    [['203.0.113.7', '203.0.113.8'], {}, 'usage.words'],
    [['nonsense'], {}, 'usage.target'],
    [['203.0.113.7'], { component: 'other' }, 'usage.component'],
  ])('%j %j', async (words, options, code) => {
    await open();
    await expect(fixture.run('ban', words, { options, operator: person() })).rejects.toMatchObject({ code });
    expect(fixture.changes()).toEqual([]);
  });

  test('read-only: nothing is asked of the container, the list comes over the local API', async () => {
    await open();
    await fixture.cscli('decisions', 'add', '--ip', '203.0.113.7');
    fixture.flow.policy = { ...fixture.flow.policy, readOnly: true };
    expect((await fixture.run('decisions')).data).toMatchObject({ decisions: [{ value: '203.0.113.7' }] });
    expect(fixture.engine.commands).toEqual([]);
    await expect(fixture.run('ban', ['203.0.113.8'], { operator: person() })).rejects.toMatchObject({ code: 'refused.readOnly' });
  });

  test('what an allowlist has, unless that is meant', async () => {
    await open();
    await fixture.cscli('allowlists', 'create', 'own', '-d', 'own');
    await fixture.cscli('allowlists', 'add', 'own', '203.0.113.0/24');
    await expect(fixture.run('ban', ['203.0.113.7'], { operator: person() })).rejects.toMatchObject({
      code: 'refused.allowlisted',
      message: expect.stringContaining('203.0.113.0/24 from own'),
    });
    const { message } = await fixture.run('ban', ['203.0.113.7'], { options: { 'bypass-allowlist': true }, operator: person() });
    expect(message).toMatch(/is banned/);
  });

  test('a CrowdSec that is stopped, and a host without one', async () => {
    await open();
    fixture.engine.change('crowdsec', { state: 'exited' });
    await expect(fixture.run('ban', ['203.0.113.7'])).rejects.toMatchObject({ code: 'unreachable.component' });
    fixture.flow.fleet.current = { ...fixture.flow.fleet.current, components: [] };
    fixture.playHost({ exec: async () => ({ exitCode: 1, stdout: new Uint8Array(), stderr: new Uint8Array(), cut: false }) });
    await expect(fixture.run('decisions')).rejects.toMatchObject({ code: 'refused.noCrowdsec' });
    const unreachable = async () => {
      throw new Fault('unreachable.host', 'local does not respond.', 'Wait.');
    };
    fixture.playHost({ link: { view: { state: 'connected', sinceMs: 0 } } as never, exec: unreachable });
    await expect(fixture.run('decisions')).rejects.toMatchObject({ code: 'unreachable.host' });
    fixture.playHost({ exec: unreachable });
    fixture.flow.fleet.current = { ...fixture.flow.fleet.current, engines: [engineView('nas'), engineView('vps')] };
    // One host of several does not keep the others from answering.
    expect(await fixture.run('decisions')).toMatchObject({ message: expect.stringContaining('local has no CrowdSec') });
  });
});

describe('leaving and breaking off', () => {
  test.each([
    ['target', 'Nothing was banned.'],
    ['duration', '203.0.113.7 was not banned.'],
    ['reason', '203.0.113.7 was not banned.'],
  ])('Esc at the question for %s says what remains', async (step, sentence) => {
    await open();
    await expect(fixture.run('ban', [], { operator: person({ target: '203.0.113.7' }, step) })).rejects.toMatchObject({
      code: 'interrupted.cancelled',
      message: sentence,
    });
    expect(fixture.changes()).toEqual([]);
  });

  test('broken off behind the act, the ban is found the next time and not sent again', async () => {
    await open();
    let lost = true;
    fixture.engine.before = (argv) => {
      if (lost && argv.includes('list') && fixture.changes().length > 0) throw new Fault('unreachable.engine', 'Gone.', 'Wait.');
    };
    await expect(fixture.run('ban', ['203.0.113.7'], { operator: person() })).rejects.toMatchObject({ code: 'unreachable.engine' });
    lost = false;
    const { message } = await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    expect(message).toMatch(/203\.0\.113\.7 is already banned/);
    expect(fixture.changes()).toHaveLength(1);
  });
});

describe('what the list says', () => {
  test('shared lists only when asked for; both ways to CrowdSec agree', async () => {
    await open({ blocklist: 50 });
    await fixture.cscli('decisions', 'add', '--ip', '203.0.113.7', '--reason', 'a, b');
    const own = await fixture.run('decisions');
    expect(own.data).toMatchObject({ decisions: [{ value: '203.0.113.7', reason: 'a, b' }] });
    expect(own.message).toBe('1 decision active, excluding shared lists (--all includes them).');
    const all = (await fixture.run('decisions', [], { options: { all: true } })).data as { decisions: { value: string; origin: string }[] };
    expect(all.decisions).toHaveLength(51);
    fixture.engine.credentials = false;
    const overCli = (await fixture.run('decisions', [], { options: { all: true } })).data as { decisions: { value: string }[] };
    expect(overCli.decisions.map(({ value }) => value).sort()).toEqual(all.decisions.map(({ value }) => value).sort());
  });

  test('what a shared list has can be lifted, and that it comes back is said', async () => {
    await open({ blocklist: 5 });
    const [first] = ((await fixture.run('decisions', [], { options: { all: true } })).data as { decisions: { value: string }[] }).decisions;
    const { message } = await fixture.run('unban', [first?.value ?? ''], { operator: new Nobody() });
    expect(message).toMatch(/is no longer blocked\. \S+ is in a shared list, so a later pull may ban it again/);
  });

  test('lifting only the ban on an address says that a range of a shared list still blocks it', async () => {
    await open();
    await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    const range = { scenario: 'list', scope: 'Range', value: '203.0.113.0/24' };
    const alert = { machine: 'N/A', message: 'list', scenario: 'list', source: { scope: 'Range', value: range.value } };
    fixture.played.store.addAlert(alert, [{ ...range, origin: 'CAPI', type: 'ban', untilMs: Date.now() + 4 * 3_600_000 }]);
    const { message } = await fixture.run('unban', ['203.0.113.7'], { operator: person({ around: 'own' }) });
    expect(message).toMatch(/^203\.0\.113\.7 is still blocked: 203\.0\.113\.0\/24 for \w+ \(list\)\.$/);
  });

  test('an alert by its number, and alerts as they came', async () => {
    await open();
    await fixture.cscli('decisions', 'add', '--ip', '203.0.113.7');
    const { data } = await fixture.run('alerts');
    const [alert] = (data as { alerts: { id: number; value: string; decisions: unknown[] }[] }).alerts;
    expect(alert).toMatchObject({ value: '203.0.113.7', decisions: [{ type: 'ban' }] });
    expect((await fixture.run('alerts', [String(alert?.id)])).data).toMatchObject({ alert: { id: alert?.id } });
    await expect(fixture.run('alerts', ['x'])).rejects.toMatchObject({ code: 'usage.alert' });
    await expect(fixture.run('alerts', ['4711'])).rejects.toMatchObject({
      code: 'failed.crowdsec',
      message: expect.stringContaining('4711'),
    });
  });

  test('the password of the login is nowhere', async () => {
    await open();
    await fixture.run('ban', ['203.0.113.7'], { operator: person() });
    await fixture.run('decisions');
    const reported = JSON.stringify([await fixture.audited(), fixture.operator.shown, fixture.operator.asked, fixture.engine.commands]);
    expect(reported).not.toContain(fixture.played.machine.password);
  });

  test('an old login is renewed: the server forgets its tokens when it starts anew', async () => {
    await open();
    fixture.played.product.stop();
    await expect(fixture.run('decisions')).resolves.toBeDefined();
  });
});
