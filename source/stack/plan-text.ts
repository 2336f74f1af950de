import { structuredPatch } from 'diff';
import { countText } from '../text/quantities.ts';
import type { Finding } from './finding.ts';
import { maskLine } from './mask-line.ts';
import type { FileChange, Plan, PlannedPort, PlannedSecret, PlannedService } from './model.ts';
import { isForeignProject } from './preflight-instances.ts';

interface Line {
  mark?: 'added' | 'removed' | 'same' | 'warning' | 'heading';
  text: string;
}

/** What `session.review` takes: that layer stands above this one. */
export interface PlanReview {
  id: string;
  title: string;
  sections: readonly { title: string; lines: readonly Line[] }[];
  findings: readonly { id: string; level: Finding['level']; message: string; advice: string; rule?: string; remedy?: string }[];
  summary: string;
  actions: readonly { id: string; label: string; blocked?: string }[];
}

const titles: Readonly<Record<Plan['kind'], string>> = {
  deploy: 'Deploy',
  change: 'Change',
  update: 'Update',
  rollback: 'Roll back',
  restore: 'Restore',
  remove: 'Remove',
  adopt: 'Adopt',
  rejoin: 'Join again',
};

/** A plan to be looked at: what happens, then each file as a diff. Actions are `apply`, `edit` where there is a form, and `cancel`. */
export function reviewOf(plan: Plan, findings: readonly Finding[]): PlanReview {
  const blocking = findings.filter(({ level }) => level === 'blocking');
  const blocked =
    blocking.length === 0
      ? undefined
      : blocking.length === 1
        ? blocking[0]?.message
        : `${blocking.length} findings have to be dealt with first.`;
  // The containers of a foreign project are not the component's: nothing of it is there that could be changed.
  const verb = titles[findings.some(isForeignProject) ? 'deploy' : plan.kind];
  return {
    id: 'plan',
    title: `${verb} ${plan.component} on ${plan.place}`,
    sections: [
      ...whatHappens(plan),
      ...plan.files.filter(({ before, after }) => before !== after).map((file) => ({ title: fileTitle(file), lines: diffLines(file) })),
    ],
    findings: findings.map(({ id, level, message, advice, rule, remedy }) => ({
      id,
      level,
      message,
      advice,
      ...(rule !== undefined && { rule }),
      ...(remedy && { remedy: remedy.label }),
    })),
    summary: summaryOf([plan]),
    actions: [
      { id: 'apply', label: verb, ...(blocked !== undefined && { blocked }) },
      ...(plan.kind === 'deploy' || plan.kind === 'change' ? [{ id: 'edit', label: 'Back to the form' }] : []),
      { id: 'cancel', label: 'Cancel' },
    ],
  };
}

/** What plans would do, in one sentence: `Writes 2 files, makes 1 secret, fetches 1 image, recreates vault.` */
export function summaryOf(plans: readonly Plan[]): string {
  const files = plans.flatMap((plan) => plan.files.filter(({ before, after }) => before !== after));
  const written = files.filter(({ after }) => after !== undefined).length;
  const secrets = plans.flatMap((plan) => plan.secrets.filter(({ what }) => what === 'generate')).length;
  const services = plans.flatMap((plan) => plan.services.map((service) => ({ ...service, component: plan.component })));
  const fetched = new Set(
    services.filter(({ change, present }) => present === false && (change === 'create' || change === 'recreate')).map(({ image }) => image),
  );
  // The name of a lone service says less than that of its component; of several components only theirs mean something.
  const named = (change: PlannedService['change']) => {
    const those = services.filter((service) => service.change === change);
    const names = new Set(those.map(({ component, name }) => (plans.length > 1 || services.length === 1 ? component : name)));
    return names.size > 4 ? `${names.size} ${plans.length > 1 ? 'components' : 'services'}` : [...names].join(', ');
  };
  const told = new Set(plans.flatMap((plan) => plan.after.map(({ component }) => component)));
  const parts: [string, string][] = [
    ['writes', written === 0 ? '' : countText(written, 'file')],
    ['deletes', files.length === written ? '' : countText(files.length - written, 'file')],
    ['makes', secrets === 0 ? '' : countText(secrets, 'secret')],
    ['fetches', fetched.size === 0 ? '' : countText(fetched.size, 'image')],
    ['starts', named('create')],
    ['recreates', named('recreate')],
    ['restarts', named('restart')],
    ['removes', named('remove')],
    ['reloads', [...told].join(', ')],
  ];
  const all = parts.flatMap(([verb, what]) => (what === '' ? [] : [`${verb} ${what}`])).join(', ');
  return all === '' ? 'Changes nothing.' : `${all.charAt(0).toUpperCase()}${all.slice(1)}.`;
}

function whatHappens(plan: Plan): { title: string; lines: Line[] }[] {
  const unchanged = plan.files.filter(({ before, after }) => before === after);
  const sections: { title: string; lines: Line[] }[] = [
    { title: 'Services', lines: plan.services.map(serviceLine) },
    { title: 'Ports', lines: plan.ports.map(portLine) },
    { title: 'Secrets', lines: plan.secrets.filter(({ what }) => what !== 'none').map(secretLine) },
    {
      title: 'Networks and volumes',
      lines: [
        ...plan.networks.map(
          ({ name, exists }): Line => ({ text: `${name}: ${exists ? 'is there' : 'is made'}, shared with other components` }),
        ),
        ...(plan.kind === 'remove' ? [] : plan.volumes.map((name): Line => ({ text: `${name}: kept whatever happens to its containers` }))),
      ],
    },
    { title: 'Address', lines: plan.site === '' ? [] : [{ text: `https://${plan.site} at the reverse proxy` }] },
    {
      title: 'Afterwards',
      lines: plan.after.map(({ component, service, argv, why }) => ({ text: `${component}/${service}: ${argv.join(' ')} (${why})` })),
    },
    { title: 'To know', lines: plan.notes.map((text): Line => ({ mark: 'warning', text })) },
    { title: 'Files that stay as they are', lines: unchanged.map(({ path }) => ({ mark: 'same' as const, text: path })) },
  ];
  return sections.filter(({ lines }) => lines.length > 0);
}

const changes: Readonly<Record<PlannedService['change'], string>> = {
  create: 'is made',
  recreate: 'is made again',
  restart: 'restarts',
  keep: 'stays',
  remove: 'is removed',
};

function serviceLine({ name, image, change, why, present }: PlannedService): Line {
  const fetched = present === false && (change === 'create' || change === 'recreate') ? ', fetched first' : '';
  const mark = change === 'create' ? 'added' : change === 'remove' ? 'removed' : change === 'keep' ? 'same' : undefined;
  return { ...(mark && { mark }), text: `${name} ${changes[change]}: ${why} (${image}${fetched})` };
}

function portLine({ address, host, container, protocol, service, name, fixed }: PlannedPort): Line {
  const wide = !/^127\.|^::1$/.test(address);
  const text = `${address.includes(':') ? `[${address}]` : address}:${host}/${protocol} to ${service}:${container}${name === undefined ? '' : ` (${name})`}`;
  return wide ? { mark: 'warning', text: `${text}, reachable from the network${fixed ? '' : ' (R7)'}` } : { text };
}

const origins: Readonly<Record<PlannedSecret['what'], string>> = {
  keep: 'stays as it is',
  generate: 'is generated now and kept by Quarterdeck',
  given: 'as entered, kept by Quarterdeck',
  none: 'stays empty',
  missing: 'is missing',
};

function secretLine({ variable, label, what }: PlannedSecret): Line {
  return {
    ...(what === 'missing' && { mark: 'warning' as const }),
    text: `${variable}${label === variable ? '' : ` (${label})`}: ${origins[what]}`,
  };
}

function fileTitle({ path, before, after, touched }: FileChange): string {
  const what = before === undefined ? 'new' : after === undefined ? 'deleted' : 'changed';
  return `${path}: ${what}${touched ? ', was changed by hand' : ''}`;
}

/** A range without lines is counted from the line before it: `patch` takes nothing else. */
const hunkRange = (start: number, lines: number) => `${lines === 0 ? start - 1 : start},${lines}`;

/** A file's change as a unified diff. What could be a secret is masked on both sides. */
export function diffLines({ path, before = '', after = '' }: Pick<FileChange, 'path' | 'before' | 'after'>): Line[] {
  const { hunks } = structuredPatch(path, path, before, after, undefined, undefined, { context: 3 });
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }): Line[] => [
    { mark: 'heading', text: `@@ -${hunkRange(oldStart, oldLines)} +${hunkRange(newStart, newLines)} @@` },
    ...lines.map((line): Line => {
      const text = maskLine(line.slice(1));
      if (line.startsWith('\\')) return { mark: 'same', text: line };
      return { mark: line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same', text };
    }),
  ]);
}

const signs: Readonly<Record<NonNullable<Line['mark']>, string>> = { added: '+', removed: '-', same: ' ', warning: ' ', heading: '' };

/**
 * A plan for `--json`; additions only:
 * `{schema: 1, kind, component, place, folder, empty, services: [{name, image, change, why, present}], ports: [{name, service, address, host, container, protocol}],
 * secrets: [{variable, what, version?}], networks: [{name, exists}], volumes: [name], site, notes: [text], files: [{path, change: create|change|delete|keep, touched, diff}],
 * findings: [{id, level, message, advice, rule?}]}`. `diff` is a unified diff with what could be a secret masked, and what is known to be one.
 */
export function planJson(
  plan: Plan,
  findings: readonly Finding[],
  empty: boolean,
  withoutSecrets: (text: string) => string = (text) => text,
): Record<string, unknown> {
  return {
    schema: 1,
    kind: plan.kind,
    component: plan.component,
    place: plan.place,
    folder: `${plan.stackFolder}/${plan.component}`,
    empty,
    services: plan.services.map(({ name, image, change, why, present }) => ({ name, image, change, why, present })),
    ports: plan.ports.map(({ name, service, address, host, container, protocol }) => ({
      name,
      service,
      address,
      host,
      container,
      protocol,
    })),
    secrets: plan.secrets.map(({ variable, what, version }) => ({ variable, what, ...(version !== undefined && { version }) })),
    networks: plan.networks,
    volumes: plan.volumes,
    site: plan.site,
    notes: plan.notes.map(withoutSecrets),
    files: plan.files.map((file) => ({
      path: file.path,
      change: file.before === file.after ? 'keep' : file.before === undefined ? 'create' : file.after === undefined ? 'delete' : 'change',
      touched: file.touched,
      diff:
        file.before === file.after
          ? ''
          : withoutSecrets(
              diffLines(file)
                .map(({ mark, text }) => `${text.startsWith('\\') ? '' : signs[mark ?? 'heading']}${text}\n`)
                .join(''),
            ),
    })),
    findings: findings.map(({ id, level, message, advice, rule }) => ({ id, level, message, advice, ...(rule !== undefined && { rule }) })),
  };
}
