import type { CallTarget } from '../../calls/call.ts';
import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { Fault } from '../../faults/fault.ts';
import { pauseFor } from '../../faults/waits.ts';
import type { Grant } from '../../grants/grant.ts';
import { cleanLine } from '../../text/clean.ts';
import { targetOf } from '../call-target.ts';
import type { EngineScope } from '../engine-scope.ts';

/** A component's response to a secret. `unclear` has the reason; `final`: waiting does not help. */
export type Verdict = { says: 'accepted' | 'refused' } | { says: 'unclear'; why: string; final?: true };

export interface HeldSecret {
  component: string;
  variable: string;
  entry: CatalogEntry;
  field: ComponentField;
}

const readyLimitMs = 60_000;
const againMs = 500;

/** Runs the command that `rotate` declares, with the value on stdin, in the container whose data hold another one. */
async function runRotate(target: CallTarget, field: ComponentField, which: 'old' | 'new', value: string, grant: Grant): Promise<void> {
  const program = field.rotate;
  if (!program || 'never' in program) return;
  const { exitCode, stderr } = await runWith(target, program, value, grant);
  if (exitCode === 0) return;
  const message = `${target.entry.id} did not accept the ${which} ${field.name}: ${lastLine(stderr) || `the program exited with ${exitCode}`}.`;
  throw new Fault('failed.rotate', message, `Check the log: quarterdeck logs ${target.entry.id}`);
}

/** A database keeps its passwords itself. Can be repeated. `patient`: its container was started just now, and gets a minute. */
export async function writeToData(
  scope: EngineScope,
  { component, entry, field }: HeldSecret,
  value: string,
  { id, which, patient }: { id: string; which: 'old' | 'new'; patient: boolean },
): Promise<boolean> {
  const { session, context, engineName } = scope;
  if (!field.rotate || 'never' in field.rotate) return false;
  const reported = await session.act({
    id,
    right: 'operate',
    request: `set the ${which} ${field.name} in ${component}, through standard input of a program`,
    target: { host: engineName, component },
    run: async (grant) => {
      for (const deadline = performance.now() + (patient ? readyLimitMs : 0); ; await pauseFor(againMs, grant.signal)) {
        try {
          await runRotate(await targetOf(context, engineName, entry, grant.signal), field, which, value, grant);
          return true;
        } catch (thrown) {
          if (grant.signal.aborted || performance.now() >= deadline) throw thrown;
        }
      }
    },
  });
  return reported === true;
}

/** Checks with the component whether a value is correct. If `patient`, a component that is still starting is queried again for a minute. */
export async function tryValue(
  target: CallTarget,
  field: ComponentField,
  value: string,
  { grant, patient }: { grant: Grant; patient: boolean },
): Promise<Verdict> {
  const deadline = performance.now() + readyLimitMs;
  for (;;) {
    const verdict = await tryOnce(target, field, value, grant);
    if (verdict.says !== 'unclear' || verdict.final || !patient || performance.now() > deadline) return verdict;
    await pauseFor(againMs, grant.signal);
  }
}

async function tryOnce(target: CallTarget, field: ComponentField, value: string, grant: Grant): Promise<Verdict> {
  const proof = field.verify;
  if (!proof) return { says: 'unclear', why: 'its catalog entry defines no call that authenticates with this secret' };
  if (!('call' in proof)) {
    const { exitCode } = await runWith(target, proof, value, grant);
    if (exitCode === 126 || exitCode === 127) return { says: 'unclear', why: `${proof.argv[0]} could not be run` };
    return { says: exitCode === 0 ? 'accepted' : 'refused' };
  }
  const call = target.entry.calls[proof.call];
  if (!call) return { says: 'unclear', why: `its catalog entry has no call "${proof.call}"` };
  const { runCall } = await import('../../calls/run-call.ts');
  const inputs = { ...proof.with, [proof.input]: value };
  const answer = await runCall(target, { name: proof.call, call, inputs, signal: grant.signal, grant }).catch((thrown: unknown) => {
    if (thrown instanceof Fault && thrown.code === 'refused.clear') return thrown;
    throw thrown;
  });
  if (answer instanceof Fault) return { says: 'unclear', why: answer.message.replace(/\.$/, ''), final: true };
  if (answer.status === 401 || answer.status === 403) return { says: 'refused' };
  if (answer.ok && answer.status >= 200 && answer.status < 400) return { says: 'accepted' };
  return {
    says: 'unclear',
    why: answer.failure ? cleanLine(answer.failure).replace(/\.$/, '') : `it responded with status ${answer.status}`,
  };
}

async function runWith(target: CallTarget, { service, argv }: { service: string; argv: readonly string[] }, value: string, grant: Grant) {
  const container = target.containers.get(service);
  if (container?.state !== 'running') {
    const name = target.name ?? target.entry.id;
    throw new Fault('failed.rotate', `The ${service} service of ${name} is not running.`, `Start it: quarterdeck start ${name}`);
  }
  return target.engine.writer(grant).exec(container.id, argv, { stdin: Buffer.from(`${value}\n`) });
}

function lastLine(bytes: Uint8Array): string {
  const lines = new TextDecoder().decode(bytes).trim().split('\n');
  return cleanLine(lines.at(-1) ?? '').replace(/\.$/, '');
}
