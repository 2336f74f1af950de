import { Fault } from '../faults/fault.ts';
import { hubItems, installCollection, removeCollection, updateHub, upgradeHub, upgradePlan } from '../products/crowdsec-hub.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText } from '../text/quantities.ts';
import {
  collectionsInstallAbout,
  collectionsListAbout,
  collectionsRemoveAbout,
  hubUpdateAbout,
  hubUpgradeAbout,
  metricsAbout,
} from './about-prevention.ts';
import { isNotStartedSince, reload, reloadIsDue, reloadText } from './crowdsec-reload.ts';
import type { Flow, FlowInput } from './flow.ts';
import { answerOr, leavingSays, lookingIn, notedName, noteName, requestText } from './prevention-questions.ts';
import { onHostsThatHaveIt, preventionOf } from './prevention-target.ts';

const fetchLimitMs = 300_000;

export const collectionsList: Flow = onHostsThatHaveIt({
  ...collectionsListAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const wanted = typeof input.options['kind'] === 'string' ? input.options['kind'] : 'collections';
    const all = await hubItems(crowdsec, { all: input.options['all'] === true }, session.signal);
    const kinds = [...new Set(all.map(({ kind }) => kind))];
    const items = all.filter(({ kind }) => wanted === 'all' || kind === wanted);
    if (items.length === 0 && wanted !== 'all' && wanted !== 'collections' && !kinds.includes(wanted)) {
      throw new Fault({
        code: 'usage.kind',
        message: `The hub has no kind "${cleanLine(wanted)}".`,
        remedy: `There is: ${[...kinds, 'all'].join(', ')}.`,
      });
    }
    if (items.length > 0) {
      session.show({
        kind: 'table',
        columns: wanted === 'all' ? ['kind', 'name', 'version', 'state', 'what it is'] : ['name', 'version', 'state', 'what it is'],
        rows: items.map((item) => [...(wanted === 'all' ? [item.kind] : []), item.name, item.version, stateOf(item), item.description]),
      });
    }
    return {
      message:
        items.length === 0 ? 'Nothing is installed.' : `${countText(items.length, wanted === 'all' ? 'item' : wanted.replace(/s$/, ''))}.`,
      data: { items },
    };
  },
});

function stateOf({ enabled, tainted, behind }: { enabled: boolean; tainted: boolean; behind: boolean }): string {
  if (!enabled) return 'not installed';
  return tainted ? 'changed by hand' : behind ? 'newer one at the hub' : 'installed';
}

export const collectionsInstall: Flow = {
  ...collectionsInstallAbout,
  async run(session, input, world) {
    const prevention = await preventionOf(world, input, lookingIn(session));
    const { crowdsec, component } = prevention;
    const items = await hubItems(crowdsec, { all: true }, session.signal);
    const known = items.filter(({ kind }) => kind === 'collections');
    const name = await leavingSays(
      () => 'Nothing was installed.',
      () =>
        collectionOf(
          session,
          input,
          known.filter(({ enabled }) => !enabled),
          'Which collection is installed?',
        ),
    );
    if (known.length > 0 && !known.some((item) => item.name === name)) {
      throw new Fault({
        code: 'usage.collection',
        message: `The hub has no collection "${cleanLine(name)}".`,
        remedy: 'quarterdeck collections list --all shows what it has; quarterdeck hub update fetches its newest index.',
      });
    }
    const installed = async () =>
      (await hubItems(crowdsec, { all: false }, session.signal)).some((item) => item.kind === 'collections' && item.name === name);
    const was = await installed();
    await noteName(session, name);
    const isOld = await isNotStartedSince(session, input, world, prevention);
    await session.act({
      id: 'install',
      right: 'operate',
      request: requestText(['collections', 'install', name]),
      target: { host: input.place, ...(component && { component: component.key }) },
      limitMs: fetchLimitMs,
      done: installed,
      run: (grant) => installCollection(crowdsec, grant, name),
    });
    if (session.rehearsing) return { message: `Rehearsed: ${name} was not installed.` };
    if (was && !isOld && !(await reloadIsDue(world, input.place, prevention, items, session.signal)))
      return { message: `${name} is installed already.`, data: { name, reloaded: false } };
    const reloaded = await reload(session, input, world, prevention);
    const kept = component ? ` For a new container, COLLECTIONS has to name it too: quarterdeck edit ${component.id}.` : '';
    return { message: `${name} is installed.${reloadText(reloaded)}${kept}`, data: { name, reloaded } };
  },
};

export const collectionsRemove: Flow = {
  ...collectionsRemoveAbout,
  async run(session, input, world) {
    const prevention = await preventionOf(world, input, lookingIn(session));
    const { crowdsec, component } = prevention;
    const installed = (await hubItems(crowdsec, { all: false }, session.signal)).filter(({ kind }) => kind === 'collections');
    const name = await leavingSays(
      () => 'Nothing was removed.',
      () => collectionOf(session, input, installed, 'Which collection is removed?'),
    );
    const isOff = !installed.some((item) => item.name === name);
    const isOld = await isNotStartedSince(session, input, world, prevention);
    // A run that broke off removed it.
    if (isOff && notedName(session) === name && isOld) {
      const reloaded = await reload(session, input, world, prevention);
      return { message: `${name} is removed.${reloadText(reloaded)}`, data: { name, reloaded } };
    }
    if (isOff && notedName(session) === name)
      return { message: `${name} is removed. CrowdSec was reloaded.`, data: { name, reloaded: true } };
    if (isOff) return { message: `${cleanLine(name)} is not installed.`, data: { name, reloaded: false } };
    await noteName(session, name);
    await session.act({
      id: 'remove',
      right: 'destroy',
      title: `Remove the collection ${name}`,
      request: requestText(['collections', 'remove', name]),
      target: { host: input.place, ...(component && { component: component.key }) },
      consequences: ['Its scenarios notice nothing any more. Bans that they led to stay until they are over.'],
      limitMs: fetchLimitMs,
      run: (grant) => removeCollection(crowdsec, grant, name),
    });
    if (session.rehearsing) return { message: `Rehearsed: ${name} was not removed.` };
    if ((await hubItems(crowdsec, { all: false }, session.signal)).some((item) => item.kind === 'collections' && item.name === name)) {
      throw new Fault({
        code: 'failed.crowdsec',
        message: `${name} is still installed.`,
        remedy: 'Another collection may need it, or it was changed by hand.',
      });
    }
    const reloaded = await reload(session, input, world, prevention);
    return { message: `${name} is removed.${reloadText(reloaded)}`, data: { name, reloaded } };
  },
};

async function collectionOf(
  session: Session,
  input: FlowInput,
  offered: readonly { name: string; description: string }[],
  label: string,
): Promise<string> {
  const given = input.words[0] ?? notedName(session);
  if (given !== undefined) {
    if (/^[A-Za-z0-9][\w.-]*(?:\/[\w.-]+)?$/.test(given)) return given;
    throw new Fault({
      code: 'usage.collection',
      message: `"${cleanLine(given)}" is no name of a collection.`,
      remedy: 'For example: crowdsecurity/caddy',
    });
  }
  if (offered.length === 0)
    throw new Fault({
      code: 'usage.collection',
      message: 'There is none to choose from.',
      remedy: 'Fetch the index first: quarterdeck hub update',
    });
  return session.ask.choice({
    id: 'name',
    label,
    fresh: true,
    choices: offered.map(({ name, description }) => ({ value: name, label: name, detail: description })),
  });
}

export const hubUpdate: Flow = {
  ...hubUpdateAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    await session.act({
      id: 'update',
      right: 'operate',
      request: 'cscli hub update',
      target: { host: input.place, ...(component && { component: component.key }) },
      limitMs: fetchLimitMs,
      run: (grant) => updateHub(crowdsec, grant),
    });
    if (session.rehearsing) return { message: 'Rehearsed: the index was not fetched.' };
    const behind = (await hubItems(crowdsec, { all: false }, session.signal)).filter((item) => item.behind);
    const newer =
      behind.length === 0
        ? 'What is installed is up to date.'
        : `The hub has newer ones of ${behind.map(({ name }) => name).join(', ')}: quarterdeck hub upgrade`;
    return { message: `The index of the hub is here. ${newer}`, data: { behind: behind.map(({ kind, name }) => ({ kind, name })) } };
  },
};

export const hubUpgrade: Flow = {
  ...hubUpgradeAbout,
  async run(session, input, world) {
    const prevention = await preventionOf(world, input, lookingIn(session));
    const { crowdsec, component } = prevention;
    const target = { host: input.place, ...(component && { component: component.key }) };
    await session.act({
      id: 'update',
      right: 'operate',
      request: 'cscli hub update',
      target,
      limitMs: fetchLimitMs,
      run: (grant) => updateHub(crowdsec, grant),
    });
    const before = await hubItems(crowdsec, { all: false }, session.signal);
    const behind = before.filter((item) => item.behind);
    const tainted = before.filter((item) => item.tainted);
    for (const { kind, name } of tainted)
      session.show({
        kind: 'text',
        text: `Left alone, it was changed by hand: ${name} (${kind}). To have the hub's again: cscli ${kind} upgrade --force ${name}`,
      });
    const isOld = !session.rehearsing && (await isNotStartedSince(session, input, world, prevention));
    if (behind.length === 0) {
      const upToDate = 'What is installed is up to date.';
      const due = isOld || (!session.rehearsing && (await reloadIsDue(world, input.place, prevention, before, session.signal)));
      if (!due) return { message: upToDate, data: { upgraded: [], left: [], reloaded: false } };
      const reloaded = await reload(session, input, world, prevention);
      return { message: `${upToDate}${reloadText(reloaded)}`, data: { upgraded: [], left: [], reloaded } };
    }
    const plan = await upgradePlan(crowdsec, session.signal);
    session.show({ kind: 'text', text: (plan ?? behind.map(({ kind, name }) => `${kind}: ${name}`)).join('\n') });
    const go = await leavingSays(
      () => 'Nothing was upgraded; the index of the hub is the new one.',
      () =>
        answerOr(
          () =>
            session.ask.choice({
              id: 'upgrade',
              label: `Upgrade ${countText(behind.length, 'item')}?`,
              help: 'Sends cscli hub upgrade. CrowdSec is reloaded afterwards.',
              choices: [
                { value: 'yes', label: 'Upgrade' },
                { value: 'no', label: 'Not now' },
              ],
              initial: 'yes',
            }),
          'yes',
        ),
    );
    if (go === 'no')
      return { message: 'Nothing was upgraded; the index of the hub is the new one.', data: { upgraded: [], left: [], reloaded: false } };
    await session.act({
      id: 'upgrade',
      right: 'operate',
      request: 'cscli hub upgrade',
      target,
      limitMs: fetchLimitMs,
      done: async () => (await hubItems(crowdsec, { all: false }, session.signal)).every((item) => !item.behind),
      run: async (grant) => {
        await upgradeHub(crowdsec, grant);
      },
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was upgraded.' };
    const left = (await hubItems(crowdsec, { all: false }, session.signal)).filter((item) => item.behind);
    const upgraded = behind.filter(({ kind, name }) => !left.some((item) => item.kind === kind && item.name === name));
    const reloaded = await reload(session, input, world, prevention);
    const rest = left.length > 0 ? ` Still behind: ${left.map(({ name }) => name).join(', ')}.` : '';
    return {
      message: `Upgraded ${upgraded.map(({ name }) => name).join(', ') || 'nothing'}.${rest}${reloadText(reloaded)}`,
      data: {
        upgraded: upgraded.map(({ kind, name }) => ({ kind, name })),
        left: left.map(({ kind, name }) => ({ kind, name })),
        reloaded,
      },
    };
  },
};

export const metrics: Flow = onHostsThatHaveIt({
  ...metricsAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const [text, data] = await Promise.all([crowdsec.metrics(session.signal), crowdsec.metricsJson(session.signal).catch(() => null)]);
    session.show({ kind: 'text', text: text.trim() === '' ? 'No metrics yet.' : text.trimEnd() });
    return { message: `Metrics of ${crowdsec.shown}, since it was started.`, data: { metrics: data } };
  },
});
