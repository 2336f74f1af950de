import type { CatalogEntry, CatalogService } from '../../source/catalog/catalog.ts';
import { catalogOf } from '../../source/catalog/open-catalog.ts';
import type { EngineFacts } from '../../source/engine/engine.ts';
import { Fault } from '../../source/faults/fault.ts';
import type { FileFacts, Host, HostFacts } from '../../source/hosts/host.ts';
import type { Finding } from '../../source/stack/finding.ts';
import type { Deployment, FileChange, Plan } from '../../source/stack/model.ts';
import { publishedBy } from '../../source/stack/plan/ports.ts';
import type { PreflightInput } from '../../source/stack/preflight/context.ts';
import { preflight } from '../../source/stack/preflight/preflight.ts';
import { EngineDouble } from './engine-double.ts';
import { hostDouble } from './live-engine.ts';

/** As the catalog's compose.yaml has it. */
const composeService = ({ name, image, networkMode, devices, mounts }: CatalogService) => [
  name,
  { image, network_mode: networkMode, devices, volumes: mounts.map(({ source, target }) => `${source}:${target}`) },
];

/** A host without anything to complain about, on which one component is about to be deployed. */
export class PreflightFixture {
  readonly entry: CatalogEntry;
  readonly engine = new EngineDouble();
  plan: Partial<Plan> = {};
  values: Record<string, string> = {};
  input: Partial<PreflightInput> = {};
  listeners: Awaited<ReturnType<Host['listeners']>> = [];
  hostFacts: Partial<HostFacts> = {};
  facts: Partial<EngineFacts> = {};
  /** Files and folders of the host, by path: device number. */
  devices: Record<string, number> = { '/': 1, '/dev/dri': 5 };
  readonly texts: Record<string, string> = {};
  deployments: Deployment[] = [];
  readonly entries: CatalogEntry[];
  readonly ran: string[] = [];
  /** Output of programs by how their command line begins; a number is an exit code, a promise may never answer. */
  programs: Record<string, string | number | Promise<never>> = {
    'sh -c': '/dev/sda1 100000000 10 50000000 1% /\n/dev/sda1 100000000 10 50000000 1% /\n',
    'getent ahosts': '192.168.1.5   STREAM nas\n',
  };

  constructor(entry: CatalogEntry, others: readonly CatalogEntry[] = []) {
    this.entry = entry;
    this.entries = [entry, ...others.filter(({ id }) => id !== entry.id)];
  }

  /** The compose file as the plan leaves it. */
  compose(text: string): void {
    this.plan = { ...this.plan, files: [this.#composeFile(text)] };
  }

  #composeFile(text: string): FileChange {
    return { path: `${this.entry.id}/compose.yaml`, before: undefined, after: text, mode: 0o644, touched: false };
  }

  async findings(signal: AbortSignal = new AbortController().signal): Promise<Finding[]> {
    const { entry, engine, values } = this;
    const plan: Plan = {
      schema: 1,
      kind: 'deploy',
      component: entry.id,
      engineName: 'local',
      stackFolder: '/srv/stack',
      project: entry.id,
      files: [this.#composeFile(JSON.stringify({ services: Object.fromEntries(entry.services.map(composeService)) }))],
      services: [],
      ports: publishedBy(entry, values).filter(
        ({ service }) => entry.services.find(({ name }) => name === service)?.networkMode !== 'host',
      ),
      networks: [],
      volumes: [],
      secrets: [],
      site: '',
      after: [],
      notes: [],
      rollback: 'unsafe',
      ...this.plan,
    };
    return preflight(plan, {
      entry,
      answers: { values, secrets: {}, site: plan.site },
      host: this.#host(),
      engine,
      facts: { ...(await engine.connect()), rootFolder: '/var/lib/docker', ...this.facts },
      deployments: this.deployments,
      catalog: catalogOf(this.entries, []),
      composeTool: { kind: 'docker-compose', generation: 2, version: '2', argv: ['docker', 'compose'], env: {} },
      secretsKnown: {},
      signal,
      ...this.input,
    });
  }

  /** `blocking port-taken:web`, sorted; every finding is a sentence with advice. */
  async reported(): Promise<string[]> {
    const findings = await this.findings();
    for (const { message, advice } of findings) {
      if (!/^[A-Za-z0-9"].*\.$/s.test(message) || !/[.A-Za-z0-9/]$/.test(advice)) throw new Error(`no sentence: ${message} | ${advice}`);
    }
    return findings.map(({ level, id }) => `${level} ${id}`).sort();
  }

  async finding(id: string): Promise<Finding | undefined> {
    return (await this.findings()).find((finding) => finding.id === id);
  }

  #host(): Host {
    const host = hostDouble({ listeners: this.listeners });
    return {
      ...host,
      facts: async (signal) => ({ ...(await host.facts(signal)), memoryBytes: 16 * 1024 ** 3, ...this.hostFacts }),
      files: {
        ...host.files,
        read: async (path) => (this.texts[path] === undefined ? undefined : new TextEncoder().encode(this.texts[path])),
        facts: async (path): Promise<FileFacts | undefined> => {
          const device = this.devices[path];
          return device === undefined ? undefined : { kind: 'folder', sizeBytes: 0, modifiedMs: 0, device, inode: 1 };
        },
      },
      exec: async (argv) => {
        const line = argv.join(' ');
        this.ran.push(line);
        const [, answer] = Object.entries(this.programs).find(([start]) => line.includes(start)) ?? [];
        if (answer === undefined)
          throw new Fault('unreachable.program', `${argv[0]} cannot be started: program not found.`, `Install ${argv[0]}.`);
        const said = await answer;
        return {
          exitCode: typeof said === 'number' ? said : 0,
          stdout: Buffer.from(typeof said === 'string' ? said : ''),
          stderr: Buffer.from(''),
          cut: false,
        };
      },
    };
  }
}
