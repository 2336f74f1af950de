import { Fault } from '../faults/fault.ts';
import { parseBanTarget } from '../products/ban-target.ts';
import { type Crowdsec, isAbout } from '../products/crowdsec.ts';
import {
  type Allowlist,
  addToAllowlist,
  allowlisting,
  allowlistsOf,
  createAllowlist,
  deleteAllowlist,
  removeFromAllowlist,
} from '../products/crowdsec-lists.ts';
import { goDurationText } from '../products/go-duration.ts';
import type { Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { countText, durationText } from '../text/quantities.ts';
import {
  allowlistsAddAbout,
  allowlistsCheckAbout,
  allowlistsCreateAbout,
  allowlistsDeleteAbout,
  allowlistsListAbout,
  allowlistsRemoveAbout,
} from './about-prevention.ts';
import type { Flow, FlowInput } from './flow.ts';
import {
  answerOr,
  flagSeconds,
  leavingSays,
  lookingIn,
  nameOf,
  notedName,
  noteName,
  remarkProblem,
  requestText,
} from './prevention-questions.ts';
import { onHostsThatHaveIt, preventionOf } from './prevention-target.ts';

export const allowlistsList: Flow = onHostsThatHaveIt({
  ...allowlistsListAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const lists = await allowlistsOf(crowdsec, session.signal);
    const now = Date.now();
    for (const { name, description, managed, items } of lists) {
      session.show({
        kind: 'table',
        title: `${name}${description === '' ? '' : `: ${description}`}${managed ? ' (kept in the console on the web)' : ''}`,
        columns: ['address', 'whose', 'left'],
        rows: items.map(({ value, description: whose, endsMs }) => [
          value,
          whose,
          endsMs === undefined ? 'for good' : durationText(endsMs - now),
        ]),
      });
    }
    const data = {
      allowlists: lists.map(({ items, ...list }) => ({
        ...list,
        items: items.map(({ endsMs, ...item }) => ({ ...item, until: endsMs === undefined ? null : new Date(endsMs).toISOString() })),
      })),
    };
    return {
      message:
        lists.length === 0 ? 'There is no allowlist: quarterdeck allowlists create NAME' : `${countText(lists.length, 'allowlist')}.`,
      data,
    };
  },
});

export const allowlistsCheck: Flow = {
  ...allowlistsCheckAbout,
  async run(session, input, world) {
    const { crowdsec } = await preventionOf(world, input, lookingIn(session));
    const [value] = await valuesOf(session, input.words.slice(0, 1));
    if (value === undefined) throw new Error('at least one is asked for');
    const found = await allowlisting(crowdsec, value, session.signal);
    const data = { value, allowlisted: found !== undefined, by: found === undefined ? null : cleanLine(found) };
    return { message: found === undefined ? `No allowlist has ${value}.` : `${value} is on an allowlist: ${cleanLine(found)}.`, data };
  },
};

export const allowlistsCreate: Flow = {
  ...allowlistsCreateAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const { name, description } = await leavingSays(
      () => 'No allowlist was created.',
      async () => {
        const chosen = await nameOf(session, input, { id: 'name', label: 'Name of the allowlist', help: 'Sends cscli allowlists create.' });
        return {
          name: chosen,
          description: await remarkOf(session, input, { flag: 'description', label: 'What is it for?', otherwise: chosen }),
        };
      },
    );
    await session.act({
      id: 'create',
      right: 'operate',
      request: requestText(['allowlists', 'create', name, '--description', description]),
      target: { host: input.place, ...(component && { component: component.key }) },
      done: async () => (await allowlistsOf(crowdsec, session.signal)).some((list) => list.name === name),
      run: (grant) => createAllowlist(crowdsec, grant, name, description),
    });
    if (session.rehearsing) return { message: 'Rehearsed: no allowlist was created.' };
    return { message: `There is the allowlist ${name}. Put addresses on it: quarterdeck allowlists add ${name} ADDRESS`, data: { name } };
  },
};

export const allowlistsAdd: Flow = {
  ...allowlistsAddAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const seconds = flagSeconds(input);
    let lists = await allowlistsOf(crowdsec, session.signal);
    if (lists.length === 0 && input.words.length === 0 && session.attended && !session.rehearsing) {
      const first = await leavingSays(
        () => 'Nothing was put on an allowlist.',
        () =>
          nameOf(session, input, {
            id: 'first',
            label: 'There is no allowlist yet. What is the first one called?',
            help: 'For example own. Sends cscli allowlists create.',
          }),
      );
      await session.act({
        id: 'create',
        right: 'operate',
        request: requestText(['allowlists', 'create', first, '--description', first]),
        target: { host: input.place, ...(component && { component: component.key }) },
        run: (grant) => createAllowlist(crowdsec, grant, first, first),
      });
      lists = await allowlistsOf(crowdsec, session.signal);
    }
    const { list, values, comment } = await leavingSays(
      () => 'Nothing was put on an allowlist.',
      async () => {
        const chosen = await listOf(session, input, lists);
        const wanted = await valuesOf(session, input.words.slice(1));
        return {
          list: chosen,
          values: wanted,
          comment: await remarkOf(session, input, { flag: 'comment', label: 'Whose are they?', otherwise: '' }),
        };
      },
    );
    const order = { name: list.name, values, comment, expiration: seconds === undefined ? undefined : goDurationText(seconds) };
    await session.act({
      id: 'add',
      right: 'operate',
      request: requestText([
        'allowlists',
        'add',
        list.name,
        ...values,
        ...(comment === '' ? [] : ['--comment', comment]),
        ...(order.expiration === undefined ? [] : ['--expiration', order.expiration]),
      ]),
      target: { host: input.place, ...(component && { component: component.key }) },
      done: () => has(crowdsec, list.name, values, session.signal),
      run: (grant) => addToAllowlist(crowdsec, grant, order),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was put on an allowlist.' };
    const there = await has(crowdsec, list.name, values, session.signal);
    if (!there) throw notSeen(`${list.name} does not have ${values.join(', ')}`);
    const left = await stillOut(crowdsec, values, session.signal);
    const out = left.length > 0 ? ` Still shut out until that is lifted: ${left.join(', ')} (quarterdeck unban).` : '';
    return {
      message: `${values.join(', ')} ${values.length === 1 ? 'is' : 'are'} on ${list.name}.${out}`,
      data: { name: list.name, values, stillBanned: left },
    };
  },
};

export const allowlistsRemove: Flow = {
  ...allowlistsRemoveAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const lists = await allowlistsOf(crowdsec, session.signal);
    const { list, values } = await leavingSays(
      () => 'Nothing was taken off an allowlist.',
      async () => {
        const chosen = await listOf(session, input, lists);
        const noted = session.noted('values').at(-1)?.split(' ') ?? [];
        const given = input.words.length > 1 ? input.words.slice(1) : noted;
        if (given.length > 0 || chosen.items.length === 0) return { list: chosen, values: await valuesOf(session, given) };
        const picked = await session.ask.several({
          id: 'values',
          fresh: true,
          label: `What is taken off ${chosen.name}?`,
          help: 'Sends cscli allowlists remove.',
          choices: chosen.items.map(({ value, description }) => ({ value, label: value, detail: description })),
        });
        return { list: chosen, values: picked };
      },
    );
    if (values.length === 0) return { message: 'Nothing was taken off.', data: { name: list.name, values } };
    await session.note('values', values.join(' '));
    await session.act({
      id: 'remove',
      right: 'operate',
      request: requestText(['allowlists', 'remove', list.name, ...values]),
      target: { host: input.place, ...(component && { component: component.key }) },
      done: async () => !(await hasAny(crowdsec, list.name, values, session.signal)),
      run: (grant) => removeFromAllowlist(crowdsec, grant, list.name, values),
    });
    if (session.rehearsing) return { message: 'Rehearsed: nothing was taken off.' };
    if (await hasAny(crowdsec, list.name, values, session.signal)) throw notSeen(`${list.name} still has ${values.join(', ')}`);
    return { message: `${values.join(', ')} ${values.length === 1 ? 'is' : 'are'} off ${list.name}.`, data: { name: list.name, values } };
  },
};

export const allowlistsDelete: Flow = {
  ...allowlistsDeleteAbout,
  async run(session, input, world) {
    const { crowdsec, component } = await preventionOf(world, input, lookingIn(session));
    const lists = await allowlistsOf(crowdsec, session.signal);
    const begun = notedName(session);
    if (begun !== undefined && !lists.some(({ name }) => name === begun))
      return { message: `The allowlist ${begun} is gone.`, data: { name: begun } };
    const list = await leavingSays(
      () => 'No allowlist was deleted.',
      () => listOf(session, input, lists),
    );
    await session.act({
      id: 'delete',
      right: 'destroy',
      title: `Delete the allowlist ${list.name}`,
      request: requestText(['allowlists', 'delete', list.name]),
      target: { host: input.place, ...(component && { component: component.key }) },
      consequences: [
        list.items.length === 0
          ? 'It is empty.'
          : `Can be banned from then on: ${list.items
              .map(({ value }) => value)
              .slice(0, 10)
              .join(', ')}${list.items.length > 10 ? ` and ${list.items.length - 10} more` : ''}.`,
      ],
      run: (grant) => deleteAllowlist(crowdsec, grant, list.name),
    });
    if (session.rehearsing) return { message: 'Rehearsed: no allowlist was deleted.' };
    return { message: `The allowlist ${list.name} is gone.`, data: { name: list.name } };
  },
};

/** One that can be changed here. Throws `usage.allowlist` and `refused.managed`. */
async function listOf(session: Session, input: FlowInput, lists: readonly Allowlist[]): Promise<Allowlist> {
  const [first] = lists;
  if (!first)
    throw new Fault({
      code: 'usage.allowlist',
      message: 'There is no allowlist.',
      remedy: 'Create one: quarterdeck allowlists create NAME',
    });
  const name =
    input.words[0] ??
    notedName(session) ??
    (lists.length === 1
      ? first.name
      : await session.ask.choice({
          id: 'name',
          label: 'Which allowlist?',
          fresh: true,
          choices: lists.map((list) => ({ value: list.name, label: list.name, detail: list.description })),
        }));
  const list = lists.find((one) => one.name === name);
  if (!list) {
    throw new Fault({
      code: 'usage.allowlist',
      message: `There is no allowlist "${cleanLine(name)}".`,
      remedy: `There is: ${lists.map((one) => one.name).join(', ')}.`,
    });
  }
  if (!list.managed) {
    await noteName(session, list.name);
    return list;
  }
  throw new Fault({
    code: 'refused.managed',
    message: `${list.name} is kept in CrowdSec's console on the web, and can be changed there alone.`,
    remedy: 'Change it there, or use a list of your own.',
  });
}

/** Addresses and ranges. Throws `usage.target`. */
async function valuesOf(session: Session, given: readonly string[]): Promise<string[]> {
  const written =
    given.length > 0
      ? given
      : (
          await session.ask.text({
            id: 'values',
            label: 'Addresses or ranges',
            help: 'With spaces between them.',
            check: (text) => valuesProblem(text.trim().split(/[\s,]+/)),
          })
        )
          .trim()
          .split(/[\s,]+/);
  const problem = valuesProblem(written);
  if (problem !== undefined) throw new Fault({ code: 'usage.target', message: problem, remedy: 'For example: 192.0.2.7 or 192.0.2.0/24' });
  return written.flatMap((one) => {
    const target = parseBanTarget(one);
    return typeof target === 'string' ? [] : [target.value];
  });
}

function valuesProblem(words: readonly string[]): string | undefined {
  for (const word of words) {
    const target = parseBanTarget(word);
    if (typeof target === 'string') return target;
    if (target.scope === 'Country') return `Allowlists take addresses and ranges, and ${target.value} is a country.`;
  }
  return undefined;
}

async function remarkOf(
  session: Session,
  input: FlowInput,
  { flag, label, otherwise }: { flag: string; label: string; otherwise: string },
): Promise<string> {
  const given = input.options[flag];
  if (typeof given === 'string') {
    const problem = remarkProblem(given);
    if (problem === undefined) return given;
    throw new Fault({ code: 'usage.remark', message: `--${flag}: ${problem}`, remedy: 'Say it shorter.' });
  }
  return (
    (await answerOr(() => session.ask.text({ id: flag, label, initial: otherwise, check: remarkProblem }), otherwise)).trim() || otherwise
  );
}

async function valuesOn(crowdsec: Crowdsec, name: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const items = (await allowlistsOf(crowdsec, signal)).find((list) => list.name === name)?.items ?? [];
  return new Set(items.map(({ value }) => plain(value)));
}

async function has(crowdsec: Crowdsec, name: string, values: readonly string[], signal: AbortSignal): Promise<boolean> {
  const on = await valuesOn(crowdsec, name, signal);
  return values.every((value) => on.has(plain(value)));
}

async function hasAny(crowdsec: Crowdsec, name: string, values: readonly string[], signal: AbortSignal): Promise<boolean> {
  const on = await valuesOn(crowdsec, name, signal);
  return values.some((value) => on.has(plain(value)));
}

/** CrowdSec writes them as they were given, or as it likes. */
function plain(value: string): string {
  const target = parseBanTarget(value);
  return typeof target === 'string' ? value : target.value;
}

/** Before 1.6.9 an allowlist ends no decision that is there already. */
async function stillOut(crowdsec: Crowdsec, values: readonly string[], signal: AbortSignal): Promise<string[]> {
  const decisions = await crowdsec.decisions({ shared: true }, signal);
  return values.filter((value) => {
    const target = parseBanTarget(value);
    return typeof target !== 'string' && decisions.some((decision) => isAbout(decision, target));
  });
}

function notSeen(what: string): Fault {
  return new Fault({ code: 'failed.crowdsec', message: `CrowdSec said that it did it, and yet ${what}.`, remedy: 'Look at its log.' });
}
