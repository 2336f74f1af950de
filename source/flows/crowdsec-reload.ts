import { Fault } from '../faults/fault.ts';
import { pauseFor } from '../faults/waits.ts';
import type { HubItem } from '../products/crowdsec-hub.ts';
import { refusalWords } from '../products/cscli.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { answerOr, leavingSays } from './prevention-questions.ts';
import type { Prevention } from './prevention-target.ts';
import { watchContainer } from './watch-container.ts';

const reloadLimitMs = 180_000;
const startLimitMs = 60_000;
const answersLimitMs = 90_000;
const againMs = 1_000;

export function reloadText(reloaded: boolean): string {
  return reloaded ? ' CrowdSec was reloaded.' : ' It takes effect with the next reload or restart of CrowdSec.';
}

/**
 * Did something of this come after CrowdSec was started, so that it does not count yet? A run that broke off before the reload left it so. False where nobody can
 * tell: only a container says when it was started.
 */
export async function reloadIsDue(
  world: FlowWorld,
  place: string,
  { containerId }: Prevention,
  items: readonly Pick<HubItem, 'enabled' | 'path'>[],
  signal: AbortSignal,
): Promise<boolean> {
  const paths = items.flatMap(({ enabled, path }) => (enabled && path.startsWith('/') ? [path] : []));
  if (containerId === undefined || paths.length === 0) return false;
  const engine = world.engineOf(place);
  const startedMs = (await engine.inspect(containerId, signal))?.startedMs;
  // The item itself is a link into the hub.
  const said = await engine.execReading(containerId, ['stat', '-L', '-c', '%Y', ...paths], { signal }).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return undefined;
    throw thrown;
  });
  const changed = new TextDecoder()
    .decode(said?.stdout)
    .split('\n')
    .filter((line) => /^\d+$/.test(line))
    .map((line) => Number(line) * 1000);
  return startedMs !== undefined && Math.max(...changed, 0) > startedMs;
}

/**
 * Goes on with a run that changed something and broke off, and CrowdSec is still the process that it was then: what was changed does not count yet. On the machine itself nobody
 * can tell, and one reload more does no harm.
 */
export async function isNotStartedSince(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  { containerId }: Prevention,
): Promise<boolean> {
  const engine = world.engineOf(input.place);
  const started = containerId === undefined ? undefined : (await engine.inspect(containerId, session.signal))?.startedMs;
  const [first] = session.noted('started');
  if (first === undefined) await session.note('started', String(started));
  return first === String(started);
}

/** New rules count after it. In a container that is a restart: bouncers keep what they have meanwhile. Answers whether it was done. */
export async function reload(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  { crowdsec, component, containerId }: Prevention,
): Promise<boolean> {
  if (input.options['later'] === true) return false;
  const inContainer = component !== undefined && containerId !== undefined;
  const request = inContainer ? `POST /containers/${component.id}/restart` : 'systemctl reload crowdsec';
  const when = await leavingSays(
    () => 'It is done, and takes effect with the next reload or restart of CrowdSec.',
    () =>
      answerOr(
        () =>
          session.ask.choice({
            id: 'reload',
            label: 'It takes effect after a reload.',
            help: `Sends ${request}. Bouncers keep what they have meanwhile.`,
            choices: [
              { value: 'now', label: 'Reload now' },
              { value: 'later', label: 'Later' },
            ],
            initial: 'now',
          }),
        'now',
      ),
  );
  if (when === 'later') return false;
  const target = { host: input.place, ...(component && { component: component.key }) };
  if (inContainer) {
    const engine = world.engineOf(input.place);
    const before = (await engine.inspect(containerId, session.signal))?.startedMs;
    await session.act({
      id: 'reload',
      right: 'operate',
      request,
      target,
      limitMs: reloadLimitMs,
      run: (grant) => world.fleet.whileStopping(containerId, () => engine.writer(grant).restart(containerId, {})),
    });
    await watchContainer(engine, containerId, (detail) => detail?.state === 'running' && detail.startedMs !== before, {
      signal: session.signal,
      limitMs: startLimitMs,
      otherwise: 'was not seen to start anew',
      name: component.id,
    });
    world.fleet.refresh(component.key);
  } else {
    await session.act({
      id: 'reload',
      right: 'operate',
      request,
      target,
      limitMs: reloadLimitMs,
      run: async (grant) => {
        const host = world.hostOf(input.place);
        const { uid } = await host.facts(grant.signal);
        const argv = [...(uid === 0 ? [] : ['sudo', '-n']), 'systemctl', 'reload', 'crowdsec'];
        const answer = await host.run(grant, argv, { signal: grant.signal, limitMs: reloadLimitMs });
        if (answer.exitCode === 0) return;
        const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
        throw new Fault({
          code: 'failed.reload',
          message: `CrowdSec was not reloaded: ${refusalWords({ exitCode: answer.exitCode, stdout: text(answer.stdout), stderr: text(answer.stderr) })}.`,
          remedy: 'What was changed is there, and takes effect when it is reloaded or restarted.',
        });
      },
    });
  }
  const deadline = performance.now() + answersLimitMs;
  while (!(await answers(crowdsec.cscli.read(['lapi', 'status'], session.signal), session.signal))) {
    if (performance.now() > deadline) {
      throw new Fault({
        code: 'failed.reload',
        message: 'CrowdSec was reloaded, and its local API does not answer.',
        remedy: 'Look at its log: what came from the hub may not fit this version.',
      });
    }
    await pauseFor(againMs, session.signal);
  }
  return true;
}

async function answers(asking: Promise<{ exitCode: number }>, signal: AbortSignal): Promise<boolean> {
  try {
    return (await asking).exitCode === 0;
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof Fault) return false;
    throw thrown;
  }
}
