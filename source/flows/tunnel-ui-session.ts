import { findAddress } from '../calls/find-address.ts';
import { Fault } from '../faults/fault.ts';
import type { ComponentView } from '../fleet/model.ts';
import { TunnelUi, type TunnelUiPlace } from '../products/tunnel-ui.ts';
import type { Session } from '../session/session.ts';
import type { FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { entryOf, targetOf } from './secret-proof.ts';
import { componentOf } from './service-targets.ts';
import { secretName } from './stack-facts.ts';

export interface OpenTunnelUi {
  ui: TunnelUi;
  component: ComponentView;
}

/** Logs in for as long as `use` takes: with the password of the vault, where it has it. */
export async function loggedIn(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  use: (open: OpenTunnelUi) => Promise<FlowOutcome>,
): Promise<FlowOutcome> {
  const component = componentOf(input);
  const ui = await TunnelUi.greet(await placeOf(world, component, session.signal), session.signal);
  if (session.rehearsing) return { message: `Rehearsed: would log in to ${component.id}, and ask what it has first.` };
  if (ui.isOpen) {
    session.show({
      kind: 'item',
      id: 'open',
      title: 'The page wants no password',
      state: 'warning',
      evidence: 'Everybody who reaches it can read the keys of all devices: set PASSWORD.',
    });
    return use({ ui, component });
  }
  const login = await loginOf(session, component, world, ui);
  session.hide(login.password);
  await session.act({
    id: 'log in',
    right: 'operate',
    request: ui.dialect === 'basic' ? 'GET /api/client with user and password' : 'POST /api/session with the password',
    target: { host: input.place, component: component.id },
    run: (grant) => ui.logIn(grant, login),
  });
  const logOut = () =>
    session.act({
      id: 'log out',
      right: 'operate',
      request: ui.dialect === 'basic' ? 'forget user and password' : 'DELETE /api/session',
      target: { host: input.place, component: component.id },
      run: (grant) => ui.logOut(grant),
    });
  let outcome: FlowOutcome;
  try {
    outcome = await use({ ui, component });
  } catch (thrown) {
    // Esc, a wrong name: the session would stay open behind whoever left.
    if (!session.signal.aborted) await logOut().catch(() => undefined);
    throw thrown;
  }
  await logOut();
  return outcome;
}

async function placeOf(world: FlowWorld, component: ComponentView, signal: AbortSignal): Promise<TunnelUiPlace> {
  const entry = entryOf(world, component);
  const port = entry?.speaks?.port;
  if (entry?.speaks?.api !== 'wg-easy' || port === undefined) {
    throw new Fault({
      code: 'usage.component',
      message: `${component.id} is no tunnel server with a web page that is known here.`,
      remedy: 'Name one that is: quarterdeck catalog list',
    });
  }
  const target = await targetOf(world, component.host, entry, signal, component);
  const address = findAddress(target, port);
  if (typeof address === 'string')
    throw new Fault({ code: 'unreachable.component', message: address, remedy: `Start it: quarterdeck start ${component.id}` });
  return {
    host: target.host,
    address,
    shown: `${component.id} (${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port})`,
  };
}

async function loginOf(
  session: Session,
  component: ComponentView,
  world: FlowWorld,
  ui: TunnelUi,
): Promise<{ user: string; password: string }> {
  if (ui.dialect === 'basic') {
    const user = await session.ask.text({
      id: 'user',
      label: 'User of the web page',
      initial: 'admin',
      check: (text) => (text.trim() === '' || text.includes(':') ? 'Write the name, without a colon.' : undefined),
    });
    return { user: user.trim(), password: await askPassword(session) };
  }
  const kept = await keptPassword(session, world, component);
  return { user: '', password: kept ?? (await askPassword(session)) };
}

/** Of the release that was deployed from here, and of no other instance. A vault that cannot be opened is no reason to give up: the operator may know the password. */
async function keptPassword(session: Session, world: FlowWorld, { host, id }: ComponentView): Promise<string | undefined> {
  try {
    return await (await world.vault(session)).read(secretName(host, id, 'PASSWORD'), session.signal);
  } catch (thrown) {
    if (session.signal.aborted || !(thrown instanceof Fault) || thrown.kind === 'interrupted') throw thrown;
    return undefined;
  }
}

function askPassword(session: Session): Promise<string> {
  return session.ask.secret({
    id: 'password',
    label: 'Password of the web page',
    help: 'Sent once, over loopback, to log in.',
    check: (text) => (text === '' ? 'Type the password.' : undefined),
  });
}
