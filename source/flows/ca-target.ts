import { Fault } from '../faults/fault.ts';
import { CertificateAuthority } from '../products/certificate-authority.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowWorld } from './flow.ts';
import { entryOf, targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';

/** Throws `usage.component` for what is no authority, `unreachable.component` where it does not run. */
export async function authorityOf(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
): Promise<{ id: string; authority: CertificateAuthority }> {
  const component = componentOf(input);
  const { id } = component;
  const entry = entryOf(world, component);
  if (entry?.speaks?.api !== 'step-ca') {
    throw new Fault({
      code: 'usage.component',
      message: `${id} is no certificate authority that is known here.`,
      remedy: 'Name one: quarterdeck catalog list',
    });
  }
  const target = await targetOf(world, input.place, entry, session.signal, component);
  const container = target.containers.get(entry.speaks.service ?? '');
  if (container?.state !== 'running') {
    throw new Fault({ code: 'unreachable.component', message: `${id} is not running.`, remedy: `Start it: quarterdeck start ${id}` });
  }
  return { id, authority: new CertificateAuthority(world.engineOf(input.place), container) };
}
