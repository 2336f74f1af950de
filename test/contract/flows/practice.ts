import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { Flow, FlowInput } from '../../../source/flows/flow.ts';
import type { Session } from '../../../source/session/session.ts';
import { PracticeFixture } from '../../doubles/practice-fixture.ts';
import type { Family, Fixture, Playing } from './flow.contract.ts';
import { type Answers, Person } from './person.ts';

/** The practice stack, its flows and its products. */
export class Practice implements Fixture {
  readonly fixture: PracticeFixture;

  private constructor(fixture: PracticeFixture) {
    this.fixture = fixture;
  }
  static async open(): Promise<Practice> {
    return new Practice(await PracticeFixture.open());
  }

  get journal(): string {
    return this.fixture.journal;
  }
  get folders(): readonly string[] {
    return [this.fixture.home, this.fixture.access.folder];
  }
  play(flow: Flow, about: string | undefined, input: Parameters<Fixture['play']>[2], { operator, mode, resume }: Playing) {
    return this.fixture.run(flow.id, about ?? '', input, {
      ...{ operator, dryRun: mode === 'dry-run', readOnly: mode === 'read-only', as: () => flow, resume },
      // A run that was killed hears of no end.
      signal: new AbortController().signal,
    });
  }
  audited() {
    return this.fixture.audited();
  }
  close() {
    return this.fixture.close();
  }

  /** Runs a flow to its end, to prepare or to look. */
  async run(flow: string, about = '', words: readonly string[] = [], options: FlowInput['options'] = {}, answers: Answers = {}) {
    return this.fixture.run(flow, about, { words, options }, { operator: this.person(answers) });
  }
  /** The stored secrets. */
  async stored() {
    const signal = AbortSignal.timeout(10_000);
    const session = { signal, ask: {} } as Session;
    return (await this.fixture.app.context.vault(session)).list(signal);
  }
  person(answers: Answers): Person {
    return new Person({ answers, forms: undefined, edited: () => undefined, reveal: () => {} });
  }
}

/** Targets and a rule; no target is reached. */
const withRules = async ({ fixture }: Practice) => {
  await mkdir(join(fixture.home, 'config'), { recursive: true });
  const targets = 'notifications: {quiet: {type: command, run: ["true"]}, push: {type: gotify, url: "http://127.0.0.1:1"}}';
  await writeFile(join(fixture.home, 'config', 'config.yaml'), `${targets}\nrules: {sealed: {state: sealed, send: quiet}}\n`);
};

const statesOfMedia = (practice: Practice) => practice.fixture.component('media-server')?.services.map(({ state }) => state);

export const practiceFlows: Family<Practice> = {
  name: 'the practice stack',
  open: () => Practice.open(),
  shared: true,
  rows: [
    { flow: 'chain', acts: [] },
    { flow: 'config-make', words: ['limit-range'], acts: [] },
    { flow: 'config-check', words: ['sso-portal'], acts: ['verify'], readOnly: null },
    { flow: 'compose', component: 'llm-proxy', words: ['ps'], acts: ['compose'], secrets: 1 },
    {
      flow: 'deploy',
      // Its form is filled in a dry run too, and has secrets among its fields.
      dryRunAsks: true,
      component: 'rss-reader',
      first: async (practice) => {
        if (Object.keys(await practice.fixture.containers('rss-reader')).length > 0)
          await practice.run('remove', 'rss-reader', [], { data: 'rss-reader' });
      },
      acts: ['apply RUN', 'verified RUN'],
      dryRunShows: { text: /reader.*miniflux\/miniflux/ },
      slow: true,
    },
    { flow: 'first-admin', component: 'password-vault', acts: [] },
    { flow: 'recover', acts: [] },
    { flow: 'watch', first: withRules, acts: ['watch'], again: ['watch'] },
    { flow: 'watch', title: 'once', options: { once: true }, first: withRules, acts: ['watch'], again: ['watch'] },
    { flow: 'notify-test', words: ['quiet'], first: withRules, acts: ['test'], again: ['test'] },
    {
      flow: 'notify-login',
      words: ['push'],
      first: async (practice) => {
        await withRules(practice);
        if ((await practice.stored()).some(({ name }) => name === 'local/notifications/push'))
          await practice.run('secrets-remove', '', ['notifications', 'push']);
      },
      answers: () => ({ secret: 'token-of-push-4711' }),
      acts: ['login'],
      secrets: 1,
      end: async (practice) => {
        const names = (await practice.stored()).filter(({ name }) => name === 'local/notifications/push');
        return names.map(({ versions }) => versions.length > 0);
      },
    },
    {
      flow: 'up',
      words: ['media-server'],
      async first(practice) {
        await practice.fixture.run('stop', 'media-server');
        // The fleet hears of it with an event.
        await vi.waitFor(() => expect(statesOfMedia(practice)).toEqual(['stopped']), 10_000);
      },
      acts: ['start media-server-jellyfin-1'],
      // A run that finds it started leaves it starting.
      end: (practice) =>
        vi.waitFor(() => {
          const states = statesOfMedia(practice);
          expect(states).not.toContain('starting');
          return states;
        }, 10_000),
    },
  ],
};
