import { Fault } from '../faults/fault.ts';
import { addBouncer, bouncersOf, deleteBouncer } from '../products/crowdsec-lists.ts';
import { agoText, countText } from '../text/quantities.ts';
import { bouncersAddAbout, bouncersDeleteAbout, bouncersListAbout } from './about-prevention.ts';
import type { Flow } from './flow.ts';
import { leavingSays, lookingIn, nameOf, notedName, noteName, oneNamed, requestText } from './prevention-questions.ts';
import { onHostsThatHaveIt, preventionOf } from './prevention-target.ts';

const secretSeconds = 15;

export const bouncersList: Flow = onHostsThatHaveIt({
  ...bouncersListAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const bouncers = await bouncersOf(crowdsec, session.signal);
    if (bouncers.length > 0) {
      session.show({
        kind: 'table',
        columns: ['bouncer', 'type', 'version', 'from', 'asked last', ''],
        rows: bouncers.map(({ name, type, version, address, lastPullMs, revoked }) => [
          name,
          type,
          version,
          address,
          lastPullMs === undefined ? 'never' : agoText(Date.now() - lastPullMs),
          revoked ? 'revoked' : '',
        ]),
      });
    }
    return {
      message:
        bouncers.length === 0 ? 'No bouncer is registered: nothing enforces the decisions.' : `${countText(bouncers.length, 'bouncer')}.`,
      data: {
        bouncers: bouncers.map(({ lastPullMs, ...bouncer }) => ({
          ...bouncer,
          lastPull: lastPullMs === undefined ? null : new Date(lastPullMs).toISOString(),
        })),
      },
    };
  },
});

export const bouncersAdd: Flow = {
  ...bouncersAddAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const known = await bouncersOf(crowdsec, session.signal);
    const name = await leavingSays(
      () => 'No bouncer was added.',
      () =>
        nameOf(session, input, {
          id: 'name',
          label: 'Name of the bouncer',
          help: 'For example firewall-nas. Sends cscli bouncers add. Its key is shown once.',
        }),
    );
    const target = { host: input.place, ...(component && { component: component.key }) };
    const there = known.find((bouncer) => bouncer.name === name);
    // A run that broke off added it, and its key was told to nobody: without one it can never ask.
    const isLost = there !== undefined && there.lastPullMs === undefined && notedName(session) === name;
    if (there && !isLost) {
      throw new Fault({
        code: 'usage.bouncer',
        message: `There is a bouncer ${name} already, and its key is told to nobody again.`,
        remedy: `Take another name, or delete that one: quarterdeck bouncers delete ${name}`,
      });
    }
    const plain = input.options['plain'] === true;
    if (!session.attended && !plain && !session.rehearsing) {
      throw new Fault({
        code: 'refused.unattended',
        message: 'Nobody is there to see the key, and it is told this once.',
        remedy: 'Run it in a terminal, or add --plain to have the key alone written to the pipe.',
      });
    }
    if (isLost) {
      await session.act({
        id: 'take-back',
        right: 'operate',
        request: `${requestText(['bouncers', 'delete', name])}: a run that broke off added it, and nobody has its key`,
        target,
        run: (grant) => deleteBouncer(crowdsec, grant, name),
      });
    }
    await noteName(session, name);
    const key = await session.act({
      id: 'add',
      right: 'reveal',
      request: requestText(['bouncers', 'add', name, '-o', 'raw']),
      target,
      run: (grant) => addBouncer(crowdsec, grant, name),
    });
    if (key === undefined) return { message: 'Rehearsed: no bouncer was added.' };
    session.hide(key);
    session.show({
      kind: 'secret',
      label: `Key of ${name}`,
      value: key,
      secondsLeft: secretSeconds,
      ...(plain && { plain: true as const }),
    });
    return {
      message: `The bouncer ${name} is registered. Put its key into its configuration; whoever loses it deletes the bouncer and adds it again.`,
      data: { name },
    };
  },
};

export const bouncersDelete: Flow = {
  ...bouncersDeleteAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const bouncers = await bouncersOf(crowdsec, session.signal);
    const begun = notedName(session);
    if (begun !== undefined && !bouncers.some((bouncer) => bouncer.name === begun))
      return { message: `The bouncer ${begun} is gone.`, data: { name: begun } };
    const name = await leavingSays(
      () => 'No bouncer was deleted.',
      () => oneNamed(session, input, 'bouncer', bouncers),
    );
    const others = bouncers.filter((bouncer) => bouncer.name !== name && !bouncer.revoked);
    await session.act({
      id: 'delete',
      right: 'destroy',
      title: `Delete the bouncer ${name}`,
      request: requestText(['bouncers', 'delete', name]),
      target: { host: input.place, ...(component && { component: component.key }) },
      consequences: [
        'Its key opens nothing any more. What it enforces now it may keep or drop; it learns of no new decision.',
        ...(others.length === 0 ? ['It is the last one: nothing enforces the decisions then.'] : []),
      ],
      run: (grant) => deleteBouncer(crowdsec, grant, name),
    });
    if (session.rehearsing) return { message: 'Rehearsed: no bouncer was deleted.' };
    return { message: `The bouncer ${name} is gone.`, data: { name } };
  },
};
