import { Fault, type FaultCode } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import type { Act, Session } from '../session/session.ts';
import { cleanLine } from '../text/clean.ts';
import { parsedJson } from '../text/json-value.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { countText } from '../text/quantities.ts';
import type { FlowOutcome } from './flow.ts';
import { unlessCancelled } from './prompt-cancelled.ts';

export interface Selection<T> {
  /** Singular, as in messages: `bouncer`. */
  noun: string;
  /** Unique; the journal records it. */
  idOf: (item: T) => string;
  /** The displayed name, which users may write instead of the id. The id by default. */
  nameOf?: (item: T) => string;
}

export interface Choosing<T> extends Selection<T> {
  /** Id or name from the command line. Without it the operator chooses. */
  word?: string | undefined;
  step: string;
  help?: string;
  detailOf?: (item: T) => string;
  /** Code of the fault for an unknown name, an ambiguous name, or no items: `usage.client`. */
  code: FaultCode & `usage.${string}`;
  /** How to get one, where none exists. */
  whenNone: string;
}

/** Returns the item that the command line names, or that the operator chooses. Throws `code` if there is no such item. */
export async function chooseOne<T>(session: Session, items: readonly T[], choosing: Choosing<T>): Promise<T> {
  const { noun, idOf, nameOf = idOf, word, step, help, detailOf, code, whenNone } = choosing;
  if (items.length === 0) throw new Fault(code, `No ${noun} exists.`, whenNone);
  const wanted =
    word ??
    (await session.ask.choice({
      id: step,
      label: `Which ${noun}?`,
      ...(help !== undefined && { help }),
      // The items may differ when an interrupted run is resumed.
      fresh: true,
      choices: items.map((item) => ({ value: idOf(item), label: cleanLine(nameOf(item)), ...(detailOf && { detail: detailOf(item) }) })),
    }));
  const found = items.filter((item) => idOf(item) === wanted || nameOf(item) === wanted);
  const [only, another] = found;
  if (only && !another) return only;
  if (another) {
    const ids = found.map((item) => cleanLine(idOf(item))).join(', ');
    throw new Fault(code, `${countText(found.length, noun)} are named "${cleanLine(wanted)}".`, `Use an ID: ${ids}.`);
  }
  throw new Fault(code, `No ${noun} is named "${cleanLine(wanted)}".`, nameRemedy(wanted, items.map(nameOf), whenNone));
}

export interface Deletion<T> extends Selection<T> {
  /** Names the action, and is its id; messages use its past tense. */
  verb?: 'delete' | 'remove' | 'expire' | 'revoke';
  /** Reads the existing items; called again before and after the action, to check whether the item is gone. */
  list: () => Promise<readonly T[]>;
  /** Selects the item: `chooseOne`, or by rules of its own. May refuse. */
  choose: (items: readonly T[]) => Promise<T>;
  /** The action on the item. With `consequences` it needs the right `destroy` and is confirmed, without them `operate`. */
  action: (
    item: T,
    items: readonly T[],
  ) => Pick<Act<unknown>, 'request' | 'target' | 'consequences' | 'title'> & { run: (grant: Grant) => Promise<unknown> };
  /** Fault if the server reports success and still lists the item. */
  stillThere: { code: FaultCode; remedy: string };
  /** Appended to the message: what was not changed, or what to do next. */
  remark?: string;
  /** For `--json`; `{ name }` by default. */
  data?: (deleted: Deleted) => unknown;
}

export interface Deleted {
  id: string;
  name: string;
}

const deletingStep = 'deleting';

/** A cancelled prompt says that nothing was deleted. A resumed run that deleted its item finds it in the journal, and reports success. */
export async function deleteOne<T>(session: Session, deletion: Deletion<T>): Promise<FlowOutcome> {
  const { noun, idOf, nameOf = idOf, verb = 'delete', list, choose, action, stillThere, remark } = deletion;
  const { data = ({ name }) => ({ name }) } = deletion;
  const capital = `${verb.slice(0, 1).toUpperCase()}${verb.slice(1)}`;
  const isGone = (items: readonly T[], id: string) => items.every((item) => idOf(item) !== id);
  const report = (deleted: Deleted): FlowOutcome => ({
    message: [`${capital}d ${noun} ${cleanLine(deleted.name)}.`, remark].filter(Boolean).join(' '),
    data: data(deleted),
  });

  const items = await list();
  const [interrupted] = session.noted(deletingStep).map((text) => parsedJson(text) as Deleted);
  if (interrupted && isGone(items, interrupted.id)) return report(interrupted);
  const item = await unlessCancelled(session, `No ${noun} was ${verb}d.`, () => choose(items));
  const [id, name] = [idOf(item), nameOf(item)];
  const { run, ...request } = action(item, items);
  await session.act({
    id: verb,
    right: request.consequences ? 'destroy' : 'operate',
    title: `${capital} ${noun} ${cleanLine(name)}`,
    ...request,
    done: async () => isGone(await list(), id),
    run: async (grant) => {
      await session.note(deletingStep, JSON.stringify({ id, name } satisfies Deleted));
      await run(grant);
    },
  });
  if (session.dryRun) return { message: `Dry run: no ${noun} was ${verb}d.`, data: data({ id, name }) };
  if (isGone(await list(), id)) return report({ id, name });
  throw new Fault(stillThere.code, `The ${noun} ${cleanLine(name)} still exists.`, stillThere.remedy);
}
