import { interpolate } from '../../catalog/interpolation.ts';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import { Fault } from '../../faults/fault.ts';
import type { FileChange, Plan } from '../model.ts';
import { readServices } from '../plan/compose-document.ts';
import { secretFilesOf } from '../plan/compose-editor.ts';
import { recordFile } from '../read-deployment.ts';
import type { ScriptOptions } from './script.ts';
import { plainName, shellCommand, shellWord, stackPath, variableName } from './shell.ts';

const triesWhenNew = 10;

type NumberOf = (component: string) => number;

export function exportsOf(values: Readonly<Record<string, string>>): string {
  const lines = Object.entries(values).map(([name, value]) => `export ${name}=${shellWord(value)}`);
  return lines.join('\n');
}

/** `qd_secrets_N` exports the secrets of one compose process; `qd_bare_N` sets placeholder values for variables that only have to exist. */
export function secretFunctions(component: string, number: number, tool: ComposeTool, options: ScriptOptions): string {
  const podman = tool.kind === 'podman-compose';
  const secrets = options.secrets[plainName(component)] ?? {};
  const values = podman ? environmentForPodman(options.composeTexts[component] ?? '', secrets) : secrets;
  for (const name of Object.keys(values)) variableName(name);
  return `qd_secrets_${number}() {
qd_reach
${exportsOf(values)}
}
qd_bare_${number}() {
${podman ? 'qd_reach' : `qd_secrets_${number}`}
qd_stand_in
}
`;
}

/**
 * Older versions of podman-compose pass an env file to podman, newer ones read it themselves and write its lines into podman's arguments.
 * So the file contains only names, which make podman read the values from its environment in both cases, under the names that they have
 * inside the containers.
 */
export function environmentForPodman(compose: string, secrets: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, template] of Object.values(secretFilesOf(compose)).flatMap((templates) => Object.entries(templates))) {
    const value = interpolate(template, secrets);
    const message = `Two services require different values of ${name}, and podman-compose can pass only one without showing it to other users.`;
    if (environment[name] !== undefined && environment[name] !== value)
      throw new Fault('refused.podmanCompose', message, 'Install docker-compose on that host: it serves Podman too.');
    environment[name] = value;
  }
  return environment;
}

export function planFunctions(plan: Plan, index: number, number: number, tool: ComposeTool, options: ScriptOptions): string {
  const { component } = plan;
  const record = options.records[component];
  const files = plan.files.map((file) => ({ ...file, path: stackPath(file.path) }));
  return `${options.mode === 'apply' ? placeFunction(`qd_place_${index}`, files) : restoreFunction(plan, index, options)}
qd_up_${index}() {
${upLines(plan, index, number, tool, options).join('\n')}
}
qd_down_${index}() {
[ -f "$qd_stack/"${shellWord(component)}/compose.yaml ] || return 0
${findStopTimeout(plan, number, tool)}qd_compose ${shellWord(component)} qd_bare_${number} -p ${shellWord(plan.project)} down${stopTimeout(tool)}${tool.kind === 'podman-compose' ? '' : ' --remove-orphans'}
}
${plan.joins ? partFunction(plan, plan.joins.services, index, number, tool) : ''}${placeFunction(`qd_record_${index}`, [{ path: recordFile(component), after: record, mode: 0o600 }])}
${tool.kind === 'podman-compose' ? `qd_files_${index}() {\n:\n${envFileLines(options.composeTexts[component] ?? '', '$qd_secrets_at').join('\n')}\n}\n` : ''}`;
}

/** For services in another container's network: if that no longer exists, the old docker-compose does nothing, and does not fail. */
function partFunction(plan: Plan, services: readonly string[], index: number, number: number, tool: ComposeTool): string {
  const { component, project } = plan;
  const removed =
    tool.kind === 'podman-compose'
      ? services.map((service) => removedByPodman(project, service))
      : removalLines(plan, services, number, tool).map((line) => `${line} || :`);
  return `qd_part_${index}() {
[ -f "$qd_stack/"${shellWord(component)}/compose.yaml ] || return 0
${findStopTimeout(plan, number, tool)}${removed.join('\n')}
}
`;
}

function findStopTimeout({ component, project }: Plan, number: number, tool: ComposeTool): string {
  return tool.needsStopTimeout ? `qd_find_stop_timeout ${shellWord(component)} qd_bare_${number} ${shellWord(project)}\n` : '';
}

const stopTimeout = (tool: ComposeTool): string => (tool.needsStopTimeout ? ' --timeout "$qd_stop_timeout"' : '');

/** Compose's `rm` stops running containers, and has no option for the grace period. */
function removalLines({ component, project }: Plan, services: readonly string[], number: number, tool: ComposeTool): string[] {
  const compose = `qd_compose ${shellWord(component)} qd_bare_${number} -p ${shellWord(project)}`;
  const names = shellCommand(services);
  return [...(tool.needsStopTimeout ? [`${compose} stop${stopTimeout(tool)} ${names}`] : []), `${compose} rm -s -f ${names}`];
}

/** Stages every file beside its target first: if the disk is full, the old files stay unchanged. */
function placeFunction(name: string, files: readonly Pick<FileChange, 'path' | 'after' | 'mode'>[]): string {
  const written = files.filter(({ after }) => after !== undefined);
  const deleted = files.filter(({ after }) => after === undefined);
  const beside = [
    ...foldersOf(written.map(({ path }) => path)),
    ...written.map(({ path, mode }) => `qd_beside after ${shellWord(path)} ${(mode & 0o777).toString(8)}`),
  ];
  return `${name}() {
${beside.length > 0 ? `{ ${beside.join(' && ')}; } || { ${written.map(({ path }) => `qd_drop ${shellWord(path)}`).join('; ')}; return 1; }` : ':'}
${written.map(({ path }) => `qd_swap ${shellWord(path)} || return 1`).join('\n')}
${deleted.map(({ path }) => `qd_delete ${shellWord(path)} || return 1`).join('\n')}
}`;
}

/** A component's own folder is private to the operator; the files below are mounted into containers that run as other users. */
function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set<string>();
  for (const path of paths) {
    const parts = path.split('/').slice(0, -1);
    for (let length = 1; length <= parts.length; length++) folders.add(parts.slice(0, length).join('/'));
  }
  return [...folders].map((folder) => `qd_folder_at ${shellWord(folder)} ${folder.includes('/') && !folder.startsWith('.') ? 755 : 700}`);
}

export function stageLines(plan: Plan, { records }: ScriptOptions): string[] {
  if (plan.kind === 'rejoin') return [];
  const record = { path: recordFile(plainName(plan.component)), after: records[plan.component] };
  // An operator's editor does not use the lock.
  const unchanged = plan.files.map(
    ({ path, before }) => `qd_unchanged ${shellWord(stackPath(path))}${before === undefined ? '' : ` ${shellWord(before)}`} || return 1`,
  );
  const kept = [...plan.files, record].flatMap(({ path, after }) => [
    `qd_keep ${shellWord(stackPath(path))} || return 1`,
    ...(after === undefined ? [] : [`qd_put ${shellWord(path)} ${shellWord(after)} || return 1`]),
  ]);
  return [...unchanged, ...kept];
}

function upLines(plan: Plan, index: number, number: number, tool: ComposeTool, options: ScriptOptions): string[] {
  const component = shellWord(plan.component);
  const compose = (prepare: string, command: string, args: readonly string[], run = 'qd_compose') =>
    `${run} ${component} ${prepare}_${number} -p ${shellCommand([plan.project, command])}${stopTimeout(tool)} ${shellCommand(args)}`;
  const lines: string[] = tool.needsStopTimeout ? [findStopTimeout(plan, number, tool).trimEnd()] : [];
  const up = [startsLater(plan, options) ? '--no-start' : '-d', '--remove-orphans'];
  const podman = tool.kind === 'podman-compose';
  const project = shellWord(plan.project);
  // podman-compose compares little (older versions nothing) of a container's configuration, and never an env file.
  const isChanged =
    options.mode === 'undo' || options.seenLines > 0 || plan.services.some(({ change }) => !['create', 'keep'].includes(change));
  const recreates = podman && isChanged;
  if (podman) lines.push(`qd_make_secrets && qd_files_${index} || return 1`);
  if (recreates) {
    up.push('--force-recreate');
    lines.push(`qd_before_=$(qd_containers ${project})`);
  }
  const leaving = podman ? [] : leavingServices(plan, options);
  if (leaving.length > 0) lines.push(...removalLines(plan, leaving, number, tool).map((line) => `${line} || return`));
  lines.push(compose('qd_secrets', 'up', up, podman ? 'qd_compose' : 'qd_up'), 'qd_status=$?');
  if (recreates) {
    // A container in a restart loop may run again between its stop and its rm; podman-compose then continues with the existing container.
    lines.push(
      `if [ -n "$(qd_left_over ${project} "$qd_before_")" ]; then
qd_sweep ${project} "$qd_before_" || { qd_drop_secrets; return 1; }
${compose('qd_secrets', 'up', up)}
qd_status=$?
fi`,
    );
  }
  if (podman) lines.push('qd_drop_secrets');
  lines.push('[ "$qd_status" = 0 ] || return "$qd_status"');
  if (podman && options.mode === 'apply') lines.push(...podmanLines(plan, startsLater(plan, options)));
  // compose does not detect a change in a mounted file.
  const restarted = plan.services.filter(({ change }) => change === 'restart').map(({ name }) => name);
  if (restarted.length > 0) lines.push(`${compose('qd_bare', 'restart', restarted)} || return`);
  return lines;
}

/** Services whose profile is no longer active: compose treats them neither as its own nor as orphans. */
function leavingServices({ component, services }: Plan, { mode, composeTexts }: ScriptOptions): string[] {
  const change = mode === 'apply' ? 'remove' : 'create';
  const optional = readServices(composeTexts[component] ?? '');
  return services
    .filter((service) => service.change === change && optional[service.name]?.['profiles'] !== undefined)
    .map(({ name }) => name);
}

/** podman-compose 1.0 reports success whatever happened, and keeps services that are no longer in the file. */
function podmanLines({ project, services }: Plan, later: boolean): string[] {
  const notYet = later ? "''" : "'' | [Cc]reated* | [Cc]onfigured*";
  const failure = `was not ${later ? 'made' : 'started'}`;
  return services.map(({ name, change }) =>
    change === 'remove'
      ? removedByPodman(project, name)
      : `case $( ( qd_reach; podman ps -a --format '{{.State}}' ${podmanFilter(project, name)} ) </dev/null | head -n 1) in ${notYet}) printf '%s ${failure}\\n' ${shellWord(name)}; return 1 ;; esac`,
  );
}

function removedByPodman(project: string, service: string): string {
  return `( qd_reach; for qd_id in $(podman ps -aq ${podmanFilter(project, service)}); do podman rm -f "$qd_id" || exit 1; done ) </dev/null || return 1`;
}

function podmanFilter(project: string, service: string): string {
  const labels = [`io.podman.compose.project=${project}`, `com.docker.compose.service=${service}`];
  return shellCommand(labels.flatMap((label) => ['--filter', `label=${label}`]));
}

/** Containers are created without being started: a restored component gets its data first, and one that did not run stays stopped. */
function startsLater({ kind, joins }: Plan, { mode }: ScriptOptions): boolean {
  return (kind === 'restore' && mode === 'apply') || joins?.starts === false;
}

export function envFileLines(compose: string, folder: string): string[] {
  return Object.entries(secretFilesOf(compose)).map(([service, templates]) => {
    const names = Object.keys(templates).map((name) => `${variableName(name)}\n`);
    return `printf '%s' ${shellWord(names.join(''))} >"${folder}/"${shellWord(`${plainName(service)}.env`)} || return 1`;
  });
}

export function applySteps(plans: readonly Plan[], number: NumberOf): string[] {
  return [
    ...partSteps(plans, 'part'),
    ...plans.flatMap(({ component, kind }, index) => {
      if (kind === 'rejoin') return [`qd_step up:${component} qd_up_${index}`];
      return [
        ...(kind === 'remove' ? [`qd_step down:${component} qd_down_${index}`] : []),
        `qd_step place:${component} qd_quietly qd_place_${index}`,
        ...(kind === 'remove' ? [] : [`qd_step up:${component} qd_up_${index}`]),
        `qd_step record:${component} qd_quietly qd_record_${index}`,
      ];
    }),
    ...afterPrograms(plans).map(({ step, ...program }) => `qd_step ${step} ${execOf(program, plans, number)}`),
    'qd_step all :',
  ];
}

function partSteps(plans: readonly Plan[], step: 'part' | 'undo-part'): string[] {
  return plans.flatMap(({ component, joins }, index) => (joins ? [`qd_step ${step}:${component} qd_part_${index}`] : []));
}

/** The last step is undone first. But a service in another container's network follows that container here too. */
export function undoSteps(plans: readonly Plan[], number: NumberOf, { undo }: ScriptOptions): string[] {
  const begun = afterPrograms(plans).filter(({ component }) =>
    plans.every((plan) => plan.component !== component || plan.kind === 'remove' || !isNew(plan)),
  );
  const steps = (joins: boolean) =>
    plans
      .flatMap((plan, index) =>
        undo?.touched.has(plan.component) && (plan.joins !== undefined) === joins
          ? [`qd_step undo:${plan.component} qd_undo_${index}`]
          : [],
      )
      .toReversed();
  return [
    ...(undo && undo.started.size > 0 ? partSteps(plans, 'undo-part') : []),
    ...steps(false),
    ...steps(true),
    ...(undo && undo.started.size > 0 ? begun.map(({ step, ...program }) => `qd_step undo:${step} ${execOf(program, plans, number)}`) : []),
    'qd_step undone :',
  ];
}

export type AfterProgram = Plan['after'][number] & { step: string };

/** Each once, even if several plans name it. */
export function afterPrograms(plans: readonly Plan[]): AfterProgram[] {
  const programs = new Map<string, Plan['after'][number]>();
  for (const program of plans.flatMap(({ after }) => after))
    programs.set(JSON.stringify([program.component, program.service, program.argv]), program);
  const counts = new Map<string, number>();
  return [...programs.values()].map((program) => {
    const count = (counts.get(program.component) ?? 0) + 1;
    counts.set(program.component, count);
    return { ...program, step: `after:${plainName(program.component)}${count > 1 ? `.${count}` : ''}` };
  });
}

function execOf({ component, service, argv }: Omit<AfterProgram, 'step'>, plans: readonly Plan[], number: NumberOf): string {
  const plan = plans.find((candidate) => candidate.component === component);
  const words = shellCommand([plan?.project ?? component, 'exec', '-T', service, ...argv]);
  return `qd_exec ${plan ? triesWhenNew : 1} ${shellWord(component)} qd_bare_${number(component)} -p ${words}`;
}

/** A new component did not exist before. */
export function isNew(plan: Plan): boolean {
  const compose = plan.files.find(({ path }) => path === `${plan.component}/compose.yaml`);
  return compose !== undefined && compose.before === undefined;
}

function restoreFunction(plan: Plan, index: number, { undo }: ScriptOptions): string {
  const pinned = undo?.pinned[plan.component];
  const paths = plan.kind === 'rejoin' ? [] : [...plan.files.map(({ path }) => stackPath(path)), recordFile(plan.component)];
  const started = undo?.started.has(plan.component) ?? false;
  const restore = paths.map((path) => {
    const word = shellWord(path);
    return `if [ -e "$qd_folder/before/"${word} ]; then ${[...foldersOf([path]), `qd_beside before ${word} ''`, `qd_swap ${word}`].join(' && ')} || return 1
else qd_target ${word} && rm -f "$qd_beside_" && qd_delete ${word} || return 1; fi`;
  });
  return `qd_restore_${index}() {
:
${restore.join('\n')}
${pinned === undefined ? '' : `qd_write "$qd_stack/"${shellWord(`${plan.component}/compose.yaml`)} 644 ${shellWord(pinned)} || return 1`}
}
qd_undo_${index}() {
${started && isNew(plan) ? `qd_down_${index} || return` : ''}
qd_quietly qd_restore_${index} || return
${started && !isNew(plan) ? `qd_up_${index} || return` : ''}
:
}`;
}
