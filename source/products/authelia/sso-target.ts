import { apiComponentOf, runningContainer } from '../../flows/api-component.ts';
import type { FlowContext, FlowInput } from '../../flows/flow.ts';
import type { Session } from '../../session/session.ts';
import { readPortalConfig } from './client/sso-config.ts';
import { SsoPortal } from './client/sso-portal.ts';

/** The portal of a flow, with the session that works on it. */
export type RunningPortal = Awaited<ReturnType<typeof portalOf>>;

/** Throws `usage.component` if the component is not a portal, `unreachable.component` if it does not run. */
export async function portalOf(session: Session, input: FlowInput, context: FlowContext) {
  const stackFolder = await context.stackFolderOf(input.engineName, session.signal);
  const found = await apiComponentOf(session, input, context, { name: 'authelia', what: 'single sign-on portal' });
  const { component, entry, target } = found;
  const container = runningContainer(found);
  const engine = context.engineOf(input.engineName);
  const portal = new SsoPortal(engine, container);
  const config = readPortalConfig(await portal.configuration(session.signal));
  return { session, context, id: component.id, entry, target, host: target.host, engine, container, portal, config, stackFolder };
}
