import { agoText } from '../text/quantities.ts';
import type { ClusterApi } from './api-client.ts';
import type { Metadata } from './api-shapes.ts';
import { type CheckResult, worst } from './check-result.ts';

interface VeleroBackup {
  metadata: Metadata;
  status?: { phase?: string; completionTimestamp?: string; errors?: number };
}
interface VeleroSchedule {
  metadata: Metadata;
  spec?: { schedule?: string; paused?: boolean };
  status?: { phase?: string; lastBackup?: string };
}
interface VeleroLocation {
  metadata: Metadata;
  status?: { phase?: string };
}

const dayMs = 86_400_000;

/** When workloads were last backed up: by Velero, the one that can be asked through the API. */
export async function checkBackups(api: ClusterApi, nowMs: number, signal: AbortSignal): Promise<CheckResult> {
  const base = '/apis/velero.io/v1';
  const served = await api.find<object>(base, signal);
  if (!served)
    return {
      state: 'warning',
      summary: 'no Velero here: whether workloads are backed up cannot be seen',
      advice: 'Make sure of it in another way: an etcd snapshot holds no volumes.',
    };
  const [backups, schedules, locations] = await Promise.all([
    api.list<VeleroBackup>(`${base}/backups`, signal),
    api.list<VeleroSchedule>(`${base}/schedules`, signal),
    api.list<VeleroLocation>(`${base}/backupstoragelocations`, signal),
  ]);
  const ended = backups
    .flatMap(({ metadata, status }) => {
      const atMs = Date.parse(status?.completionTimestamp ?? '');
      return Number.isNaN(atMs) ? [] : [{ name: metadata.name, phase: status?.phase ?? '', errors: status?.errors ?? 0, atMs }];
    })
    .sort((one, other) => other.atMs - one.atMs);
  const whole = ended.find(({ phase }) => phase === 'Completed');
  const problems: { state: CheckResult['state']; text: string }[] = [];
  const warn = (text: string) => problems.push({ state: 'warning', text });
  for (const { metadata, status } of locations)
    if (status?.phase !== 'Available') warn(`its place ${metadata.name} is ${status?.phase ?? 'not looked at yet'}`);
  for (const { metadata, spec, status } of schedules) {
    if (spec?.paused) warn(`schedule ${metadata.name} is paused`);
    else if (status?.phase === 'FailedValidation') warn(`schedule ${metadata.name} is refused (FailedValidation)`);
  }
  const [last] = ended;
  if (last && last !== whole && last.phase !== 'Completed')
    warn(`the last one, ${last.name}, is ${last.phase}${last.errors > 0 ? ` with ${last.errors} errors` : ''}`);
  if (!whole) problems.push({ state: 'warning', text: 'none has ever completed' });
  else if (nowMs - whole.atMs > dayMs) warn(`the last complete one is of ${agoText(nowMs - whole.atMs)}`);
  const evidence = ended.slice(0, 8).map(({ name, phase, atMs }) => `${name}  ${phase}  ${new Date(atMs).toISOString()}`);
  if (problems.length === 0)
    return { state: 'ok', summary: `Velero: ${whole?.name}, ${agoText(nowMs - (whole?.atMs ?? nowMs))}`, evidence };
  return {
    state: worst(problems.map(({ state }) => state)),
    summary: `Velero: ${problems.map(({ text }) => text).join('; ')}`,
    evidence,
    advice: 'Take one now and read its phase: velero backup create before-upgrade --wait (it ends with 0 even where it failed in part).',
  };
}
