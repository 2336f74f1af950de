import { readFile } from 'node:fs/promises';
import { catalogOf } from '../../../source/catalog/open-catalog.ts';
import { composeLabels } from '../../doubles/container-facts.ts';
import { componentView } from '../../doubles/fleet-double.ts';
import { FlowFixture } from '../../doubles/flow-fixture.ts';
import { type Asked, type Given, JsonServer } from '../../doubles/json-server.ts';
import { wholeCatalog } from '../../doubles/whole-catalog.ts';
import { DoubleFixture } from './double-fixture.ts';
import type { Family, FlowRow } from './flow.contract.ts';

const workflows = 'workflow-automation';
const boards = 'kanban';
const { entries } = await wholeCatalog();

const apiKey = 'n8n-api-key-of-ada-4711';
const password = 'password-of-ada-4711';
const token = 'token-of-a-session-4711';

/** n8n and Planka, as their entries in the catalog describe them: one with an API key, one that exchanges a password for a token. */
class Applications extends DoubleFixture {
  readonly active = new Set<string>(['1']);
  server!: JsonServer;

  static async open(): Promise<Applications> {
    const applications = new Applications(await FlowFixture.open());
    const { fixture } = applications;
    applications.server = await JsonServer.open((asked) => applications.answer(asked));
    fixture.catalog = catalogOf(entries, []);
    const published = { address: '127.0.0.1', protocol: 'tcp', hostPort: applications.server.port } as const;
    fixture.engine.add('n8n', { labels: composeLabels(workflows, 'n8n'), ports: [{ ...published, containerPort: 5678 }] });
    fixture.engine.add('kanban', { labels: composeLabels(boards, 'kanban'), ports: [{ ...published, containerPort: 1337 }] });
    const views = [workflows, boards].map((id) => componentView(id, { project: id, known: true }));
    fixture.fleet.current = { ...fixture.fleet.current, components: views };
    return applications;
  }

  answer({ method, url, headers, body }: Asked): Given {
    if (url === '/api/bootstrap') return { body: { item: { version: '2.0.0' } } };
    if (url === '/api/access-tokens') {
      const isRight = (JSON.parse(body.toString()) as { password?: string }).password === password;
      return isRight ? { body: { item: token } } : { status: 401, body: { code: 'E_UNAUTHORIZED', message: 'Invalid credentials' } };
    }
    if (url === '/api/users')
      return headers.authorization === `Bearer ${token}` ? { body: { items: [{ id: 'u1', username: 'ada' }] } } : { status: 401 };
    if (headers['x-n8n-api-key'] !== apiKey) return { status: 401, body: { message: 'unauthorized' } };
    const [, id = '', verb] = /^\/api\/v1\/workflows\/(\w+)\/(activate|deactivate)$/.exec(url) ?? [];
    if (method === 'POST' && verb) {
      if (verb === 'activate') this.active.add(id);
      else this.active.delete(id);
      return { body: { id, active: verb === 'activate' } };
    }
    return { body: { data: ['1', '2'].map((one) => ({ id: one, name: `Flow ${one}`, active: this.active.has(one) })), nextCursor: null } };
  }

  async keep(name: string, value: string): Promise<void> {
    await this.fixture.vault.write(undefined, `local/${name}` as never, value, 'login');
  }
  async kept(): Promise<unknown> {
    return (await this.fixture.vault.list()).map(({ name, versions }) => [name, versions.length]);
  }
  override async close(): Promise<void> {
    await this.server.close();
    await super.close();
  }
}

type Row = FlowRow<Applications>;
const withKey = (applications: Applications) => applications.keep(`${workflows}/API key`, apiKey);
const ofWorkflows = (more: Partial<Row> & Pick<Row, 'flow' | 'acts'>): Row => ({ component: workflows, first: withKey, ...more });

export const operationFlows: Family<Applications> = {
  name: 'operations',
  open: () => Applications.open(),
  rows: [
    { flow: 'ops', component: workflows, acts: [] },
    ofWorkflows({ flow: 'op', title: 'that reads', words: ['workflows'], acts: [], secrets: 1, readOnly: 'refused.readOnly' }),
    {
      flow: 'op',
      title: 'saved in a file',
      component: boards,
      words: ['about'],
      options: (applications) => ({ out: applications.file('about.json') }),
      acts: ['save'],
      dryRunShows: { text: /Would send: GET \/api\/bootstrap/ },
      end: (applications) => readFile(applications.file('about.json'), 'utf8').catch(() => 'missing'),
      belongs: [{ file: /about\.json$/, why: 'it is what was asked for' }],
    },
    ofWorkflows({
      flow: 'op',
      title: 'that changes something',
      words: ['activate'],
      options: { set: ['id=2'] },
      acts: ['activate'],
      again: ['activate'],
      secrets: 1,
      end: async ({ active }) => [...active],
    }),
    {
      flow: 'login',
      title: 'with a key',
      component: workflows,
      forms: () => ({ login: { API_KEY: apiKey } }),
      acts: ['login'],
      again: ['login'],
      secrets: 1,
      end: (applications) => applications.kept(),
    },
    {
      flow: 'login',
      title: 'with a password that is exchanged for a token',
      component: boards,
      answers: () => ({ way: 'login' }),
      forms: () => ({ login: { username: 'ada', password } }),
      acts: ['login'],
      again: ['login'],
      secrets: 2,
      end: (applications) => applications.kept(),
    },
    ofWorkflows({
      flow: 'logout',
      acts: ['logout'],
      end: (applications) => applications.kept(),
      otherwise: { 'logout/after': { says: /No credentials are stored/, end: 'same' } },
    }),
  ],
};
