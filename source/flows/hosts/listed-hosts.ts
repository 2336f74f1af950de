import { dropHost } from '../../config/hosts-file.ts';
import type { HostSettings } from '../../config/settings.ts';
import { Fault } from '../../faults/fault.ts';
import { unlessCode } from '../../faults/unless-fault.ts';
import { parseDestination } from '../../hosts/ssh/destination.ts';
import { changedKey, forgetKey } from '../../hosts/ssh/host-keys.ts';
import { cleanLine } from '../../text/clean.ts';
import { countText } from '../../text/quantities.ts';
import { deleteOne } from '../delete-one.ts';
import type { FlowContext, Procedure } from '../flow.ts';
import { type Columns, showList } from '../list-table.ts';
import { bookOf, chooseHost, type HostBook, type RemoteEngine, type RemoteHost } from './host-book.ts';
import { checkHost, connectTo, engineData, engineText, faultData, roundTripOf } from './host-report.ts';

interface Row {
  name: string;
  ssh: string | null;
  state: string;
  roundTripMs: number | null;
  engines: readonly ReturnType<typeof engineData>[];
  shown: string;
  fault?: Fault;
}

export const hostsList: Procedure = async (session, _, context) => {
  const book = bookOf(context);
  const hosts = Object.entries(await book.list());
  session.progress({ id: 'connect', label: `Connecting to ${hosts.length === 1 ? hosts[0]?.[0] : `${hosts.length} hosts`}` });
  const remote = await Promise.all(hosts.map(([name, settings]) => rowOf(book, name, settings, session.signal)));
  session.progress({ id: 'connect', label: '', done: true });
  const rows = [...here(context), ...remote];
  const columns: Columns<Row> = {
    HOST: ({ name }) => name,
    ADDRESS: ({ ssh }) => cleanLine(ssh ?? 'this machine'),
    STATE: ({ state }) => state,
    'ROUND TRIP': ({ roundTripMs }) => (roundTripMs === null ? '' : `${roundTripMs} ms`),
    ENGINES: ({ shown }) => shown,
  };
  showList(session, rows, columns, { right: ['ROUND TRIP'] });
  for (const { name, fault } of remote) if (fault) session.show({ kind: 'text', text: `${name}: ${fault.message} ${fault.remedy}` });
  const away = remote.filter(({ state }) => state !== 'connected').length;
  return {
    message:
      remote.length === 0
        ? 'No remote hosts. To add a host: quarterdeck hosts add NAME [user@]host'
        : away === 0
          ? `${remote.length === 1 ? 'The remote host is' : `All ${remote.length} remote hosts are`} connected.`
          : `${remote.length - away} of ${remote.length} remote hosts ${remote.length - away === 1 ? 'is' : 'are'} connected.`,
    data: { hosts: rows.map(({ shown: _shown, fault, ...row }) => ({ ...row, ...(fault && { fault: faultData(fault) }) })) },
  };
};

/** Lists this machine as the fleet knows it; empty if it has no engine. */
function here(context: FlowContext): Row[] {
  const own = context.fleet.snapshot().engines.filter(({ hostKind, engine }) => hostKind === 'local' && engine.address !== '');
  if (own.length === 0) return [];
  const engines = own.map(({ name, engine }) => ({
    engineName: name,
    address: engine.address,
    kind: engine.kind ?? null,
    version: engine.version || null,
  }));
  const shown = engines.map(({ kind, version }) => `${kind ?? 'unknown'} ${version ?? ''}`.trim()).join(', ');
  return [{ name: 'local', ssh: null, state: 'here', roundTripMs: null, engines, shown }];
}

async function rowOf(book: HostBook, name: string, settings: HostSettings, signal: AbortSignal): Promise<Row> {
  const row = { name, ssh: settings.ssh, roundTripMs: null, engines: [] };
  try {
    const host = await connectTo(book, name, settings, signal);
    const [roundTripMs, engines] = await Promise.all([roundTripOf(host, signal), enginesOf(book, name, host, signal)]);
    const connected = { ...row, state: 'connected', roundTripMs: roundTripMs ?? null };
    if (engines instanceof Fault) {
      if (signal.aborted || host.link.view.state !== 'connected') throw engines;
      return { ...connected, shown: 'unknown', fault: engines };
    }
    return { ...connected, engines: engines.map(engineData), shown: engines.map(engineText).join(', ') || 'none' };
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof Fault)) throw thrown;
    return { ...row, state: thrown.kind === 'refused' ? 'refused' : 'away', shown: '', fault: thrown };
  }
}

/** A host can be connected without an engine, and also if the search for engines fails. */
function enginesOf(book: HostBook, name: string, host: RemoteHost, signal: AbortSignal): Promise<readonly RemoteEngine[] | Fault> {
  return unlessCode(book.engines(name, host, signal), ['unreachable.noEngine'], []).catch((thrown: unknown) => {
    if (thrown instanceof Fault) return thrown;
    throw thrown;
  });
}

export const hostsCheck: Procedure = async (session, input, context) => {
  const book = bookOf(context);
  const listed = await book.list();
  const every = Object.entries(listed);
  // The only host need not be named.
  const words = input.words.length === 0 && every[0] ? [every[0][0]] : input.words;
  const chosen = input.words.length === 0 && every.length > 1 ? every : [await chooseHost(session, { ...input, words }, listed)];
  // Checks the hosts one after the other, so that the lines and questions of each stay together.
  const looks = [];
  for (const [name, settings] of chosen) looks.push(await checkHost(session, book, name, settings));
  const troubled = looks.filter(({ exitCode }) => exitCode !== 0);
  const names = troubled.map(({ report }) => report.name).join(', ');
  const warnings = looks.flatMap(({ report }) => report.findings.filter(({ state }) => state === 'warning'));
  const [first, second] = looks;
  const name = second ? undefined : first?.report.name;
  const count = countText(warnings.length, 'warning');
  const good = warnings.length > 0 ? `No problems${name ? ` on ${name}` : ''}, but ${count}.` : undefined;
  return {
    message: troubled.length > 0 ? `Problems on: ${names}.` : (good ?? `No problems${name ? ` on ${name}` : ''}.`),
    data: { hosts: looks.map(({ report }) => report) },
    ...(troubled[0] && { exitCode: troubled[0].exitCode }),
  };
};

export const hostsRemove: Procedure = (session, input, context) => {
  const book = bookOf(context);
  return deleteOne(session, {
    noun: 'host',
    verb: 'remove',
    list: async () => Object.entries(await book.list()),
    idOf: ([name]) => name,
    choose: (hosts) => chooseHost(session, input, Object.fromEntries(hosts)),
    action: ([name, { ssh }]) => ({
      request: `remove from ${book.file}: hosts: ${name}: ssh: ${ssh}`,
      target: { host: name },
      run: async (grant) => {
        await dropHost(grant, book.file, name);
        await book.changed();
        await book.forget(name);
      },
    }),
    stillThere: { code: 'failed.hosts', remedy: `Remove the host from ${book.file} in an editor.` },
    remark: 'Nothing on the host was changed.',
  });
};

export const hostsTrust: Procedure = async (session, input, context) => {
  const book = bookOf(context);
  const [name, settings] = await chooseHost(session, input, await book.list());
  const { program, env } = book;
  session.progress({ id: 'key', label: `Reading the host key of ${name}` });
  const changed = await changedKey(name, parseDestination(settings.ssh), { program, env }, session.signal);
  session.progress({ id: 'key', label: '', done: true });
  if (!changed) return { message: `No changed host key: ${name} presents a known key, or none is known yet.`, data: { name } };
  const file = cleanLine(changed.file);
  const type = changed.shown.split(' ', 1)[0]?.toLowerCase();
  session.show({
    kind: 'table',
    title: `Host key of ${name} (${cleanLine(changed.name)})`,
    columns: ['', 'KEY'],
    rows: [...(changed.known.length > 0 ? changed.known : ['not readable']).map((key) => ['known', key]), ['current', changed.shown]],
  });
  if (!session.dryRun) {
    if (!session.attended) {
      const message = `Cannot prompt without a terminal: the new key of ${name} must be confirmed: ${changed.shown}.`;
      throw new Fault('refused.notConfirmed', message, `Run the command in a terminal: quarterdeck hosts trust ${name}`);
    }
    await session.ask
      .text({
        id: 'trust',
        label: `Type ${name} to remove the old key`,
        help: `Compare the current key with the output of ssh-keygen -l -f /etc/ssh/ssh_host_${type}_key.pub on the host's own console. If they differ, the connection may be intercepted. Leave empty to cancel.`,
        check: (text) => (text.trim() === name || text === '' ? undefined : `The text does not match "${name}".`),
      })
      .then((typed) => {
        if (typed.trim() === name) return;
        const remedy = 'Compare the keys, then run the command again.';
        throw new Fault('interrupted.cancelled', 'Cancelled: the old key is kept.', remedy);
      });
  }
  // The operator typed the name, which is more than a yes.
  await session.act({
    id: 'forget',
    right: 'operate',
    request: `ssh-keygen -R ${cleanLine(changed.name)} -f ${file}; was ${changed.known.join(', ') || 'not readable'}, now ${changed.shown}`,
    target: { host: name },
    run: (grant) => forgetKey(grant, changed, env),
  });
  if (session.dryRun) return { message: 'Dry run: no key was removed.' };
  const { report, exitCode } = await checkHost(session, book, name, settings);
  return {
    message:
      exitCode === 0
        ? `Removed the old key of ${name}; the previous file is ${file}.old.`
        : `Removed the old key of ${name} (the previous file is ${file}.old), but the check found problems.`,
    data: { name, file: changed.file, known: changed.known, shown: changed.shown, report },
    exitCode,
  };
};
