import { isDeepStrictEqual } from 'node:util';
import { Fault } from '../../faults/fault.ts';
import { dryRunOf } from '../../flows/dry-run.ts';
import type { FlowInput, Procedure } from '../../flows/flow.ts';
import type { Session } from '../../session/session.ts';
import { cleanLine } from '../../text/clean.ts';
import { wordsOf } from '../../text/words.ts';
import { type Engine, type PathEntry, pathIn, VaultPaths } from './client/vault-paths.ts';
import { openVaultOf, tokenFor } from './vault-open.ts';
import { pathOf } from './vault-read.ts';

export const vaultWrite: Procedure = async (session, input, context) => {
  const { component, endpoint, target } = await openVaultOf(session, input, context);
  const path = pathOf(input) ?? (await askPath(session));
  const shown = cleanLine(path);
  const keys = await keysOf(session, input);
  if (session.dryRun) {
    const would = `ask for a token and for the values of ${keys.map(cleanLine).join(', ')}, and write them to ${shown}`;
    return dryRunOf(session, would, `${shown} is as it was.`);
  }
  const { token } = await tokenFor(session, context, target, { may: 'read and write there' });
  const paths = new VaultPaths(endpoint, token);
  const engine = await paths.engineOf(path, session.signal);
  const before = await paths.read(engine, path, session.signal);
  const typed = await askValues(session, keys);
  const kept = input.options['replace'] === true || before?.gone ? {} : (before?.values ?? {});
  const values = { ...kept, ...typed };
  const lost = lostIn(engine, before, values);
  const written = await session.act({
    id: 'write',
    right: lost.length > 0 ? 'destroy' : 'operate',
    ...(lost.length > 0 && {
      title: `Overwrite ${shown}`,
      consequences: [`This engine keeps no versions. What stands there now is lost: ${lost.map(cleanLine).join(', ')}.`],
    }),
    request: requestOf(engine, path, keys, Object.keys(kept), before),
    target,
    done: async () => sameValues(await paths.read(engine, path, session.signal), values),
    run: (grant) => paths.write(grant, engine, path, { values, version: before?.version ?? 0 }),
  });
  // Verified even if nothing was written: the path must have the values that were entered.
  const now = await paths.read(engine, path, session.signal);
  if (!sameValues(now, values)) {
    throw new Fault(
      'failed.changed',
      `${shown} was written, and somebody else has written there since.`,
      `Look at it: quarterdeck vault read ${component.id} ${shown}`,
    );
  }
  const version = written ?? now?.version;
  return {
    message: version === undefined ? `${shown} is written.` : `${shown} is at version ${version}.`,
    data: { path, keys: Object.keys(values), ...(version !== undefined && { version }) },
  };
};

async function askPath(session: Session): Promise<string> {
  const typed = await session.ask.text({
    id: 'path',
    label: 'Write to which path?',
    help: 'The engine first: secret/apps/rss-reader',
    initial: 'secret/',
    check: (text) => (/^\/*[^/\s]+\/.*[^/\s]$/.test(text.trim()) ? undefined : 'An engine, a slash and a name: secret/apps/rss-reader'),
  });
  return typed.trim().replace(/^\/+/, '');
}

async function keysOf(session: Session, { words }: FlowInput): Promise<readonly string[]> {
  const given = words.slice(1);
  const withValue = given.find((word) => word.includes('='));
  if (withValue !== undefined) {
    throw new Fault(
      'usage.words',
      'A value is never given on the command line, where other programs see it.',
      `Name the keys alone; their values are asked for. If that was a secret, take another: the shell may have written it down.`,
    );
  }
  if (given.length > 0) return [...new Set(given)];
  const typed = await session.ask.text({
    id: 'keys',
    label: 'Which keys?',
    help: 'Names with a space between them; their values are asked for, masked. Other keys of the path stay.',
    check: (text) => (namesIn(text).length === 0 ? 'Name one: password' : undefined),
  });
  return namesIn(typed);
}

const namesIn = (text: string) => [...new Set(wordsOf(text))];

async function askValues(session: Session, keys: readonly string[]): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const key of keys) {
    const shown = cleanLine(key);
    const value = await session.ask.secret({
      id: `value-${key}`,
      label: `Value of ${shown}`,
      check: (text) => (text === '' ? 'Type a value, or leave with Esc: nothing was written.' : undefined),
    });
    if (session.attended) {
      await session.ask.secret({
        id: `again-${key}`,
        label: `${shown} once more`,
        help: 'Nobody sees what was typed: a slip would be found when something does not start.',
        check: (text) => (text === value ? undefined : 'The two are not the same.'),
      });
    }
    values[key] = value;
  }
  return values;
}

function lostIn({ version }: Engine, before: PathEntry | undefined, values: Readonly<Record<string, unknown>>): string[] {
  if (version === 2 || !before) return [];
  return Object.entries(before.values).flatMap(([key, value]) => (isDeepStrictEqual(values[key], value) ? [] : [key]));
}

function requestOf(engine: Engine, path: string, keys: readonly string[], kept: readonly string[], before: PathEntry | undefined): string {
  const others = kept.filter((key) => !keys.includes(key));
  const keeps = others.length > 0 ? `, keeps ${others.join(', ')}` : '';
  const condition = engine.version === 2 ? `, if it is still at version ${before?.version ?? 0}` : '';
  return cleanLine(`PUT /v1/${pathIn(engine, 'data', path)}: sets ${keys.join(', ')}${keeps}${condition}`);
}

function sameValues(entry: PathEntry | undefined, values: Readonly<Record<string, unknown>>): boolean {
  return entry !== undefined && !entry.gone && isDeepStrictEqual(entry.values, values);
}
