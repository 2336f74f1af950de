import { randomUUID } from 'node:crypto';
import { spanOf } from './address-span.ts';
import { allowlistingOf, applyAllowlists } from './allowlists.ts';
import { type CliCommand, CliRefusal, type CliRun } from './cscli.ts';
import { textFlag } from './flags.ts';
import { csvRow, goJson, parseDurationWithDays, rfc3339 } from './go-words.ts';
import { lightTable } from './hub-items.ts';
import { allowlistShape } from './shapes.ts';
import type { Allowlist } from './store.ts';

function editable(cli: CliRun, what: 'update' | 'delete'): Allowlist {
  const [name = ''] = cli.rest;
  const list = cli.store.allowlists.find((candidate) => candidate.name === name);
  if (list === undefined) throw new CliRefusal(`allowlist '${name}' not found`);
  if (list.consoleManaged) {
    throw new CliRefusal(
      `allowlist ${name} is managed by console, cannot ${what} with cscli. Please visit https://app.crowdsec.net/allowlists/${list.id} to ${what}`,
    );
  }
  return list;
}

/** `cscli allowlists`. */
export const allowlistCommands: Readonly<Record<string, CliCommand>> = {
  list: {
    recent: true,
    run(cli) {
      const lists = cli.store.allowlists.map((list) => allowlistShape(list, cli.store.now(), true));
      if (cli.output === 'json') cli.print(`${lists.length === 0 ? '[]' : goJson(lists, '  ')}\n`);
      else if (cli.output === 'raw') {
        const rows = cli.store.allowlists.map((list) => [
          list.name,
          list.description,
          rfc3339(list.createdMs),
          rfc3339(list.updatedMs),
          String(list.consoleManaged),
          String(list.items.length),
        ]);
        cli.print([['name', 'description', 'created_at', 'updated_at', 'console_managed', 'size'], ...rows].map(csvRow).join(''));
      } else {
        const rows = lists.map((list) => [
          list.name,
          list.description,
          list.created_at,
          list.updated_at,
          list.console_managed ? 'yes' : 'no',
          String(list.items.length),
        ]);
        cli.print(lightTable(['Name', 'Description', 'Created at', 'Updated at', 'Managed by Console', 'Size'], rows));
      }
    },
  },
  inspect: {
    recent: true,
    takes: [1, 1],
    run(cli) {
      const [name = ''] = cli.rest;
      const list = cli.store.allowlists.find((candidate) => candidate.name === name);
      if (list === undefined) throw new CliRefusal(`unable to get allowlist: API error: allowlist '${name}' not found`);
      const shape = allowlistShape(list, cli.store.now(), true);
      if (cli.output === 'json') {
        cli.print(`${goJson(shape, '  ')}\n`);
        return;
      }
      const end = (untilMs: number | undefined) => (untilMs === undefined ? 'never' : rfc3339(untilMs));
      if (cli.output === 'raw') {
        const rows = list.items.map((item) => [
          name,
          list.description,
          item.value,
          item.description,
          end(item.untilMs),
          rfc3339(item.createdMs),
          String(list.consoleManaged),
        ]);
        cli.print(
          [['name', 'description', 'value', 'comment', 'expiration', 'created_at', 'console_managed'], ...rows].map(csvRow).join(''),
        );
        return;
      }
      const facts = [
        ['Name', name],
        ['Description', list.description],
        ['Created at', shape.created_at],
        ['Updated at', shape.updated_at],
        ['Managed by Console', list.consoleManaged ? 'yes' : 'no'],
      ];
      cli.print(lightTable([`Allowlist: ${name}`, ''], facts));
      cli.print('\n');
      cli.print(
        lightTable(
          ['Value', 'Comment', 'Expiration', 'Created at'],
          list.items.map((item) => [item.value, item.description, end(item.untilMs), rfc3339(item.createdMs)]),
        ),
      );
    },
  },
  create: {
    recent: true,
    flags: { description: textFlag('d') },
    takes: [1, 1],
    run(cli) {
      const [name = ''] = cli.rest;
      const description = cli.texts.get('description');
      if (description === undefined) throw new CliRefusal('required flag(s) "description" not set');
      if (cli.store.allowlists.some((list) => list.name === name)) throw new CliRefusal(`allowlist '${name}' already exists`);
      const now = cli.store.now();
      cli.store.allowlists.push({ id: randomUUID(), name, description, createdMs: now, updatedMs: now, consoleManaged: false, items: [] });
      cli.print(`allowlist '${name}' created successfully\n`);
    },
  },
  delete: {
    recent: true,
    takes: [1, 1],
    run(cli) {
      const list = editable(cli, 'delete');
      cli.store.allowlists.splice(cli.store.allowlists.indexOf(list), 1);
      cli.print(`allowlist '${list.name}' deleted successfully\n`);
    },
  },
  add: {
    recent: true,
    flags: { expiration: textFlag('e'), comment: textFlag('d') },
    takes: [2, 1000],
    run(cli) {
      const given = cli.texts.get('expiration');
      const life = given === undefined ? undefined : parseDurationWithDays(given);
      if (life !== undefined && 'refusal' in life)
        throw new CliRefusal(`invalid argument ${JSON.stringify(given)} for "-e, --expiration" flag: ${life.refusal}`);
      const list = editable(cli, 'update');
      const now = cli.store.now();
      const wanted = cli.rest.slice(1).filter((value) => {
        const known = list.items.some((item) => item.value === value);
        if (known) cli.note('warning', `value ${value} already in allowlist`);
        return !known;
      });
      if (wanted.length === 0) {
        cli.print('no new values for allowlist\n');
        return;
      }
      const wrong = wanted.find((value) => spanOf(value) === undefined);
      if (wrong !== undefined) throw new CliRefusal(`unable to add values to allowlist: invalid ip address '${wrong}'`);
      for (const value of wanted) {
        list.items.push({
          value,
          description: cli.texts.get('comment') ?? '',
          createdMs: now,
          ...(life === undefined ? {} : { untilMs: now + life.ms }),
        });
      }
      list.updatedMs = now;
      cli.print(`added ${wanted.length} values to allowlist ${list.name}\n`);
      const ended = applyAllowlists(cli.store);
      if (ended > 0) cli.print(`${ended} decisions deleted by allowlists\n`);
    },
  },
  remove: {
    recent: true,
    takes: [2, 1000],
    run(cli) {
      const list = editable(cli, 'delete');
      const gone = list.items.filter((item) => cli.rest.slice(1).includes(item.value));
      if (gone.length === 0) {
        cli.print('no value to remove from allowlist\n');
        return;
      }
      list.items = list.items.filter((item) => !gone.includes(item));
      list.updatedMs = cli.store.now();
      // Without an end of line, as the product has it.
      cli.print(`removed ${gone.length} values from allowlist ${list.name}`);
    },
  },
  check: {
    recent: true,
    takes: [1, 1000],
    run(cli) {
      for (const value of cli.rest) {
        if (spanOf(value) === undefined)
          throw new CliRefusal(`cannot check if ${value} is in allowlist: API error: invalid ip address '${value}'`);
        const item = allowlistingOf(cli.store, value);
        if (item === undefined) {
          cli.print(`${value} is not allowlisted\n`);
          // The rest is not looked at.
          return;
        }
        cli.print(`${value} is allowlisted by item ${item}\n`);
      }
    },
  },
};
