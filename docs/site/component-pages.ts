import { callText } from '../../source/app/entry-json.ts';
import { type CatalogEntry, upgradeStepText } from '../../source/catalog/catalog.ts';
import { groups, groupTitles } from '../../source/catalog/groups.ts';
import { runLocation } from '../../source/catalog/run-location.ts';
import { slugify } from './anchors.ts';
import { block, cell, code, facts, page, prose, section, sentence, table } from './markdown.ts';

type Field = CatalogEntry['fields'][number];
type Call = CatalogEntry['calls'][string];

/** `Mealie (recipe-manager)`: people look for the product. */
export const componentTitle = ({ id, product }: CatalogEntry) => `${prose(product.name)} (${id})`;

const list = (texts: readonly string[]) => texts.map((text) => `- ${text}`).join('\n');
/** What the program fills in when it shows a text. */
const filled = (text: string) => text.replaceAll(/\{\{|\}\}|\{[^{}]*\}/g, (found) => (found === '{{' ? '{' : found === '}}' ? '}' : '…'));

export function componentPage(entry: CatalogEntry, entries: readonly CatalogEntry[], known: ReadonlySet<string>): string {
  const link = (id: string) => (known.has(id) ? `[${id}](./${id}.md)` : code(id));
  const where = runLocation(entry, entries);
  const { product, needs } = entry;
  return page(
    componentTitle(entry),
    sentence(entry.kind),
    facts([
      ['Component', code(entry.id)],
      ['Group', `[${groupTitles[entry.group]}](./index.md#${slugify(groupTitles[entry.group])})`],
      ['Homepage', product.homepage && `<${product.homepage}>`],
      ['Image', entry.image && code(entry.image)],
      ['Alternatives', product.alternatives.map(({ name, image }) => prose(name) + (image ? ` (${code(image)})` : '')).join(', ')],
      ['Requires', [needs?.memory && `${needs.memory} memory`, needs?.disk && `${needs.disk} disk space`].filter(Boolean).join(', ')],
      ['Depends on', entry.dependsOn.map(link).join(', ')],
      ['Keywords', entry.keywords.map(prose).join(', ')],
    ]),
    where === undefined ? block(`quarterdeck deploy ${entry.id}`, 'sh') : `Quarterdeck does not deploy it. ${prose(where)}`,
    ...runningSections(entry),
    ...connectionSections(entry, link),
    ...callSections(entry),
    ...factSections(entry),
  );
}

function runningSections(entry: CatalogEntry): string[] {
  return [
    section(
      'Services',
      table(
        ['SERVICE', 'IMAGE', 'ROLE', 'NOTES'],
        entry.services.map((service) => [
          code(service.name) + (service.main ? ' (main)' : ''),
          code(service.image),
          prose(service.role),
          cell(
            service.oneShot && 'Exits by itself.',
            service.optional && 'Optional.',
            service.networkMode === 'host' && 'Uses the network of the host.',
            service.architectures && `Only for ${service.architectures.join(', ')}.`,
            service.capAdd.length > 0 && `Capabilities: ${service.capAdd.map(code).join(', ')}.`,
            service.devices.length > 0 && `Devices: ${service.devices.map(code).join(', ')}.`,
            service.tagReason && `Tag: ${sentence(service.tagReason)}`,
            service.irreplaceable && `No other image works: ${sentence(service.irreplaceable)}`,
          ),
        ]),
      ),
    ),
    section(
      'Ports',
      table(
        ['PORT', 'ADDRESS', 'CONTAINER', 'ROLE', 'NOTES'],
        entry.ports.map((port) => [
          code(port.name),
          code(`${exposures[port.exposure]}:${port.host ?? 'any'}/${port.protocol}`),
          String(port.container),
          prose(port.role),
          cell(
            port.web && 'Web page.',
            port.tls && 'TLS.',
            port.fixed && 'Fixed by its protocol.',
            port.exposure === 'host-network' && 'On the network of the host.',
          ),
        ]),
      ),
    ),
    section(
      'Settings',
      table(
        ['SETTING', 'DEFAULT', 'TYPE', 'HELP'],
        entry.fields.map((field) => [settingCell(field), defaultCell(field), typeCell(field), helpCell(field)]),
      ),
      list(entry.oneOf.map((set) => `Set exactly one of ${set.map(code).join(', ')}.`)),
    ),
    section(
      'Volumes',
      table(
        ['TARGET', 'CONTENT', 'SOURCE', 'SERVICE'],
        Object.entries(entry.volumes).map(([target, { description }]) => {
          const mounts = entry.services.flatMap(({ name, mounts: all }) =>
            all.filter((mount) => mount.target === target).map((mount) => ({ ...mount, service: name })),
          );
          const sources = [...new Set(mounts.map(({ source }) => source).filter(Boolean))];
          return [code(target), sentence(description), sources.map(code).join(', '), mounts.map(({ service }) => code(service)).join(', ')];
        }),
      ),
    ),
    section(
      'Backup',
      table(
        ['ITEM', 'VOLUME', 'METHOD', 'NOTES'],
        entry.backup.map((item) => [
          code(item.id),
          code(item.volume),
          item.method,
          cell(
            item.service && `Service ${code(item.service)}.`,
            sentence(item.why),
            item.with.length > 0 && `Together with ${item.with.map(code).join(', ')}.`,
            item.exclude.length > 0 && `Excluded: ${item.exclude.map(code).join(', ')}.`,
          ),
        ]),
      ),
    ),
  ];
}

const exposures = { loopback: '127.0.0.1', all: '*', 'host-network': '*' } as const;

const settingCell = ({ name, label, env, required, secret }: Field) =>
  cell(
    label === undefined ? code(name) : `**${prose(label)}**`,
    label !== undefined && code(name),
    env !== undefined && env !== name && code(env),
    [required && 'required', secret && 'secret'].filter(Boolean).join(', '),
  );

function defaultCell({ default: preset, generator }: Field): string {
  if (generator !== undefined) return `generated (${code(generator)})`;
  return preset === undefined || preset === '' ? '' : code(String(preset));
}

/** Some rules only list the values: `enum: "true","false"`. */
const listedIn = (rule: string | undefined) =>
  /^enum: (".*")$/
    .exec(rule ?? '')?.[1]
    ?.split(/, ?/)
    .map((value) => value.slice(1, -1));

const typeCell = ({ type, enum: values, rule, target }: Field) =>
  cell(type, (values ?? listedIn(rule))?.map(code).join(', '), target !== 'environment' && `(${targets[target]})`);

const targets: Readonly<Record<Field['target'], string>> = {
  environment: 'environment variable',
  config: 'configuration file',
  command: 'command argument',
  credential: 'credential',
  proxy: 'reverse proxy',
};

const helpCell = ({ description, rule, pattern, excludes, validFor, setupOnly, sameAs, rotate }: Field) =>
  cell(
    sentence(description),
    !listedIn(rule) && sentence(rule),
    pattern && `Pattern: ${code(pattern)}`,
    excludes.length > 0 && `Not together with ${excludes.map(code).join(', ')}.`,
    setupOnly && `Only during setup: ${setupOnly.map(code).join(', ')}.`,
    sameAs && `Same value as ${sameAs.map(code).join(', ')}.`,
    validFor && `Valid for ${validFor}.`,
    rotate && 'never' in rotate && `Cannot be rotated: ${sentence(rotate.never)}`,
  );

function connectionSections(entry: CatalogEntry, link: (id: string) => string): string[] {
  const { provides = {}, uses = [], chain, site, websocket, sensitive, configFile } = entry;
  return [
    section(
      'Connections',
      table(
        ['USES', 'OF', 'SETTING'],
        uses.map(({ component, what, field }) => [code(what), link(component), field ? code(field) : "In the product's own page."]),
      ),
      table(
        ['PROVIDES', 'SCHEME', 'PORT'],
        Object.entries(provides).map(([name, { port, scheme }]) => [code(name), code(scheme), code(port)]),
      ),
    ),
    section(
      'Media chain',
      table(
        ['STAGE', 'DESCRIPTION', 'REQUIRED'],
        chain.map(({ stage, does, optional }) => [stage, sentence(does), optional ? 'no' : 'yes']),
      ),
    ),
    section(
      'Reverse proxy',
      list([
        ...(site?.port ? [`The site leads to port ${code(site.port)}.`] : []),
        ...(site?.routes ?? []).map(
          ({ path, port, otherwise }) => `${code(path)} leads to port ${code(port)}${otherwise ? `, or else to ${code(otherwise)}` : ''}.`,
        ),
        ...(site?.names ?? []).map(({ field, port }) => `The host name in ${code(field)} leads to port ${code(port)}.`),
        ...(websocket ? ['Uses WebSockets.'] : []),
        ...(sensitive === true ? ['Requires HTTPS.'] : sensitive === false ? ['Does not require HTTPS.'] : []),
      ]),
    ),
    section(
      'Configuration file',
      configFile ? [code(configFile.path), prose(configFile.form), configFile.format].filter(Boolean).join(', ') : '',
      list((configFile?.rules ?? []).map(({ message, remedy }) => `${sentence(message)} ${sentence(remedy)}`)),
    ),
  ];
}

function callSections(entry: CatalogEntry): string[] {
  const { probe, calls } = entry;
  const probed = probe && [probe.call, ...probe.also].map((name) => code(name)).join(', ');
  return [
    section(
      'States',
      probe ? `Read with ${probed}${probe.every ? `, every ${probe.every}` : ''}. The first state whose condition is true is shown.` : '',
      table(
        ['STATE', 'DETAIL', 'CONDITION'],
        (probe?.states ?? []).map(({ state, severity, detail, when }) => [
          cell(`<span class="severity ${severity}">${prose(filled(state))}</span>`, `(${severity})`),
          filled(detail) !== '…' && prose(filled(detail)),
          code(when),
        ]),
      ),
    ),
    section(
      'Checks',
      table(
        ['CHECK', 'LEVEL', 'MESSAGE'],
        entry.checks.map(({ id, level, message, remedy }) => [code(id), level, cell(sentence(filled(message)), sentence(filled(remedy)))]),
      ),
    ),
    section(
      'Before the first start',
      table(
        ['TASK', 'FILES', 'WHAT TO DO'],
        entry.beforeStart.map(({ id, files, message, remedy }) => [
          code(id),
          files.map(code).join('<br>'),
          cell(sentence(message), sentence(remedy)),
        ]),
      ),
    ),
    section(
      'Setup tasks',
      table(
        ['TASK', 'WHAT TO DO', 'PAGE', 'NOTES'],
        entry.firstRun.map(({ id, title, detail, page: path, urgent, done }) => [
          code(id),
          cell(sentence(title), sentence(detail)),
          path && code(path),
          cell(
            urgent && '**Anyone can log in until it is done.**',
            done === undefined && `Confirm: ${code(`quarterdeck tasks ${entry.id} ${id}`)}`,
          ),
        ]),
      ),
    ),
    section(
      'Operations',
      table(
        ['OPERATION', 'DESCRIPTION', 'RIGHT', 'NOTES'],
        entry.operations.map(({ id, title, right, consequences }) => [
          code(id),
          sentence(title),
          right,
          cell(...consequences.map((text) => sentence(filled(text)))),
        ]),
      ),
    ),
    section(
      'Calls',
      entry.auth === 'none' ? '' : `Authentication: ${sentence(entry.auth)}`,
      table(
        ['CALL', 'REQUEST', 'DESCRIPTION', 'NOTES'],
        Object.entries(calls).map(([name, call]) => [
          code(name),
          requestCell(call),
          prose(call.title),
          cell(
            call.auth !== 'none' && `Authentication: ${sentence(call.auth)}`,
            Object.keys(call.inputs).length > 0 && `Inputs: ${Object.keys(call.inputs).map(code).join(', ')}.`,
            call.response && `Response: ${sentence(call.response)}`,
            sentence(call.note),
          ),
        ]),
      ),
    ),
  ];
}

/** Scripts of several lines are in the catalog entry. */
function requestCell(call: Call): string {
  if (call.exec?.argv.some((word) => word.includes('\n'))) return `a script in ${code(call.exec.service)}`;
  if (call.exec) return `${code(call.exec.argv.join(' '))} in ${code(call.exec.service)}`;
  return call.http ? code(callText(call).replace(/ on port \S+$/, '')) : prose(callText(call));
}

function factSections(entry: CatalogEntry): string[] {
  const { upgrade } = entry;
  return [
    section(
      'Transitions',
      table(
        ['FROM', 'TO', 'TRIGGER', 'CONDITION'],
        entry.transitions.map(({ from, to, trigger, condition, also }) => [
          prose(from),
          prose(to),
          cell(prose(trigger), also && prose(also)),
          prose(condition ?? ''),
        ]),
      ),
    ),
    section(
      'Limits',
      table(
        ['LIMIT', 'VALUE', 'SOURCE'],
        entry.limits.map(({ item, value, kind }) => [prose(item), prose(value), kind]),
      ),
    ),
    section(
      'Known errors',
      table(
        ['CONDITION', 'OUTCOME', 'CHECK'],
        entry.errors.map(({ condition, outcome, check }) => [sentence(condition), sentence(outcome), check && code(check)]),
      ),
    ),
    section(
      'Objects',
      ...entry.objects.flatMap(({ name, fields, note }) => [
        `**${prose(name)}** ${sentence(note)}`.trim(),
        table(
          ['FIELD', 'TYPE', 'NOTES'],
          fields.map((field) => [
            code(field.name),
            field.type,
            cell([field.required && 'required', field.secret && 'secret'].filter(Boolean).join(', '), sentence(field.rule)),
          ]),
        ),
      ]),
    ),
    section('Events', list(entry.events.map(prose))),
    section('Commands', list(entry.cli.map(code))),
    section(
      'Upgrade',
      upgrade ? (upgrade.rollback === 'safe' ? 'Rolling back requires no backup.' : 'Rolling back requires a backup.') : '',
      list([...(upgrade?.steps.map(upgradeStepText) ?? []), ...(upgrade?.notes ?? [])].map(sentence)),
    ),
    section('Notes', list(entry.notes.map(sentence))),
    section(
      'Deviations',
      table(
        ['KEY', 'REASON'],
        Object.entries(entry.justifies).map(([key, reason]) => [code(key), sentence(reason)]),
      ),
    ),
  ];
}

export function componentIndex(entries: readonly CatalogEntry[]): string {
  return page(
    'Components',
    `The catalog has ${entries.length} components. A page has what Quarterdeck knows about one: ports, settings, volumes, backup, states, setup tasks, calls and limits. ${code('quarterdeck catalog show ID')} prints the same.`,
    groups.map((group) => `[${groupTitles[group]}](#${slugify(groupTitles[group])})`).join(' · '),
    ...groups.map((group) =>
      [
        `## ${groupTitles[group]}`,
        table(
          ['PRODUCT', 'COMPONENT', 'KIND', 'DEPLOYED BY'],
          entries
            .filter((entry) => entry.group === group)
            .map((entry) => [
              `[${prose(entry.product.name)}](./${entry.id}.md)`,
              code(entry.id),
              prose(entry.kind),
              entry.deploy === 'compose' ? 'Quarterdeck' : deployers[entry.deploy],
            ]),
        ),
      ].join('\n\n'),
    ),
  );
}

const deployers: Readonly<Record<Exclude<CatalogEntry['deploy'], 'compose'>, string>> = {
  embedded: 'other components',
  host: 'the host',
  config: 'another program',
  cluster: 'the cluster',
  external: 'a third party',
};
