import { join, resolve } from 'node:path';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { Checklist } from '../session/checklist.ts';
import type { Session } from '../session/session.ts';
import { freeSpace } from '../stack/free-space.ts';
import type { RunOnHost } from '../stack/transaction.ts';
import { agoText, bytesText } from '../text/quantities.ts';
import { seeThrough } from './apply-plans.ts';
import { backupPlace, wantsBackup } from './backup-first.ts';
import type { FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { lastApplied } from './last-change.ts';
import { componentOf } from './service-targets.ts';
import { type Standing, standing } from './standing.ts';
import { update } from './update.ts';
import { waitUntilHealthy } from './wait-until-healthy.ts';
import { askWalk, checklistData, inTheWay, skipsOf, writeReport } from './walk-questions.ts';

const sections = { before: 'Before', change: 'The change', after: 'Afterwards' } as const;

/** An image is fetched beside the old one, and the old one stays for the way back. */
const roomFactor = 2;
const leastFreeBytes = 2_000_000_000;
const upToDate = 'up to date already';
const freshBackupMs = 24 * 3_600_000;

interface ComponentWalk {
  session: Session;
  input: FlowInput;
  world: FlowWorld;
  component: ComponentView;
  standing: Standing;
  list: Checklist;
}

/** Steps of the catalog that are done when the new image runs: the others come before it. */
export const isAfterwards = (step: string) => /^(?:afterwards|then|when it is back|after)\b/i.test(step) || /\bmigrat/i.test(step);

/**
 * The same walk for one component: its notes, what an update wants done before, disk and backup; the update itself, which backs up, fetches, recreates and waits until
 * the probe is content; what it wants done afterwards, migrations among it (R84); and the way back.
 */
export async function upgradeComponent(session: Session, input: FlowInput, world: FlowWorld): Promise<FlowOutcome> {
  const component = componentOf(input);
  const { id } = component;
  const found = await standing(session, world, input.place, id);
  const { folder, who } = (await world.checklists?.()) ?? { folder: '', who: '' };
  const images = found.facts.entry.services
    .map(({ name }) => component.services.find((service) => service.name === name)?.image ?? '')
    .filter(Boolean);
  const list = await Checklist.open({
    file:
      typeof input.options.checklist === 'string'
        ? resolve(input.options.checklist)
        : join(folder, `component-${input.place.replaceAll('/', '-')}-${id}.json`),
    title: `Upgrade of ${id} on ${input.place}`,
    facts: { component: id, host: input.place, from: images.join(', ') },
    who,
    session,
    kept: input.options.check !== true,
  });
  for (const [item, reason] of skipsOf(input)) await list.skip(item, reason);
  const walk: ComponentWalk = { session, input, world, component, standing: found, list };
  try {
    return await walkThrough(walk);
  } catch (thrown) {
    await list.keepSeen().catch(() => undefined);
    await writeReport(session, input, list, 'Not finished.').catch(() => undefined);
    if (!(thrown instanceof Fault) || thrown.kind !== 'interrupted') throw thrown;
    const open = list.items.filter(({ state }) => state !== 'ok' && state !== 'skipped' && state !== 'warning');
    throw new Fault({
      code: thrown.code,
      message: `${thrown.message.replace(/([^.!?])$/, '$1.')} ${list.item('update')?.state === 'ok' ? `${id} is updated; left to do: ${open.map(({ title }) => title).join(', ') || 'nothing'}.` : `${id} was not updated.`}`,
      remedy: `Go on, you or somebody else: quarterdeck upgrade ${id}`,
      cause: thrown,
    });
  }
}

async function walkThrough(walk: ComponentWalk): Promise<FlowOutcome> {
  const { session, input, world, component, standing: found, list } = walk;
  const { id } = component;
  const steps = (found.facts.entry.upgrade?.steps ?? []).map((text, index) => ({
    id: `step-${index + 1}`,
    text,
    after: isAfterwards(text),
  }));
  const updated = list.note('update')?.data?.['updated'] === 1;
  const applied = updated ? undefined : await appliedBefore(walk);
  await observe(walk, updated || applied !== undefined);
  for (const { id: step, text, after } of steps)
    if ((!updated && !applied) || after) await list.set(step, stepState(list, step, after ? sections.after : sections.before, text));
  await list.set('update', {
    section: sections.change,
    title: 'Update: back up, fetch, recreate, wait for its probe',
    state: updated ? 'ok' : applied ? 'running' : 'todo',
    summary: updated ? (list.note('update')?.summary ?? 'done') : (applied?.sentence ?? ''),
  });
  if (updated) await setWayBack(list, list.note('update')?.data ?? {});
  if (input.options.check === true) {
    const { blocked } = list;
    const report = await writeReport(session, input, list, 'Only looked.');
    return {
      message: `${blocked.length === 0 ? `Nothing is in the way of ${id}.` : inTheWay(blocked)}${report ? ` Report: ${report}` : ''}`,
      data: checklistData(list),
      ...(blocked.length > 0 && { exitCode: 1 }),
    };
  }
  if (applied) {
    const { run, backups = {} } = applied.transaction;
    if (applied.state === 'applied') await seeThrough(session, world, input.place, applied.transaction);
    await noteUpdate(walk, { message: `${id} was updated.`, data: { updated: [id], run, backups } });
  } else if (!updated) {
    for (const step of steps.filter(({ after }) => !after)) await confirmStep(walk, step);
    for (;;) {
      const answer = await askWalk(session, list, { id: 'walk', label: `Update ${id}?`, go: 'Go on: what it changes is shown first' });
      if (answer === 'go') break;
      if (answer === 'again') await observe(walk, false);
    }
    await list.set('update', { state: 'running' });
    // Should it break off in there, whoever goes on finds by this what it applied.
    await list.keep('update', { kind: 'seen', state: 'running' });
    const outcome = await update.run(session, { ...input, component, words: [] }, world);
    if (session.rehearsing) return { message: `Rehearsed: ${id} is as it was.`, data: checklistData(list) };
    await noteUpdate(walk, outcome);
  }
  await list.set('probe', { section: sections.after, title: 'Its probe', state: 'running' });
  const healthy = await waitUntilHealthy(session, world, input.place, id, { changed: list.item('update')?.summary !== upToDate });
  await list.set('probe', { state: 'ok', summary: healthy.word });
  for (const step of steps.filter(({ after }) => after)) await confirmStep(walk, step);
  await list.keepSeen();
  await list.end();
  const rollback = list.item('rollback')?.summary ?? '';
  const current = list.item('update')?.summary === upToDate;
  const outcome = current ? `${id} is at its newest image already.` : `${id} is upgraded. ${rollback}`.trim();
  const report = await writeReport(session, input, list, outcome);
  return { message: `${outcome}${report ? ` Report: ${report}` : ''}`, data: checklistData(list) };
}

/** An update that was applied since this walk began it, and broke off before that was noted in the list: by its run on the host. */
async function appliedBefore({ session, world, standing: { facts }, list }: ComponentWalk): Promise<RunOnHost | undefined> {
  const begun = list.note('update');
  if (begun?.state !== 'running') return undefined;
  const last = await lastApplied(session, world, facts);
  const updates = last?.transaction.plans.some(({ component, kind }) => component === facts.entry.id && kind === 'update');
  return last && updates && last.transaction.startedAt >= begun.at ? last : undefined;
}

function stepState(list: Checklist, id: string, section: string, text: string) {
  const note = list.note(id);
  return {
    section,
    title: text.replace(/\.$/, ''),
    state: note?.kind === 'done' ? ('ok' as const) : ('todo' as const),
    summary: note?.kind === 'done' ? `done, says ${note.by}` : '',
  };
}

/** What nobody can see from here, a person says. */
async function confirmStep({ session, list }: ComponentWalk, { id, text }: { id: string; text: string }): Promise<void> {
  const { state } = list.item(id) ?? {};
  if (state === 'ok' || state === 'skipped' || list.note(id)?.kind === 'skipped' || session.rehearsing) return;
  const answer = await session.ask.choice({
    id,
    label: text,
    help: 'Nobody can see from here whether it is done. It is kept with your name.',
    choices: [
      { value: 'done', label: 'It is done' },
      { value: 'skip', label: 'Skip it', detail: 'with a reason, which is kept' },
      { value: 'leave', label: 'Leave it here', detail: 'everything is kept' },
    ],
    initial: 'done',
    fresh: true,
  });
  if (answer === 'leave') throw new Fault({ code: 'interrupted.cancelled', message: 'Left here.', remedy: 'Go on whenever you like.' });
  if (answer === 'skip') {
    const reason = await session.ask.text({
      id: `reason ${id}`,
      label: 'Why is it skipped?',
      fresh: true,
      check: (given) => (given.trim().length < 3 ? 'Whoever reads it tomorrow wants a reason.' : undefined),
    });
    await list.skip(id, reason.trim());
    await list.set(id, { state: 'warning', summary: 'not done' });
    return;
  }
  await list.keep(id, { kind: 'done', summary: text });
  await list.set(id, { state: 'ok', summary: 'done' });
}

/** Notes, room, backup. */
async function observe({ session, input, world, component, standing: { facts }, list }: ComponentWalk, updated: boolean): Promise<void> {
  const { entry } = facts;
  const { notes = [] } = entry.upgrade ?? {};
  await list.set('notes', {
    section: sections.before,
    title: 'Notes for this product',
    state: notes.length > 0 ? 'warning' : 'ok',
    summary: notes[0] ?? 'the catalog has none',
    evidence: [...notes, `runs ${component.services.map(({ image }) => image).join(', ')}`],
    ...(notes.length > 0 && { advice: `Read what is new in ${entry.product.name} between these releases.` }),
  });
  if (updated) return;
  await list.set('disk', {
    section: sections.before,
    title: 'Room on the disk',
    ...(await room(session, world, input, facts.stackFolder, component)),
  });
  await list.set('backup', { section: sections.before, title: 'Backup', ...backupState(world, input, component) });
}

async function room(session: Session, world: FlowWorld, { place }: FlowInput, stackFolder: string, component: ComponentView) {
  try {
    const images = await world.engineOf(place).images(session.signal);
    const sizes = component.services.map(({ image }) => images.find(({ tags }) => tags.includes(image))?.sizeBytes ?? 0);
    const needed = Math.max(leastFreeBytes, roomFactor * sizes.reduce((sum, size) => sum + size, 0));
    const [space] = await freeSpace(world.hostOf(place), [stackFolder], session.signal);
    if (!space) return { state: 'warning' as const, summary: 'nobody tells how much there is' };
    const told = `${bytesText(space.freeBytes)} free on ${space.mount}`;
    return space.freeBytes < needed
      ? {
          state: 'blocked' as const,
          summary: `${told}, and about ${bytesText(needed)} are wanted`,
          advice: 'quarterdeck prune removes what nothing uses.',
        }
      : { state: 'ok' as const, summary: told };
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    return { state: 'warning' as const, summary: thrown.message, advice: thrown.remedy };
  }
}

function backupState(world: FlowWorld, input: FlowInput, { id, backup }: ComponentView) {
  const place = backupPlace(input, world);
  const last = backup?.atMs === undefined ? 'none is known' : `the last one is of ${agoText(Date.now() - backup.atMs)}`;
  if (world.practice) return { state: 'ok' as const, summary: 'nothing to save in practice' };
  if (place !== undefined && wantsBackup(input)) return { state: 'ok' as const, summary: `taken before the change; ${last}` };
  const isFresh = backup?.atMs !== undefined && Date.now() - backup.atMs < freshBackupMs;
  if (isFresh) return { state: 'warning' as const, summary: `none is taken now; ${last}` };
  return {
    state: 'blocked' as const,
    summary: `none is taken${wantsBackup(input) ? ', for nobody has said where backups go' : ', as you said'}; ${last}`,
    advice: `quarterdeck backup ${id} --to /srv/backups, or write "backups: {${input.place}: /srv/backups}" into config.yaml.`,
  };
}

async function noteUpdate({ list, standing: { facts }, component: { id } }: ComponentWalk, outcome: FlowOutcome): Promise<void> {
  const {
    updated = [],
    run,
    backups = {},
  } = (outcome.data ?? {}) as { updated?: string[]; run?: string; backups?: Record<string, { stamp: string; where: string }> };
  const backup = backups[id];
  const summary = updated.length === 0 ? upToDate : outcome.message;
  const safe = facts.entry.upgrade?.rollback === 'safe';
  const back = safe
    ? `The way back: quarterdeck rollback ${id}`
    : backup
      ? `The way back: quarterdeck restore ${id} (backup ${backup.stamp}); going back to the old image alone may not be safe`
      : `There is no backup of before: the way back is only quarterdeck rollback ${id}, where its data allows it`;
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
  await setWayBack(list, data);
}

/** Kept with the update: whoever goes on tomorrow is told it too. */
async function setWayBack(list: Checklist, { back, backIs }: Readonly<Record<string, string | number>>): Promise<void> {
  if (back === undefined) return;
  await list.set('rollback', {
    section: sections.after,
    title: 'The way back',
    state: backIs === 'ok' ? 'ok' : 'warning',
    summary: String(back),
  });
}
