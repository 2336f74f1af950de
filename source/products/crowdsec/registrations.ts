import { Fault } from '../../faults/fault.ts';
import { showSecret } from '../../flows/flow-options.ts';
import { jsonTime, showList } from '../../flows/list-table.ts';
import { unlessCancelled } from '../../flows/prompt-cancelled.ts';
import { agoText, countText } from '../../text/quantities.ts';
import { addBouncer, type Bouncer, bouncersOf, type Machine, machinesOf } from './client/crowdsec-lists.ts';
import { changeOver, deleteNamed, nameOf, notedName, noteName, oneNamed, requestText } from './prevention-questions.ts';
import { onHostsThatHaveIt, onPrevention } from './prevention-target.ts';

const secretSeconds = 15;

export const bouncersList = onHostsThatHaveIt(async ({ crowdsec, session }) => {
  const bouncers = await bouncersOf(crowdsec, session.signal);
  showList(session, bouncers, {
    BOUNCER: ({ name }) => name,
    TYPE: ({ type }) => type,
    VERSION: ({ version }) => version,
    FROM: ({ address }) => address,
    'LAST PULL': ({ lastPullMs }) => (lastPullMs === undefined ? 'never' : agoText(Date.now() - lastPullMs)),
    '': ({ revoked }) => (revoked ? 'revoked' : ''),
  });
  return {
    message:
      bouncers.length === 0 ? 'No bouncer is registered, so nothing enforces the decisions.' : `${countText(bouncers.length, 'bouncer')}.`,
    data: { bouncers: bouncers.map(({ lastPullMs, ...bouncer }) => ({ ...bouncer, lastPull: jsonTime(lastPullMs) })) },
  };
});

export const bouncersAdd = onPrevention(async (prevention) => {
  const { crowdsec, target, session, input } = prevention;
  const known = await bouncersOf(crowdsec, session.signal);
  const name = await unlessCancelled(session, 'No bouncer was added.', () =>
    nameOf(prevention, {
      id: 'name',
      label: 'Bouncer name',
      help: 'For example, firewall-nas. Runs cscli bouncers add. The key is shown once.',
    }),
  );
  const there = known.find((bouncer) => bouncer.name === name);
  // An interrupted run added the bouncer but never showed its key, so the bouncer can never pull.
  const isLost = there !== undefined && there.lastPullMs === undefined && notedName(session) === name;
  if (there && !isLost) {
    const message = `Bouncer ${name} already exists, and its key cannot be shown again.`;
    throw new Fault('usage.bouncer', message, `Use another name, or delete the bouncer: quarterdeck bouncers delete ${name}`);
  }
  const plain = input.options['plain'] === true;
  if (!session.attended && !plain && !session.dryRun) {
    const remedy = 'Run the command in a terminal, or add --plain to print only the key.';
    throw new Fault('refused.unattended', 'The key is shown only once and requires a terminal.', remedy);
  }
  if (isLost)
    await changeOver(prevention, 'take-back', {
      words: ['bouncers', 'delete', name],
      what: `delete the bouncer ${name}`,
      why: 'an interrupted run added it, and its key is lost',
    });
  await noteName(session, name);
  const key = await session.act({
    id: 'add',
    right: 'reveal',
    request: requestText(['bouncers', 'add', name, '-o', 'raw']),
    target,
    run: (grant) => addBouncer(crowdsec, grant, name),
  });
  if (key === undefined) return { message: 'Dry run: no bouncer was added.' };
  session.hide(key);
  showSecret(session, input, { label: `Key of ${name}`, value: key, secondsLeft: secretSeconds });
  return {
    message: `The bouncer ${name} is registered. Add the key to the configuration of the bouncer. If the key is lost, delete the bouncer and add it again.`,
    data: { name },
  };
});

export const bouncersDelete = deleteNamed<Bouncer>('bouncer', bouncersOf, (bouncer, bouncers) => [
  'The key of the bouncer stops working. The bouncer may continue to enforce current decisions, but receives no new ones.',
  ...(bouncers.every(({ name, revoked }) => name === bouncer.name || revoked)
    ? ['This is the last active bouncer, so nothing will enforce new decisions.']
    : []),
]);

export const machinesList = onHostsThatHaveIt(async ({ crowdsec, session }) => {
  const machines = await machinesOf(crowdsec, session.signal);
  showList(session, machines, {
    MACHINE: ({ name }) => name,
    VERSION: ({ version }) => version,
    FROM: ({ address }) => address,
    'LAST SEEN': ({ lastHeartbeatMs }) => (lastHeartbeatMs === undefined ? 'never' : agoText(Date.now() - lastHeartbeatMs)),
    '': ({ validated }) => (validated ? '' : 'not validated'),
  });
  return {
    message: machines.length === 0 ? 'No machine is registered, so no attacks are reported.' : `${countText(machines.length, 'machine')}.`,
    data: { machines: machines.map(({ lastHeartbeatMs, ...machine }) => ({ ...machine, lastHeartbeat: jsonTime(lastHeartbeatMs) })) },
  };
});

export const machinesValidate = onPrevention(async (prevention) => {
  const { crowdsec, session, input } = prevention;
  const machines = await machinesOf(crowdsec, session.signal);
  const waiting = machines.filter(({ validated }) => !validated);
  const isNamed = (input.words[0] ?? notedName(session)) !== undefined;
  if (!isNamed && waiting.length === 0) return { message: 'No machine is waiting for validation.', data: { validated: null } };
  const { name } = await unlessCancelled(session, 'No machine was validated.', () =>
    oneNamed(prevention, 'machine', isNamed ? machines : waiting),
  );
  await noteName(session, name);
  await changeOver(prevention, 'validate', {
    words: ['machines', 'validate', name],
    what: `validate the machine ${name}`,
    done: async () => (await machinesOf(crowdsec, session.signal)).some((one) => one.name === name && one.validated),
  });
  if (session.dryRun) return { message: 'Dry run: no machine was validated.' };
  return { message: `The machine ${name} can now log in and report.`, data: { validated: name } };
});

export const machinesDelete = deleteNamed<Machine>('machine', machinesOf, (_, machines) => [
  'Alerts from this machine are rejected until it is registered again.',
  ...(machines.length === 1 ? ['This is the only machine. No logs will be analysed, and cscli on this host can no longer log in.'] : []),
]);
