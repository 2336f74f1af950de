import { structuredPatch } from 'diff';
import type { Review, ReviewLine } from '../../session/session.ts';
import { urlHost } from '../../text/authority.ts';
import { isLoopback } from '../../text/loopback.ts';
import { countText } from '../../text/quantities.ts';
import type { Finding } from '../finding.ts';
import type { FileChange, Plan, PlannedPort, PlannedSecret, PlannedService } from '../model.ts';
import { isForeignProject } from '../preflight/instances.ts';
import { maskLine } from './mask-line.ts';

const titles: Readonly<Record<Plan['kind'], string>> = {
  deploy: 'Deploy',
  change: 'Change',
  update: 'Update',
  rollback: 'Roll back',
  restore: 'Restore',
  remove: 'Remove',
  rejoin: 'Join again',
};

/** Returns a plan for review: a summary, then each file as a diff. Actions are `apply`, `edit` if there is a form, and `cancel`. */
export function reviewOf(plan: Plan, findings: readonly Finding[]): Review {
  const blocking = findings.filter(({ level }) => level === 'blocking');
  const blocked = blocking.length > 1 ? `${blocking.length} findings must be resolved first.` : blocking[0]?.message;
  // The containers of a foreign project are not the component's: nothing of the component exists that could be changed.
  const verb = titles[findings.some(isForeignProject) ? 'deploy' : plan.kind];
  return {
    id: 'plan',
    title: `${verb} ${plan.component} on ${plan.engineName}`,
    sections: [...whatHappens(plan), ...plan.files.filter(isChange).map((file) => ({ title: fileTitle(file), lines: diffLines(file) }))],
    findings: findings.map(({ remedy, owner: _, ...finding }) => ({ ...finding, remedy: remedy?.label })),
    summary: summaryOf([plan]),
    actions: [
      { id: 'apply', label: verb, blocked },
      ...(plan.kind === 'deploy' || plan.kind === 'change' ? [{ id: 'edit', label: 'Back to the form' }] : []),
      { id: 'cancel', label: 'Cancel' },
    ],
  };
}

const isChange = ({ before, after }: FileChange) => before !== after;

const isPulled = ({ change, present }: PlannedService) => present === false && (change === 'create' || change === 'recreate');

/** Summarizes plans in one sentence: `Writes 2 files, generates 1 secret, pulls 1 image, recreates vault.` */
export function summaryOf(plans: readonly Plan[]): string {
  const files = plans.flatMap((plan) => plan.files.filter(isChange));
  const written = files.filter(({ after }) => after !== undefined).length;
  const secrets = plans.flatMap((plan) => plan.secrets.filter(({ what }) => what === 'generate')).length;
  const services = plans.flatMap((plan) => plan.services.map((service) => ({ ...service, component: plan.component })));
  const pulled = new Set(services.filter(isPulled).map(({ image }) => image)).size;
  const counted = (count: number, one: string) => (count === 0 ? '' : countText(count, one));
  // The component's name says more than the name of its only service; for several components only component names are meaningful.
  const named = (change: PlannedService['change']) => {
    const those = services.filter((service) => service.change === change);
    const names = new Set(those.map(({ component, name }) => (plans.length > 1 || services.length === 1 ? component : name)));
    return names.size > 4 ? `${names.size} ${plans.length > 1 ? 'components' : 'services'}` : [...names].join(', ');
  };
  const parts: [string, string][] = [
    ['writes', counted(written, 'file')],
    ['deletes', counted(files.length - written, 'file')],
    ['generates', counted(secrets, 'secret')],
    ['pulls', counted(pulled, 'image')],
    ['starts', named('create')],
    ['recreates', named('recreate')],
    ['restarts', named('restart')],
    ['removes', named('remove')],
    ['reloads', [...new Set(plans.flatMap((plan) => plan.after.map(({ component }) => component)))].join(', ')],
  ];
  const all = parts.flatMap(([verb, what]) => (what === '' ? [] : [`${verb} ${what}`])).join(', ');
  return all === '' ? 'No changes.' : `${all.charAt(0).toUpperCase()}${all.slice(1)}.`;
}

function whatHappens(plan: Plan): { title: string; lines: ReviewLine[] }[] {
  const sections: { title: string; lines: ReviewLine[] }[] = [
    { title: 'Services', lines: plan.services.map(serviceLine) },
    { title: 'Ports', lines: plan.ports.map(portLine) },
    { title: 'Secrets', lines: plan.secrets.filter(({ what }) => what !== 'none').map(secretLine) },
    {
      title: 'Networks and volumes',
      lines: [
        ...plan.networks.map(({ name, exists }) => ({
          text: `${name}: ${exists ? 'exists' : 'is created'}, shared with other components`,
        })),
        ...(plan.kind === 'remove' ? [] : plan.volumes).map((name) => ({ text: `${name}: kept when its containers are removed` })),
      ],
    },
    { title: 'Address', lines: plan.site === '' ? [] : [{ text: `https://${plan.site} at the reverse proxy` }] },
    {
      title: 'Afterwards',
      lines: plan.after.map(({ component, service, argv, why }) => ({ text: `${component}/${service}: ${argv.join(' ')} (${why})` })),
    },
    { title: 'Notes', lines: plan.notes.map((text): ReviewLine => ({ mark: 'warning', text })) },
    {
      title: 'Unchanged files',
      lines: plan.files.filter((file) => !isChange(file)).map(({ path }) => ({ mark: 'same', text: path })),
    },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

const changes: Readonly<Record<PlannedService['change'], string>> = {
  create: 'is created',
  recreate: 'is recreated',
  restart: 'restarts',
  keep: 'stays',
  remove: 'is removed',
};

function serviceLine(service: PlannedService): ReviewLine {
  const { name, image, change, why } = service;
  const mark = change === 'create' ? 'added' : change === 'remove' ? 'removed' : change === 'keep' ? 'same' : undefined;
  return { mark, text: `${name} ${changes[change]}: ${why} (${image}${isPulled(service) ? ', pulled first' : ''})` };
}

function portLine({ address, host, container, protocol, service, name }: PlannedPort): ReviewLine {
  const text = `${urlHost(address)}:${host}/${protocol} to ${service}:${container}${name === undefined ? '' : ` (${name})`}`;
  return isLoopback(address) ? { text } : { mark: 'warning', text: `${text}, reachable from the network` };
}

const origins: Readonly<Record<PlannedSecret['what'], string>> = {
  keep: 'unchanged',
  generate: 'is generated now and stored by Quarterdeck',
  given: 'is stored by Quarterdeck',
  none: 'stays empty',
  missing: 'is missing',
};

function secretLine({ variable, label, what }: PlannedSecret): ReviewLine {
  return {
    mark: what === 'missing' ? 'warning' : undefined,
    text: `${variable}${label === variable ? '' : ` (${label})`}: ${origins[what]}`,
  };
}

function fileTitle({ path, before, after, touched }: FileChange): string {
  const what = before === undefined ? 'new' : after === undefined ? 'deleted' : 'changed';
  return `${path}: ${what}${touched ? '; it was edited by hand' : ''}`;
}

/** An empty range is counted from the line before it: `patch` accepts nothing else. */
const hunkRange = (start: number, lines: number) => `${lines === 0 ? start - 1 : start},${lines}`;

/** Returns a file's change as a unified diff. Possible secrets are masked on both sides. */
export function diffLines({ path, before = '', after = '' }: Pick<FileChange, 'path' | 'before' | 'after'>): ReviewLine[] {
  const { hunks } = structuredPatch(path, path, before, after, undefined, undefined, { context: 3 });
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }): ReviewLine[] => [
    { mark: 'heading', text: `@@ -${hunkRange(oldStart, oldLines)} +${hunkRange(newStart, newLines)} @@` },
    ...lines.map((line): ReviewLine => {
      const text = maskLine(line.slice(1));
      if (line.startsWith('\\')) return { mark: 'same', text: line };
      return { mark: line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same', text };
    }),
  ]);
}

const signs: Readonly<Record<NonNullable<ReviewLine['mark']>, string>> = { added: '+', removed: '-', same: ' ', warning: ' ', heading: '' };

/**
 * Returns a plan for `--json`; additions only: `{schema: 1, kind, component, engineName, folder, empty, services: [{name, image, change,
 * why, present}], ports: [{name, service, address, host, container, protocol}], secrets: [{variable, what, version?}], networks: [{name,
 * exists}], volumes: [name], site, notes: [text], files: [{path, change: create|change|delete|keep, touched, diff}], findings: [{id, level,
 * message, advice, rule?}]}`. `diff` is a unified diff in which possible and known secrets are masked.
 */
export function planJson(plan: Plan, findings: readonly Finding[], empty: boolean, withoutSecrets = (text: string) => text) {
  const { kind, component, engineName, networks, volumes, site } = plan;
  return {
    schema: 1,
    kind,
    component,
    engineName,
    folder: `${plan.stackFolder}/${component}`,
    empty,
    services: plan.services.map(({ before: _, ...service }) => service),
    ports: plan.ports.map(({ fixed: _, ...port }) => port),
    secrets: plan.secrets.map(({ label: _, ...secret }) => secret),
    networks,
    volumes,
    site,
    notes: plan.notes.map(withoutSecrets),
    files: plan.files.map((file) => {
      const { path, before, after, touched } = file;
      const diff = diffLines(file).map(({ mark, text }) => `${text.startsWith('\\') ? '' : signs[mark ?? 'heading']}${text}\n`);
      const change = !isChange(file) ? 'keep' : before === undefined ? 'create' : after === undefined ? 'delete' : 'change';
      return { path, change, touched, diff: withoutSecrets(diff.join('')) };
    }),
    findings: findings.map(({ remedy: _, owner: __, ...finding }) => finding),
  };
}
