import { join, resolve } from 'node:path';
import { upgradeStepText } from '../../catalog/catalog.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { Checklist } from '../../session/checklist.ts';
import type { Session } from '../../session/session.ts';
import { snapshotCommand } from '../../stack/apply/recover.ts';
import type { RunBackup, RunOnHost } from '../../stack/apply/transaction.ts';
import { freeSpace } from '../../stack/free-space.ts';
import { agoText, bytesText } from '../../text/quantities.ts';
import { isBackupRequested } from '../backup/backup-first.ts';
import { backupLocation } from '../backup/backup-target.ts';
import { checklistOutcome, inTheWay, pausedFault, runChecklist, skipItem, skipItems, writeReport } from '../checklist-questions.ts';
import { componentOf } from '../components/service-targets.ts';
import { waitUntilHealthy } from '../components/wait-until-healthy.ts';
import { EngineScope } from '../engine-scope.ts';
import type { FlowContext, FlowInput, FlowOutcome } from '../flow.ts';
import { lastApplied, seeThrough } from './apply-plans.ts';
import { type Deployed, deployed, type StackFacts } from './stack-facts.ts';
import { update } from './update.ts';

const sections = { before: 'Before', change: 'The change', after: 'Afterwards' } as const;

/** A new image is pulled beside the old one, and the old one stays for a rollback. */
const spaceFactor = 2;
const leastFreeBytes = 2_000_000_000;
const freshBackupMs = 24 * 3_600_000;

interface ComponentChecklist {
  scope: EngineScope;
  input: FlowInput;
  component: ComponentView;
  deployed: Deployed;
  list: Checklist;
}

/** Upgrades one component by a checklist. The steps required afterwards include migrations (R84). */
export async function upgradeComponent(session: Session, input: FlowInput, context: FlowContext): Promise<FlowOutcome> {
  const component = componentOf(input);
  const { id } = component;
  const scope = new EngineScope(session, context, input.engineName);
  const found = await deployed(scope, id);
  const { folder, who } = (await context.checklists?.()) ?? { folder: '', who: '' };
  const images = found.facts.entry.services
    .map(({ name }) => component.services.find((service) => service.name === name)?.image ?? '')
    .filter(Boolean);
  const list = await Checklist.open({
    file:
      typeof input.options.checklist === 'string'
        ? resolve(input.options.checklist)
        : join(folder, `component-${input.engineName.replaceAll('/', '-')}-${id}.json`),
    title: `Upgrade of ${id} on ${input.engineName}`,
    facts: { component: id, host: input.engineName, from: images.join(', ') },
    isSame: ({ component, host }) => component === id && host === input.engineName,
    who,
    session,
    kept: input.options.check !== true,
  });
  await skipItems(list, input, ['notes', 'disk', 'backup', ...stepsOf(found).map(({ id: step }) => step)]);
  try {
    return await checklistThrough({ scope, input, component, deployed: found, list });
  } catch (thrown) {
    await list.keepSeen().catch(() => undefined);
    await writeReport(session, input, list, 'Not finished.').catch(() => undefined);
    if (!(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
    const open = list.items.filter(({ state }) => state !== 'ok' && state !== 'skipped' && state !== 'warning');
    const update = list.item('update')?.state;
    // A prompt is cancelled before the change; any other interruption may be in the middle of it.
    const isKnown = update !== 'running' || thrown.code === 'interrupted.cancelled';
    const other = isKnown ? `${id} was not updated.` : `It is unknown whether ${id} was updated.`;
    const isChanged = list.note('update')?.data?.['back'] !== undefined;
    const left = `${id} was ${isChanged ? 'updated' : 'not changed'}; ${open.length > 0 ? `remaining: ${open.map(({ title }) => title).join(', ')}` : 'no steps remain'}.`;
    const message = `${thrown.message.replace(/([^.!?])$/, '$1.')} ${update === 'ok' ? left : other}`;
    throw new Fault(thrown.code, message, `To resume the upgrade: quarterdeck upgrade ${id}`, { cause: thrown });
  }
}

function stepsOf({ facts }: Deployed) {
  return (facts.entry.upgrade?.steps ?? []).map((step, index) => ({
    id: `step-${index + 1}`,
    text: upgradeStepText(step),
    after: typeof step !== 'string',
  }));
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: the checklist from the first step to the last, in the order that users see
async function checklistThrough(checklist: ComponentChecklist): Promise<FlowOutcome> {
  const { scope, input, component, deployed: found, list } = checklist;
  const { session, context } = scope;
  const { id } = component;
  const steps = stepsOf(found);
  const updated = list.note('update')?.data?.['updated'] === 1;
  const applied = updated ? undefined : await appliedBefore(checklist);
  await observe(checklist, updated || applied !== undefined);
  for (const { id: step, text, after } of steps)
    if ((!updated && !applied) || after) await list.set(step, stepState(list, step, after ? sections.after : sections.before, text));
  await list.set('update', {
    section: sections.change,
    title: 'Update: back up, pull, recreate, wait until healthy',
    state: updated ? 'ok' : applied ? 'running' : 'todo',
    summary: updated ? (list.note('update')?.summary ?? 'done') : (applied?.summary ?? ''),
  });
  if (updated) await setRollback(list, list.note('update')?.data ?? {});
  if (input.options.check === true) {
    const { blocked } = list;
    const complete = blocked.length === 0;
    const message = complete ? `${id} has no blocking items.` : inTheWay(blocked);
    return checklistOutcome(session, input, list, { outcome: 'Checked only; nothing was updated.', message, complete });
  }
  if (applied) {
    const { run, backups = {} } = applied.transaction;
    if (applied.state === 'applied') await seeThrough(scope, applied.transaction);
    await noteUpdate(checklist, { message: `${id} was updated.`, data: { updated: [id], run, backups } });
  } else if (!updated) {
    for (const step of steps.filter(({ after }) => !after)) await confirmStep(checklist, step);
    for (;;) {
      const answer = await runChecklist(session, list, { id: 'checklist', label: `Update ${id}`, go: 'Continue and review the changes' });
      if (answer === 'go') break;
      if (answer === 'again') await observe(checklist, false);
    }
    await list.set('update', { state: 'running' });
    // If the update is interrupted, the resumed run finds by this note what was applied.
    await list.keep('update', { kind: 'seen', state: 'running' });
    const outcome = await update(session, { ...input, component, words: [] }, context);
    if (session.dryRun) return checklistOutcome(session, input, list, { outcome: `Dry run: ${id} was not changed.` });
    const { run, backups = {} } = (outcome.data ?? {}) as UpdateData;
    // A backup without a change: the update failed, and its backup was restored.
    if (run === undefined && Object.keys(backups).length > 0) {
      await list.set('update', { state: 'blocked', summary: outcome.message });
      return checklistOutcome(session, input, list, { outcome: outcome.message, complete: false });
    }
    await noteUpdate(checklist, outcome);
  }
  await list.set('probe', { section: sections.after, title: 'Probe', state: 'running' });
  const isChanged = list.note('update')?.data?.['back'] !== undefined;
  const healthy = await waitUntilHealthy(scope, id, { changed: isChanged && found.facts.entry.upgrade?.rollback === 'safe' });
  await list.set('probe', { state: 'ok', summary: healthy.state.label });
  for (const step of steps.filter(({ after }) => after)) await confirmStep(checklist, step);
  await list.keepSeen();
  await list.end();
  const rollback = list.item('rollback')?.summary ?? '';
  const outcome = isChanged ? `Upgraded ${id}. ${rollback}`.trim() : (list.item('update')?.summary ?? '');
  return checklistOutcome(session, input, list, { outcome });
}

async function appliedBefore({ deployed: { facts }, list }: ComponentChecklist): Promise<RunOnHost | undefined> {
  const begun = list.note('update');
  if (begun?.state !== 'running') return undefined;
  const last = await lastApplied(facts);
  const updates = last?.transaction.plans.some(({ component, kind }) => component === facts.entry.id && kind === 'update');
  return last && updates && last.transaction.startedAt >= begun.at ? last : undefined;
}

function stepState(list: Checklist, id: string, section: string, text: string) {
  const note = list.note(id);
  return {
    section,
    title: text.replace(/\.$/, ''),
    state: note?.kind === 'done' ? ('ok' as const) : ('todo' as const),
    summary: note?.kind === 'done' ? `done (confirmed by ${note.by})` : '',
  };
}

async function confirmStep({ scope, list }: ComponentChecklist, { id, text }: { id: string; text: string }): Promise<void> {
  const { session } = scope;
  const { state } = list.item(id) ?? {};
  if (state === 'ok' || state === 'skipped' || list.note(id)?.kind === 'skipped' || session.dryRun) return;
  const answer = await session.ask.choice({
    id,
    label: text,
    help: 'Quarterdeck cannot detect whether this step is done. Your answer is recorded with your name.',
    choices: [
      { value: 'done', label: 'Done' },
      { value: 'skip', label: 'Skip', detail: 'requires a reason, which is recorded' },
      { value: 'leave', label: 'Pause', detail: 'progress is saved' },
    ],
    initial: 'done',
    fresh: true,
  });
  if (answer === 'leave') throw pausedFault();
  if (answer === 'skip') {
    await skipItem(session, list, id, 'Reason for skipping');
    await list.set(id, { state: 'warning', summary: 'not done' });
    return;
  }
  await list.keep(id, { kind: 'done', summary: text });
  await list.set(id, { state: 'ok', summary: 'done' });
}

async function observe({ input, component, deployed: { facts }, list }: ComponentChecklist, updated: boolean): Promise<void> {
  const { entry } = facts;
  const { notes = [] } = entry.upgrade ?? {};
  await list.set('notes', {
    section: sections.before,
    title: 'Notes on this product',
    state: notes.length > 0 ? 'warning' : 'ok',
    summary: notes[0] ?? 'none in the catalog',
    evidence: [...notes, `runs ${component.services.map(({ image }) => image).join(', ')}`],
    ...(notes.length > 0 && { advice: `Read the release notes of ${entry.product.name} for the versions in between.` }),
  });
  if (updated) return;
  await list.set('disk', { section: sections.before, title: 'Disk space', ...(await diskState(facts, component)) });
  await list.set('backup', { section: sections.before, title: 'Backup', ...backupState(facts, input, component) });
}

async function diskState({ scope, stackFolder }: StackFacts, component: ComponentView) {
  const { engine, host, signal } = scope;
  try {
    const images = await engine.images(signal);
    const sizes = component.services.map(({ image }) => images.find(({ tags }) => tags.includes(image))?.sizeBytes ?? 0);
    const needed = Math.max(leastFreeBytes, spaceFactor * sizes.reduce((sum, size) => sum + size, 0));
    const [space] = await freeSpace(host, [stackFolder], signal);
    if (!space) return { state: 'warning' as const, summary: 'free disk space is unknown' };
    const reported = `${bytesText(space.freeBytes)} free on ${space.mount}`;
    return space.freeBytes < needed
      ? {
          state: 'blocked' as const,
          summary: `${reported}, about ${bytesText(needed)} required`,
          advice: 'Free disk space: quarterdeck prune',
        }
      : { state: 'ok' as const, summary: reported };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    return { state: 'warning' as const, summary: thrown.message, advice: thrown.remedy };
  }
}

function backupState({ scope: { context }, entry }: StackFacts, input: FlowInput, { id, backup }: ComponentView) {
  const location = backupLocation(input, context);
  const last = backup?.atMs === undefined ? 'no earlier backup known' : `last backup: ${agoText(Date.now() - backup.atMs)}`;
  if (context.practice) return { state: 'ok' as const, summary: 'not needed in the practice stack' };
  if (entry.backup.every(({ method }) => method === 'skip')) return { state: 'ok' as const, summary: 'not needed: nothing to back up' };
  if (location !== undefined && isBackupRequested(input))
    return { state: 'ok' as const, summary: `will be created before the change; ${last}` };
  const isFresh = backup?.atMs !== undefined && Date.now() - backup.atMs < freshBackupMs;
  if (isFresh) return { state: 'warning' as const, summary: `no new backup will be created; ${last}` };
  return {
    state: 'blocked' as const,
    summary: `no backup will be created (${isBackupRequested(input) ? 'no backup destination is configured' : '--no-backup'}); ${last}`,
    advice: isBackupRequested(input)
      ? `Run quarterdeck backup ${id} --to /srv/backups, or add "backups: {${input.engineName}: /srv/backups}" to config.yaml.`
      : `Omit --no-backup, or back up first: quarterdeck backup ${id}`,
  };
}

type UpdateData = { updated?: string[]; current?: string[]; run?: string; backups?: Record<string, RunBackup> };

async function noteUpdate({ list, deployed: { facts }, component }: ComponentChecklist, outcome: FlowOutcome): Promise<void> {
  const { id } = component;
  const { updated = [], current = [], run, backups = {} } = (outcome.data ?? {}) as UpdateData;
  const backup = backups[id];
  const summary = current.includes(id) ? `${id} already uses its newest image.` : outcome.message;
  const safe = facts.entry.upgrade?.rollback === 'safe';
  const back = safe
    ? `To undo: quarterdeck rollback ${id}`
    : backup
      ? `To undo: ${snapshotCommand(id, backup)}; rolling back only the image may be refused`
      : `No backup was created before the update. Only an earlier backup can undo it: quarterdeck restore ${id} --snapshot BACKUP`;
  const data = {
    updated: 1,
    ...(run !== undefined && { run }),
    ...(updated.length > 0 && { back, backIs: safe || backup ? 'ok' : 'warning' }),
  };
  await list.keep('update', { kind: 'done', summary, data });
  await list.set('update', {
    state: 'ok',
    summary,
    evidence: [...(run === undefined ? [] : [`run ${run}`]), ...(backup ? [`backup ${backup.stamp} in ${backup.where}`] : [])],
  });
  await setRollback(list, data);
}

/** Saves with the update how to undo it: a later run of the checklist shows it too. */
async function setRollback(list: Checklist, { back, backIs }: Readonly<Record<string, string | number>>): Promise<void> {
  if (back === undefined) return;
  await list.set('rollback', {
    section: sections.after,
    title: 'Rollback',
    state: backIs === 'ok' ? 'ok' : 'warning',
    summary: String(back),
  });
}
