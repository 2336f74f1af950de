import { allowlistingOf } from './allowlists.ts';
import { type CliCommand, CliRefusal } from './cscli.ts';
import { atApi } from './cscli-asking.ts';
import { textFlag } from './flags.ts';
import { rfc3339 } from './go-words.ts';
import { takeAlerts } from './intake.ts';

interface Row {
  duration?: string;
  reason?: string;
  scope?: string;
  type?: string;
  value?: string;
}

/** Fields of one line of CSV, with quotes where there are some. */
const fieldsOf = (line: string): string[] =>
  [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare ?? '');

function rowsOf(text: string, format: string): Row[] {
  const lines = text.split(/\r?\n/).filter((line, index, all) => line !== '' || index < all.length - 1);
  if (format === 'values') return lines.map((line) => ({ value: line.trim() }));
  if (format === 'csv') {
    const [head = '', ...rest] = lines;
    const names = fieldsOf(head);
    return rest.map((line) => Object.fromEntries(fieldsOf(line).map((field, index) => [names[index], field])) as Row);
  }
  try {
    return JSON.parse(text) as Row[];
  } catch {
    throw new CliRefusal('invalid character looking for beginning of value');
  }
}

/** `cscli decisions import`. The container of the practice has no files, so only what is piped in can be imported. */
export const importDecisions: CliCommand = {
  flags: {
    input: textFlag('i'),
    duration: textFlag('d'),
    scope: textFlag(),
    reason: textFlag('R'),
    type: textFlag('t'),
    batch: textFlag(),
    format: textFlag(),
  },
  run(cli) {
    const input = cli.texts.get('input');
    if (input === undefined) throw new CliRefusal('required flag(s) "input" not set');
    const format = cli.texts.get('format') ?? /\.(json|csv)$/.exec(input)?.[1] ?? '';
    if (format === '' && !cli.old)
      throw new CliRefusal('unable to guess format from file extension, please provide a format with --format flag');
    if (input !== '-') throw new CliRefusal(`unable to open ${cli.old ? `'${input}'` : input}: open ${input}: no such file or directory`);
    if (!['json', 'csv', 'values'].includes(format))
      throw new CliRefusal(`invalid format '${format}', expected one of 'json', 'csv', 'values'`);
    cli.print(`Parsing ${format}\n`);
    const rows = rowsOf(cli.stdin, format);
    if (rows.length === 0) throw new CliRefusal('no decisions found');
    const decisions = rows.map((row, index) => {
      if (!row.value) throw new CliRefusal(`item ${index}: missing 'value'`);
      return {
        duration: row.duration || cli.texts.get('duration') || '4h',
        origin: 'cscli-import',
        scenario: row.reason || cli.texts.get('reason') || 'manual',
        scope: row.scope || cli.texts.get('scope') || 'Ip',
        simulated: false,
        type: row.type || cli.texts.get('type') || 'ban',
        value: row.value,
      };
    });
    if (decisions.length > 1000) cli.print(`You are about to add ${decisions.length} decisions, this may take a while\n`);
    const batch = Number(cli.texts.get('batch') ?? 0) || decisions.length;
    if (cli.texts.has('batch')) cli.print(`batch size: ${batch}\n`);
    const wanted = decisions.filter(({ scope, value }) => {
      const reason = /^(?:ip|range)$/i.test(scope) && cli.store.allowlists.length > 0 ? allowlistingOf(cli.store, value) : undefined;
      if (reason !== undefined) cli.print(`Value ${value} is allowlisted by [${reason}]\n`);
      return reason === undefined;
    });
    for (let start = 0; start < wanted.length; start += batch) {
      const chunk = wanted.slice(start, start + batch);
      const now = rfc3339(cli.store.now());
      const alert = {
        capacity: 0,
        decisions: chunk,
        events: [],
        events_count: chunk.length,
        kind: 'cscli',
        leakspeed: '',
        message: '',
        scenario: `import stdin: ${chunk.length} IPs`,
        scenario_hash: '',
        scenario_version: '',
        simulated: false,
        source: { scope: '', value: '' },
        start_at: now,
        stop_at: now,
      };
      // One line in the log for each decision is what the real one writes too, but nobody reads 50,000 of them.
      const log = chunk.length > 100 ? () => {} : cli.log;
      atApi(cli, 'POST', '/v1/alerts', '', () => takeAlerts(cli.store, [alert], cli.login, cli.dialect, log));
    }
    // Without an end of line, as the product has it.
    cli.print(`Imported ${wanted.length} decisions`);
  },
};
