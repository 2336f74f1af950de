import { Fault } from '../faults/fault.ts';
import type { TunnelClient } from '../products/tunnel-ui.ts';
import { inspectConfig } from '../products/wireguard/inspect-config.ts';
import type { Session } from '../session/session.ts';
import { agoText, bytesText, countText } from '../text/quantities.ts';
import {
  clientsAddAbout,
  clientsDisableAbout,
  clientsEnableAbout,
  clientsListAbout,
  clientsRemoveAbout,
  clientsShowAbout,
} from './about-tunnel-clients.ts';
import type { Flow, FlowInput, FlowOutcome, FlowWorld } from './flow.ts';
import { qrCode } from './qr-code.ts';
import { askName, chosen } from './tunnel-client-choice.ts';
import { loggedIn, type OpenTunnelUi } from './tunnel-ui-session.ts';

/** Under which it is kept which device a run is about, for the case that it breaks off. */
const deviceStep = 'device';
/** Long enough to point a camera at it. */
const shownSeconds = 60;

export const clientsList: Flow = {
  ...clientsListAbout,
  run: (session, input, world) =>
    loggedIn(session, input, world, async ({ ui, component }) => {
      const clients = await ui.clients(session.signal);
      const nowMs = Date.now();
      if (clients.length > 0)
        session.show({
          kind: 'table',
          columns: ['device', 'state', 'address', 'last there', 'received', 'sent'],
          align: ['left', 'left', 'left', 'left', 'right', 'right'],
          rows: clients.map(({ name, enabled, address, lastHandshakeMs, receivedBytes, sentBytes }) => [
            name,
            enabled ? 'enabled' : 'disabled',
            address,
            lastHandshakeMs === undefined ? 'never' : agoText(nowMs - lastHandshakeMs),
            bytesText(receivedBytes),
            bytesText(sentBytes),
          ]),
        });
      return {
        message: `${component.id}: ${countText(clients.length, 'device')}.`,
        data: { component: component.id, host: component.host, clients: clients.map(jsonOf) },
      };
    }),
};

export const clientsAdd: Flow = {
  ...clientsAddAbout,
  run: (session, input, world) =>
    loggedIn(session, input, world, async (open) => {
      const { ui, component } = open;
      const before = await ui.clients(session.signal);
      const name = await newName(session, input, before);
      await session.act({
        id: 'add',
        right: 'operate',
        request: `POST /api/wireguard/client {"name": "${name}"}`,
        target: { host: input.place, component: component.id },
        // What broke off behind it made it: the name was free when it was noted.
        done: async () => before.some((one) => one.name === name),
        run: (grant) => ui.add(grant, name),
      });
      if (session.rehearsing) return { message: `Rehearsed: ${name} was not made.` };
      const made = (await ui.clients(session.signal)).find((one) => one.name === name);
      if (!made)
        throw new Fault({
          code: 'failed.tunnelUi',
          message: `${component.id} took ${name}, and does not list it.`,
          remedy: 'Look at its log.',
        });
      try {
        await reveal(session, input, open, made);
      } catch (thrown) {
        // Without a screen the device is there all the same: that has to be known.
        if (!(thrown instanceof Fault) || (thrown.code !== 'refused.pipe' && thrown.kind !== 'interrupted')) throw thrown;
        throw new Fault({
          code: thrown.code as 'refused.pipe',
          message: `${name} is made (${made.address}), and nobody has seen its configuration: ${thrown.message}`,
          remedy: `quarterdeck clients show ${component.id} ${name} shows it.`,
          cause: thrown,
        });
      }
      return {
        message: `${name} is let in, as ${made.address}.`,
        data: { component: component.id, host: component.host, client: jsonOf(made) },
      };
    }),
};

export const clientsShow: Flow = {
  ...clientsShowAbout,
  run: (session, input, world) =>
    loggedIn(session, input, world, async (open) => {
      const client = await chosen(session, input, await open.ui.clients(session.signal), {
        sends: 'GET /api/wireguard/client/ID/configuration: its private key is in the answer.',
      });
      const shown = await reveal(session, input, open, client);
      return {
        message: shown ? `The configuration of ${client.name} was shown.` : 'Rehearsed: nothing was shown.',
        data: { component: open.component.id, client: jsonOf(client) },
      };
    }),
};

export const clientsDisable: Flow = { ...clientsDisableAbout, run: (session, input, world) => setEnabled(session, input, world, false) };
export const clientsEnable: Flow = { ...clientsEnableAbout, run: (session, input, world) => setEnabled(session, input, world, true) };

export const clientsRemove: Flow = {
  ...clientsRemoveAbout,
  run: (session, input, world) =>
    loggedIn(session, input, world, async ({ ui, component }) => {
      const there = await ui.clients(session.signal);
      const [gone = ''] = session.noted(deviceStep).filter((one) => there.every((client) => client.id !== one.split(' ')[0]));
      if (gone !== '') {
        const name = gone.slice(gone.indexOf(' ') + 1);
        return { message: `${name} is removed.`, data: { component: component.id, name } };
      }
      const { id, name, address } = await chosen(session, input, there, {
        sends: 'DELETE /api/wireguard/client/ID, after one more question.',
      });
      if (!session.rehearsing) await session.note(deviceStep, `${id} ${name}`);
      const done = await session.act({
        id: 'remove',
        right: 'destroy',
        title: `Remove ${name} from ${component.id}`,
        request: `DELETE /api/wireguard/client/${id}`,
        consequences: [
          `The keys of ${name}: its configuration is worth nothing afterwards.`,
          `Its address ${address}, which another device may get.`,
        ],
        target: { host: input.place, component: component.id },
        done: async () => (await ui.clients(session.signal)).every((one) => one.id !== id),
        run: async (grant) => {
          await ui.remove(grant, id);
          return true;
        },
      });
      return {
        message: done === undefined && session.rehearsing ? 'Rehearsed: nothing was removed.' : `${name} is removed.`,
        data: { component: component.id, name },
      };
    }),
};

function setEnabled(session: Session, input: FlowInput, world: FlowWorld, enabled: boolean): Promise<FlowOutcome> {
  return loggedIn(session, input, world, async ({ ui, component }) => {
    const clients = await ui.clients(session.signal);
    const client = await chosen(session, input, clients, {
      isLikely: (one) => one.enabled !== enabled,
      sends: `POST /api/wireguard/client/ID/${enabled ? 'enable' : 'disable'}: its keys and its address stay.`,
    });
    const word = enabled ? 'let in' : 'kept out';
    if (client.enabled === enabled)
      return { message: `${client.name} is ${word} already.`, data: { component: component.id, client: jsonOf(client) } };
    const find = async (signal: AbortSignal) => (await ui.clients(signal)).find(({ id }) => id === client.id);
    await session.act({
      id: enabled ? 'enable' : 'disable',
      right: 'operate',
      request: `POST /api/wireguard/client/${client.id}/${enabled ? 'enable' : 'disable'} (${client.name})`,
      target: { host: input.place, component: component.id },
      done: async () => (await find(session.signal))?.enabled === enabled,
      run: (grant) => ui.setEnabled(grant, client.id, enabled),
    });
    if (session.rehearsing) return { message: `Rehearsed: ${client.name} is as before.` };
    const now = await find(session.signal);
    if (now?.enabled !== enabled)
      throw new Fault({
        code: 'failed.tunnelUi',
        message: `${component.id} took it, and ${client.name} is as before.`,
        remedy: 'Look at its log.',
      });
    return { message: `${client.name} is ${word}.`, data: { component: component.id, client: jsonOf(now) } };
  });
}

async function reveal(session: Session, input: FlowInput, { ui, component }: OpenTunnelUi, client: TunnelClient): Promise<boolean> {
  const plain = input.options['plain'] === true;
  const shown = await session.act({
    id: 'show',
    right: 'reveal',
    request: `GET /api/wireguard/client/${client.id}/configuration (${client.name})`,
    target: { host: input.place, component: component.id },
    run: async (grant) => {
      const config = (await ui.configuration(grant, client.id)).trim().replaceAll(/\n{3,}/g, '\n\n');
      session.hide(config);
      for (const [, , key] of config.matchAll(/^\s*(PrivateKey|PresharedKey)\s*=\s*(\S+)/gim)) if (key !== undefined) session.hide(key);
      if (!plain)
        for (const [at, { level, line, field, message, remedy, rule }] of inspectConfig(config).problems.entries())
          session.show({
            kind: 'item',
            id: `problem-${at + 1}`,
            title: `Line ${line}${field === '' ? '' : ` ${field}`}`,
            state: level === 'error' ? 'blocked' : 'warning',
            evidence: `${message} ${remedy}${rule === undefined ? '' : ` (${rule})`}`,
          });
      session.show({
        kind: 'secret',
        label: `Configuration of ${client.name}`,
        value: config,
        secondsLeft: shownSeconds,
        ...(plain ? { plain } : { code: qrCode(`${config}\n`) }),
      });
      return true;
    },
  });
  return shown === true;
}

async function newName(session: Session, input: FlowInput, clients: readonly TunnelClient[]): Promise<string> {
  const [noted] = session.noted(deviceStep);
  if (noted !== undefined) return noted;
  const name = await askName(session, input, clients);
  if (!session.rehearsing) await session.note(deviceStep, name);
  return name;
}

function jsonOf({ lastHandshakeMs, ...client }: TunnelClient): object {
  return { ...client, ...(lastHandshakeMs !== undefined && { lastHandshake: new Date(lastHandshakeMs).toISOString() }) };
}
