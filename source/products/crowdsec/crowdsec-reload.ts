import { Fault } from '../../faults/fault.ts';
import { unlessFault } from '../../faults/unless-fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import { watchContainer } from '../../flows/components/service.ts';
import type { FlowOutcome } from '../../flows/flow.ts';
import type { Grant } from '../../grants/grant.ts';
import type { Host } from '../../hosts/host.ts';
import type { HubItem } from './client/crowdsec-lists.ts';
import { refusalWords } from './client/cscli.ts';
import { choiceOr } from './prevention-questions.ts';
import type { FlowPrevention } from './prevention-target.ts';

const reloadLimitMs = 180_000;
const startLimitMs = 60_000;
const answersLimitMs = 90_000;
const againMs = 1_000;

/** Reports whether a file changed after CrowdSec was started, as an interrupted run leaves it. Only a container reports its start. */
export async function reloadIsDue({ container, session }: FlowPrevention, items: readonly HubItem[]): Promise<boolean> {
  const paths = items.flatMap(({ enabled, path }) => (enabled && path.startsWith('/') ? [path] : []));
  if (!container || paths.length === 0) return false;
  const { engine, id } = container;
  const { signal } = session;
  const startedMs = (await engine.inspect(id, signal))?.startedMs;
  // The item itself is a symbolic link into the hub.
  const stat = engine.execReading(id, ['stat', '-L', '-c', '%Y', ...paths], { signal });
  const said = await unlessFault(signal, stat);
  const changed = new TextDecoder().decode(said?.stdout).match(/^\d+$/gm) ?? [];
  return startedMs !== undefined && Math.max(...changed.map(Number), 0) * 1000 > startedMs;
}

/** Reports whether a resumed run's change has no effect yet: CrowdSec is still the same process. On a machine that is unknown. */
export async function isNotStartedSince({ session, container }: FlowPrevention): Promise<boolean> {
  const started = container && (await container.engine.inspect(container.id, session.signal))?.startedMs;
  const [first] = session.noted('started');
  if (first === undefined) await session.note('started', String(started));
  return first === String(started);
}

/** Reloads CrowdSec, so that the change takes effect, and reports in the outcome whether it was reloaded. */
export async function reloadedOutcome(prevention: FlowPrevention, message: string, data: object): Promise<FlowOutcome> {
  const reloaded = await reload(prevention);
  const then = reloaded ? 'CrowdSec was reloaded.' : 'The change takes effect when CrowdSec is next reloaded or restarted.';
  return { message: `${message} ${then}`, data: { ...data, reloaded } };
}

/** Reloads CrowdSec; in a container that is a restart, during which bouncers keep their decisions. Returns whether it was reloaded. */
async function reload({ crowdsec, target, container, session, input, context }: FlowPrevention): Promise<boolean> {
  if (input.options['later'] === true) return false;
  const { signal } = session;
  const request = container ? `POST /containers/${container.name}/restart` : 'systemctl reload crowdsec';
  const when = await choiceOr(session, 'Done. The change takes effect when CrowdSec is next reloaded or restarted.', {
    id: 'reload',
    label: 'The change takes effect after a reload.',
    help: `Sends ${request}. Meanwhile, bouncers continue to enforce their decisions.`,
    choices: { now: 'Reload now', later: 'Later' },
    initial: 'now',
  });
  if (when === 'later') return false;
  const before = container && (await container.engine.inspect(container.id, signal))?.startedMs;
  await session.act({
    ...{ id: 'reload', right: 'operate', request, target, limitMs: reloadLimitMs },
    run: (grant) =>
      container
        ? context.fleet.whileStopping(container.id, () => container.engine.writer(grant).restart(container.id, {}))
        : reloadOnMachine(grant, context.hostOf(input.engineName)),
  });
  if (container) {
    await watchContainer(
      { engine: container.engine, signal },
      container,
      (detail) => detail?.state === 'running' && detail.startedMs !== before,
      { limitMs: startLimitMs, otherwise: 'did not restart' },
    );
    context.fleet.refresh(container.key);
  }
  const deadline = performance.now() + answersLimitMs;
  while ((await unlessFault(signal, crowdsec.cscli.read(['lapi', 'status'], signal)))?.exitCode !== 0) {
    if (performance.now() > deadline) {
      const message = 'CrowdSec was reloaded, but its local API does not respond.';
      throw new Fault('failed.reload', message, 'Check the CrowdSec log. Items from the hub may not be compatible with this version.');
    }
    await pauseFor(againMs, signal);
  }
  return true;
}

async function reloadOnMachine(grant: Grant, host: Host): Promise<void> {
  const { signal } = grant;
  const { uid } = await host.facts(signal);
  const argv = [...(uid === 0 ? [] : ['sudo', '-n']), 'systemctl', 'reload', 'crowdsec'];
  const { exitCode, stdout, stderr } = await host.run(grant, argv, { signal, limitMs: reloadLimitMs });
  if (exitCode === 0) return;
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  const message = `CrowdSec was not reloaded: ${refusalWords({ exitCode, stdout: out ?? '', stderr: error ?? '' })}.`;
  throw new Fault('failed.reload', message, 'The change is saved and takes effect when CrowdSec is reloaded or restarted.');
}
