import { httpEndpointOf } from '../../calls/http-client.ts';
import { inspectConfig } from '../../config-files/wireguard/inspect-config.ts';
import { Fault } from '../../faults/fault.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { apiComponentOf } from '../../flows/api-component.ts';
import { argumentOrPrompt } from '../../flows/argument-or-prompt.ts';
import { showProblems } from '../../flows/catalog/config-problems.ts';
import { chooseOne, deleteOne } from '../../flows/delete-one.ts';
import type { FlowContext, FlowInput, Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { qrCode } from '../../flows/qr-code.ts';
import { keptSecret } from '../../flows/secrets/kept-secret.ts';
import type { Act, ActTarget, Session } from '../../session/session.ts';
import { agoText, bytesText, countText } from '../../text/quantities.ts';
import { type TunnelClient, TunnelUi } from './client/tunnel-ui.ts';

/** Step name under which the device is recorded, in case the run is interrupted. */
const deviceStep = 'device';
/** Enough time to scan the code with a camera. */
const shownSeconds = 60;

export const clientsList = onTunnelUi(async ({ ui, component }, session) => {
  const clients = await ui.clients(session.signal);
  const nowMs = Date.now();
  const columns: Columns<TunnelClient> = {
    DEVICE: ({ name }) => name,
    STATE: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
    ADDRESS: ({ address }) => address,
    'LAST SEEN': ({ lastHandshakeMs }) => (lastHandshakeMs === undefined ? 'never' : agoText(nowMs - lastHandshakeMs)),
    RECEIVED: ({ receivedBytes }) => bytesText(receivedBytes),
    SENT: ({ sentBytes }) => bytesText(sentBytes),
  };
  showList(session, clients, columns, { right: ['RECEIVED', 'SENT'] });
  return {
    message: `${component.id}: ${countText(clients.length, 'device')}.`,
    data: { component: component.id, host: component.host, clients: clients.map(jsonOf) },
  };
});

export const clientsAdd = onTunnelUi(async (open, session, input) => {
  const { ui, component, target } = open;
  const before = await ui.clients(session.signal);
  const name = await newName(session, input, before, ui.path());
  await session.act({
    id: 'add',
    right: 'operate',
    request: `POST ${ui.path()} {"name": "${name}"}`,
    target,
    // An interrupted run created it: the name was free when it was recorded.
    done: async () => before.some((one) => one.name === name),
    run: (grant) => ui.add(grant, name),
  });
  const made = (await ui.clients(session.signal)).find((one) => one.name === name);
  if (!made) throw new Fault('failed.tunnelUi', `${component.id} accepted the device ${name}, but does not list it.`, 'Check the log.');
  try {
    await reveal(session, input, open, made);
  } catch (thrown) {
    // Even if it cannot be shown, the device exists, and the operator has to know that.
    if (!(thrown instanceof Fault) || (thrown.code !== 'refused.pipe' && thrown.kind !== 'interrupted')) throw thrown;
    const message = `${name} was created (${made.address}), but its configuration could not be shown: ${thrown.message}`;
    const remedy = `Show the configuration: quarterdeck clients show ${component.id} ${name}`;
    throw new Fault(thrown.code, message, remedy, { cause: thrown });
  }
  const data = { component: component.id, host: component.host, client: jsonOf(made) };
  return { message: `Added ${name} with address ${made.address}.`, data };
});

export const clientsShow = onTunnelUi(async (open, session, input) => {
  const client = await chosen(session, input, await open.ui.clients(session.signal), {
    sends: `GET ${open.ui.path('ID')}/configuration. The response contains the private key of the device.`,
  });
  await reveal(session, input, open, client);
  return { message: `Configuration of ${client.name}.`, data: { component: open.component.id, client: jsonOf(client) } };
});

export const clientsDisable = setEnabled(false);
export const clientsEnable = setEnabled(true);

export const clientsRemove = onTunnelUi(({ ui, component, target }, session, input) =>
  deleteOne(session, {
    ...device,
    verb: 'remove',
    list: () => ui.clients(session.signal),
    choose: (clients) => chosen(session, input, clients, { sends: `DELETE ${ui.path('ID')}, after a confirmation.` }),
    action: ({ id, name, address }) => ({
      request: `DELETE ${ui.path(id)}`,
      consequences: [
        `The keys of ${name} are deleted, so its configuration stops working.`,
        `The address ${address} may be reused for another device.`,
      ],
      target,
      run: (grant) => ui.remove(grant, id),
    }),
    stillThere: { code: 'failed.tunnelUi', remedy: 'Check the log.' },
    data: ({ name }) => ({ component: component.id, name }),
  }),
);

function setEnabled(enabled: boolean): Procedure {
  const verb = enabled ? 'enable' : 'disable';
  return onTunnelUi(async ({ ui, component, target }, session, input) => {
    const clients = await ui.clients(session.signal);
    const client = await chosen(session, input, clients, {
      isLikely: (one) => one.enabled !== enabled,
      sends: `POST ${ui.path('ID')}/${verb}. The keys and the address of the device are kept.`,
    });
    if (client.enabled === enabled)
      return { message: `${client.name} is already ${verb}d.`, data: { component: component.id, client: jsonOf(client) } };
    const find = async (signal: AbortSignal) => (await ui.clients(signal)).find(({ id }) => id === client.id);
    await session.act({
      id: verb,
      right: 'operate',
      request: `POST ${ui.path(client.id)}/${verb} (${client.name})`,
      target,
      done: async () => (await find(session.signal))?.enabled === enabled,
      run: (grant) => ui.setEnabled(grant, client.id, enabled),
    });
    const now = await find(session.signal);
    if (now?.enabled !== enabled)
      throw new Fault('failed.tunnelUi', `${component.id} accepted the request, but ${client.name} was not changed.`, 'Check the log.');
    return { message: `${enabled ? 'Enabled' : 'Disabled'} ${client.name}.`, data: { component: component.id, client: jsonOf(now) } };
  });
}

async function reveal(session: Session, input: FlowInput, { ui, target }: OpenTunnelUi, client: TunnelClient): Promise<void> {
  const plain = input.options['plain'] === true;
  await session.act({
    id: 'show',
    right: 'reveal',
    request: `GET ${ui.path(client.id)}/configuration (${client.name})`,
    target,
    run: async (grant) => {
      const config = (await ui.configuration(grant, client.id)).trim().replaceAll(/\n{3,}/g, '\n\n');
      session.hide(config);
      for (const [, , key] of config.matchAll(/^\s*(PrivateKey|PresharedKey)\s*=\s*(\S+)/gim)) if (key !== undefined) session.hide(key);
      if (!plain) showProblems(session, client.name, inspectConfig(config).problems);
      const how = plain ? { plain } : { code: qrCode(`${config}\n`) };
      session.show({ kind: 'secret', label: `Configuration of ${client.name}`, value: config, secondsLeft: shownSeconds, ...how });
    },
  });
}

function jsonOf({ lastHandshakeMs, ...client }: TunnelClient): object {
  return { ...client, ...(lastHandshakeMs !== undefined && { lastHandshake: new Date(lastHandshakeMs).toISOString() }) };
}

const oneWord = { takes: 'Specify one device at a time', remedy: 'Quote a name that contains spaces.' };

async function newName(session: Session, input: FlowInput, clients: readonly TunnelClient[], path: string): Promise<string> {
  const [noted] = session.noted(deviceStep);
  if (noted !== undefined) return noted;
  const check = (text: string) => {
    const name = text.trim();
    if (!/^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,39}$/u.test(name)) return 'Enter 1 to 40 letters, digits, spaces or . _ @ -';
    return clients.some((one) => one.name === name) ? `${name} already exists.` : undefined;
  };
  const [given] = wordsUpTo(1, input, oneWord);
  const question = { id: 'name', label: 'Device name', help: `For example, alice-phone. Sends POST ${path}.`, check };
  const name = await unlessCancelled(session, 'No device was added.', () =>
    argumentOrPrompt(session, { ...question, given, code: 'usage.client', remedy: 'Use another name.' }),
  );
  await session.note(deviceStep, name);
  return name;
}

const device = { noun: 'device', idOf: ({ id }: TunnelClient) => id, nameOf: ({ name }: TunnelClient) => name };

type Offer = { sends: string; isLikely?: (client: TunnelClient) => boolean };

async function chosen(session: Session, input: FlowInput, clients: readonly TunnelClient[], { sends, isLikely = () => true }: Offer) {
  const [word] = wordsUpTo(1, input, oneWord);
  const likely = word === undefined ? clients.filter(isLikely) : [];
  return unlessCancelled(session, 'No device was changed.', () =>
    chooseOne(session, likely.length > 0 ? likely : clients, {
      ...device,
      ...{ word, step: 'client', help: `Sends ${sends}`, code: 'usage.client' },
      detailOf: ({ address, enabled }) => `${address}, ${enabled ? 'enabled' : 'disabled'}`,
      whenNone: 'Add a device: quarterdeck clients add COMPONENT',
    }),
  );
}

type OpenTunnelUi = { ui: TunnelUi; component: ComponentView; target: ActTarget };

/** Creates a flow that is logged in while it runs, with the password of the keychain if it has one. */
function onTunnelUi(run: (open: OpenTunnelUi, ...args: Parameters<Procedure>) => ReturnType<Procedure>): Procedure {
  return async (session, input, context) => {
    const found = await apiComponentOf(session, input, context, { name: 'wg-easy', what: 'tunnel server with a web UI' });
    const { component } = found;
    const target = { host: input.engineName, component: component.id };
    // The page supports only plain HTTP.
    const ui = await TunnelUi.greet({ ...httpEndpointOf(found.target, found.api.port ?? ''), tls: false }, session.signal);
    if (session.dryRun) return { message: `Dry run: would log in to ${component.id} and list its devices first.` };
    if (ui.isOpen) {
      const evidence = 'Anyone who can reach the web UI can read the keys of all devices. Set PASSWORD (PASSWORD_HASH in wg-easy 14).';
      session.show({ kind: 'item', id: 'open', title: 'The web UI has no password', state: 'warning', evidence });
      return run({ ui, component, target }, session, input, context);
    }
    const login = await loginOf(session, component, context, ui);
    session.hide(login.password);
    const [opens, closes] =
      ui.dialect === 'basic'
        ? ['GET /api/client with the user name and password', 'discard the user name and password']
        : ['POST /api/session with the password', 'DELETE /api/session'];
    const act = (id: string, request: string, run: Act<void>['run']) => session.act({ id, right: 'operate', request, target, run });
    await act('log in', opens, (grant) => ui.logIn(grant, login));
    const logOut = () => act('log out', closes, (grant) => ui.logOut(grant));
    const outcome = await run({ ui, component, target }, session, input, context).catch(async (thrown: unknown) => {
      // After Esc or a wrong name, the session would stay open.
      if (!session.signal.aborted) await logOut().catch(() => undefined);
      throw thrown;
    });
    await logOut();
    return outcome;
  };
}

async function loginOf(session: Session, component: ComponentView, context: FlowContext, { dialect }: TunnelUi) {
  const userProblem = (text: string) => (text.trim() === '' || text.includes(':') ? 'Enter a user name without a colon.' : undefined);
  const name = { id: 'user', label: 'Web UI user', initial: 'admin', check: userProblem };
  const user = dialect === 'basic' ? (await session.ask.text(name)).trim() : '';
  const kept = dialect === 'basic' ? undefined : await keptSecret(session, context, component, 'PASSWORD');
  const check = (text: string) => (text === '' ? 'Enter the password.' : undefined);
  const question = { id: 'password', label: 'Web UI password', help: 'Sent only over loopback or TLS, and not stored.', check };
  return { user, password: kept ?? (await session.ask.secret(question)) };
}
