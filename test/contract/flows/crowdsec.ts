import { CrowdsecFixture } from '../../doubles/crowdsec-fixture.ts';
import { DoubleFixture } from './double-fixture.ts';
import type { Family, FlowRow } from './flow.contract.ts';

/** A CrowdSec of practice in a container that does not exist. */
class Crowdsec extends DoubleFixture {
  readonly played: CrowdsecFixture;

  private constructor(played: CrowdsecFixture) {
    super(played.flow);
    this.played = played;
  }
  static async open(): Promise<Crowdsec> {
    return new Crowdsec(await CrowdsecFixture.open());
  }
  override close() {
    return this.played.close();
  }

  get store() {
    return this.played.played.store;
  }
  async data<Data>(flow: string): Promise<Data> {
    return (await this.played.run(flow)).data as Data;
  }
}

type Row = FlowRow<Crowdsec>;
type Reading = (fixture: Crowdsec) => Promise<unknown>;

const bans: Reading = async (fixture) => {
  const { decisions } = await fixture.data<{ decisions: { value: string; origin: string; reason: string }[] }>('decisions');
  return decisions
    .filter(({ origin }) => origin === 'cscli')
    .map(({ value, reason }) => `${value} ${reason}`)
    .sort();
};
const allowlists: Reading = async (fixture) => {
  const { allowlists: lists } = await fixture.data<{ allowlists: { name: string; items: { value: string }[] }[] }>('allowlists-list');
  return lists.map(({ name, items }) => [name, ...items.map(({ value }) => value).sort()]);
};
const named = (flow: string, key: string): Reading => {
  return async (fixture) => ((await fixture.data<Record<string, { name: string }[]>>(flow))[key] ?? []).map(({ name }) => name).sort();
};
const bouncers = named('bouncers-list', 'bouncers');
const machines: Reading = async (fixture) =>
  (await fixture.data<{ machines: { name: string; validated: boolean }[] }>('machines-list')).machines.map(({ name, validated }) => [
    name,
    validated,
  ]);
const collections = named('collections-list', 'items');
const reading = (flow: string, words: string[] = [], more: Partial<Row> = {}): Row => ({ flow, words, acts: [], ...more });

const filledList = async ({ played }: Crowdsec) => {
  await played.cscli('allowlists', 'create', 'harbour', '-d', 'ours');
  await played.cscli('allowlists', 'add', 'harbour', '203.0.113.80', '198.51.100.0/28');
};
const withMachine = async ({ store }: Crowdsec) => store.addMachine('edge', 'secret-of-edge', false);
/** `cscli` is not run in a container that must not be touched. */
const isReadInside = 'refused.readOnly';
const inHub = async (fixture: Crowdsec) => [
  await collections(fixture),
  fixture.played.changes(),
  fixture.fixture.engine.requests.filter((request) => request.startsWith('restart')),
];

export const crowdsecFlows: Family<Crowdsec> = {
  name: 'CrowdSec',
  open: () => Crowdsec.open(),
  rows: [
    { flow: 'ban', words: ['203.0.113.99'], options: { for: '24h', reason: 'scans' }, acts: ['ban'], end: bans },
    {
      flow: 'unban',
      words: ['203.0.113.99'],
      acts: ['unban'],
      first: ({ played }) => played.run('ban', ['203.0.113.99'], { options: { for: '4h', reason: 'scans' } }),
      end: bans,
    },
    reading('decisions'),
    reading('alerts'),
    reading('allowlists-list', [], { readOnly: isReadInside }),
    reading('allowlists-check', ['203.0.113.80'], { readOnly: isReadInside }),
    { flow: 'allowlists-create', words: ['harbour'], options: { description: 'ours' }, acts: ['create'], end: allowlists },
    {
      flow: 'allowlists-add',
      words: ['harbour', '203.0.113.80', '198.51.100.0/28'],
      options: { comment: 'the crew' },
      acts: ['add'],
      first: ({ played }) => played.cscli('allowlists', 'create', 'harbour', '-d', 'ours'),
      end: allowlists,
    },
    {
      flow: 'allowlists-remove',
      words: ['harbour'],
      answers: () => ({ values: ['203.0.113.80'] }),
      acts: ['remove'],
      first: filledList,
      end: allowlists,
    },
    { flow: 'allowlists-delete', words: ['harbour'], acts: ['delete'], first: filledList, end: allowlists },
    reading('bouncers-list', [], { readOnly: isReadInside }),
    {
      flow: 'bouncers-add',
      words: ['lighthouse'],
      acts: ['add'],
      secrets: 1,
      unattended: 'refused.unattended',
      end: bouncers,
      // The first key was seen by nobody.
      otherwise: { 'add/after': { says: /^The bouncer lighthouse is registered\./, end: 'same' } },
    },
    {
      flow: 'bouncers-delete',
      words: ['lighthouse'],
      acts: ['delete'],
      first: ({ played }) => played.cscli('bouncers', 'add', 'lighthouse'),
      end: bouncers,
    },
    reading('machines-list', [], { readOnly: isReadInside }),
    { flow: 'machines-validate', words: ['edge'], acts: ['validate'], first: withMachine, end: machines },
    { flow: 'machines-delete', words: ['edge'], acts: ['delete'], first: withMachine, end: machines },
    reading('collections-list', [], { readOnly: isReadInside }),
    {
      flow: 'collections-install',
      words: ['crowdsecurity/caddy'],
      answers: () => ({ reload: 'now' }),
      acts: ['install', 'reload'],
      dryRunShows: { requests: ['cscli collections install crowdsecurity/caddy'], text: /Would do/ },
      end: inHub,
    },
    {
      flow: 'collections-remove',
      words: ['crowdsecurity/sshd'],
      answers: () => ({ reload: 'now' }),
      acts: ['remove', 'reload'],
      dryRunShows: { requests: ['cscli collections remove crowdsecurity/sshd'], text: /Would do/ },
      end: inHub,
    },
    { flow: 'hub-update', acts: ['update'] },
    {
      flow: 'hub-upgrade',
      again: ['update'],
      answers: () => ({ upgrade: 'yes', reload: 'now' }),
      acts: ['update', 'upgrade', 'reload'],
      dryRunShows: { requests: ['cscli hub update', 'cscli hub upgrade'], text: /CrowdSec is reloaded afterwards/ },
      end: collections,
    },
    reading('metrics', [], { readOnly: isReadInside }),
  ],
};
