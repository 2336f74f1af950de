import type { CatalogEntry } from '../../catalog/catalog.ts';
import { fieldHelp } from '../../catalog/field-help.ts';
import { checkValue } from '../../catalog/field-types.ts';
import { hasOwnForm } from '../../catalog/run-location.ts';
import type { ComponentField } from '../../catalog/schema.ts';
import { deliveredPath } from '../../catalog/template-names.ts';
import { checkConfig, examineConfig } from '../../config-files/config-check.ts';
import { checkPolicy } from '../../config-files/headscale-policy/policy.ts';
import type { ConfigProblem } from '../../config-files/problem.ts';
import { reportedProblems } from '../../config-files/reported-problems.ts';
import { Fault } from '../../faults/fault.ts';
import { localFiles } from '../../hosts/local-files.ts';
import type { Form, FormField, Session } from '../../session/session.ts';
import { runComposeCommand } from '../../stack/apply/compose-command.ts';
import { readConfigSchema, readConfigTemplate } from '../../stack/component-source.ts';
import type { Deployment } from '../../stack/model.ts';
import { filledFile } from '../../stack/plan/render.ts';
import { cleanLine } from '../../text/clean.ts';
import { nameRemedy } from '../../text/nearest-name.ts';
import { countText } from '../../text/quantities.ts';
import { deployed, neededComposeTool } from '../deploy/stack-facts.ts';
import { type EngineScope, onEngine } from '../engine-scope.ts';
import type { FlowContext, FlowInput, Procedure } from '../flow.ts';
import { wordsUpTo } from '../flow-options.ts';
import { fileOf, readNamedFile } from '../named-file.ts';
import { valuesInForce } from '../secrets/secret-values.ts';
import { configFault, showProblems } from './config-problems.ts';

const verifyLimitMs = 120_000;
const outputKeptBytes = 64 * 1024;

/** Exit codes of compose and engines for a program that never started: no such command, no such image, not permitted, not found. */
const notRun: ReadonlySet<number> = new Set([16, 125, 126, 127]);

interface Verified {
  done: boolean;
  problems: readonly ConfigProblem[];
}

export const configCheck = onEngine(async (scope, input, session, context) => {
  const [word] = wordsUpTo(2, input, { takes: 'One file at a time', remedy: 'Usage: quarterdeck config check COMPONENT [FILE]' });
  const checkable = context.catalog.entries.filter(({ configFile }) => configFile);
  const choices = checkable.map(({ id, kind, product }) => ({ value: id, label: kind, detail: product.name }));
  const id = word ?? (await session.ask.choice({ id: 'component', label: 'Component', choices }));
  const entry = context.catalog.get(id);
  if (!entry) {
    const names = checkable.map((known) => known.id);
    const remedy = nameRemedy(id, names, 'List the components: quarterdeck catalog list');
    throw new Fault('usage.component', `The catalog has no component "${cleanLine(id)}".`, remedy);
  }
  const { configFile } = entry;
  if (!configFile) {
    const message = `${id} has no configuration file in the catalog.`;
    const remedy = `To see the settings: quarterdeck catalog show ${id}. To edit the files: quarterdeck edit ${id}`;
    throw new Fault('usage.component', message, remedy);
  }
  const own = await ownText(session, input);
  if (!own && entry.deploy !== 'compose') {
    const message = `${id} is not deployed by Quarterdeck, so the path of its file is unknown.`;
    throw new Fault('usage.file', message, `Pass the file: quarterdeck config check ${id} FILE`);
  }
  const deployment = own ? undefined : (await deployed(scope, id)).deployment;
  const text = own?.text ?? deployment?.files[configFile.path];
  const file = own?.file ?? cleanLine(`${deployment?.folder ?? id}/${configFile.path}`);
  if (text === undefined) {
    const remedy = `Recreate the file: quarterdeck deploy ${id}. Or pass a file: quarterdeck config check ${id} FILE`;
    throw new Fault('usage.file', `${file} does not exist.`, remedy);
  }
  const { problems, unjudged, isRead } = await examined(entry, text, own?.file);
  // A file that cannot be read is not worth starting a container for.
  const isBroken = problems.some(({ level }) => level === 'error');
  const verified: Verified = !isBroken && deployment ? await verify(scope, deployment, configFile) : notAsked;
  const all: readonly ConfigProblem[] = [...problems, ...verified.problems];
  const { errors, reported } = showProblems(session, file, all);
  for (const { line, message } of unjudged) session.show({ kind: 'text', text: cleanLine(`${file}:${line} ${message}`) });
  const data = { component: id, file, problems: all, unjudged };
  if (all.length === 0 && !verified.done && !isRead)
    return {
      message: `${file} was not checked: ${whoCould(entry, own !== undefined, unjudged.length > 0)}.`,
      data: { ...data, checked: false },
    };
  const right = verified.done ? 'accepted by the product' : formWords(entry, own !== undefined, unjudged.length > 0);
  return {
    message: errors > 0 ? `${file}: ${reported}.` : `${file}: ${reported === '' ? '' : `${reported}, otherwise `}${right}.`,
    data: { ...data, checked: true, verified: verified.done },
    exitCode: errors > 0 ? 1 : 0,
  };
});

async function examined(entry: CatalogEntry, text: string, ownFile: string | undefined) {
  if (entry.api?.name === 'headscale' && /\.(?:hu)?json$/i.test(ownFile ?? '')) {
    // Its policy defines who can reach what. Checked as the newest server would; its users are not queried.
    const findings = checkPolicy(text, { minor: Number.POSITIVE_INFINITY, users: undefined });
    return { problems: findings.map((finding) => ({ ...finding, field: '', remedy: '' })), unjudged: [], isRead: true };
  }
  // A product that accepts YAML often accepts TOML too.
  if (entry.configFile?.format === 'yaml' && /\.toml$/i.test(ownFile ?? ''))
    return { problems: [], unjudged: [{ line: 1, message: 'TOML files cannot be checked. Use YAML instead.' }], isRead: false };
  const schema = await readConfigSchema(entry);
  return examineConfig(text, entry.configFile ?? {}, schema, { elsewhere: ownFile !== undefined });
}

const notAsked: Verified = { done: false, problems: [] };

function whoCould({ configFile, product }: CatalogEntry, isOwn: boolean, isReportedWhy: boolean): string {
  if (isReportedWhy) return 'its format is not supported';
  if (!configFile?.verify) return `its format is not supported, and ${product.name} does not provide a check`;
  return `only ${product.name} itself can check it${isOwn ? ', once it is deployed' : ''}`;
}

function formWords({ configFile, product }: CatalogEntry, isOwn: boolean, isPartly: boolean): string {
  if (isPartly) return 'its format is valid as far as it could be checked';
  const { schema, verify: check, format } = configFile ?? {};
  // A WireGuard file has its own reader, which checks as much as any schema could.
  if (schema === undefined && format !== 'wg-quick') return `its syntax is valid; the settings of ${product.name} were not checked`;
  return check && isOwn ? `its format is valid; not checked by ${product.name} itself` : 'its format is valid';
}

async function ownText(session: Session, { stdin, words: [, word] }: FlowInput): Promise<{ text: string; file: string } | undefined> {
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input' };
  if (word === undefined) return undefined;
  return readNamedFile(session, word, 'Pass a file on this machine, or omit it to check the deployed file.');
}

/** A separate container sees the file as it is now; it has the mounts and secrets of the service. */
async function verify(scope: EngineScope, deployment: Deployment, { verify: check }: NonNullable<CatalogEntry['configFile']>) {
  const { session, context, engineName } = scope;
  const [program, ...rest] = check?.argv ?? [];
  if (!check || program === undefined || session.readOnly) return notAsked;
  const { component: id } = deployment;
  const seen = context.fleet.snapshot().components.find((one) => one.known && one.id === id && one.host === engineName);
  const tool = await neededComposeTool(scope);
  const secrets = await valuesInForce(scope, deployment);
  const words = ['run', '--rm', '--no-deps', '-T', '--entrypoint', program, check.service, ...rest];
  const ended = await session.act({
    id: 'verify',
    right: 'operate',
    request: `${tool.argv.join(' ')} ${words.map((word) => cleanLine(word)).join(' ')} in ${deployment.folder}`,
    target: { host: engineName, component: seen?.key ?? id },
    limitMs: verifyLimitMs,
    run: async (grant) => {
      const running = await runComposeCommand(grant, scope.host, { deployment, tool, secrets, words });
      let output = '';
      for await (const chunk of running.stdout as AsyncIterable<Buffer>) output = (output + chunk.toString('utf8')).slice(-outputKeptBytes);
      const { exitCode, stderr } = await running.ended;
      return { exitCode, output: session.withoutSecrets(`${output}\n${stderr}`) };
    },
  });
  if (ended === undefined) return notAsked;
  if (notRun.has(ended.exitCode)) {
    const why = ended.output.trim().split('\n').at(-1) ?? '';
    session.show({
      kind: 'text',
      text: cleanLine(`Could not run ${program} in the container, so the product itself did not check the file: ${why}`),
    });
    return notAsked;
  }
  return { done: true, problems: ended.exitCode === 0 ? [] : reportedProblems(ended.output, check.problem) };
}

export const configMake: Procedure = async (session, input, context) => {
  const entry = await chosenEntry(session, input, context);
  const file = await outFile(session, input);
  const { path, template, schema } = await readConfigTemplate(entry);
  const values = await session.fill(formOf(entry));
  const text = filledFile(template, values, path);
  const problem = checkConfig(text, entry.configFile ?? {}, schema).find(({ level }) => level === 'error');
  if (problem) throw configFault(problem, deliveredPath(path));
  if (file === undefined) {
    session.show({ kind: 'output', stream: 'stdout', bytes: Buffer.from(text) });
    return {
      message: `Printed ${entry.id} with ${countText(Object.values(values).filter(Boolean).length, 'setting')}. No file was written.`,
      data: { component: entry.id, text },
    };
  }
  await session.act({
    id: 'write',
    right: 'operate',
    request: `write ${cleanLine(file)}`,
    run: (grant) => localFiles.write(grant, file, Buffer.from(text), { mode: 0o644 }),
  });
  return {
    message: session.dryRun ? 'Dry run: nothing was written.' : `Wrote ${entry.id} to ${cleanLine(file)}.`,
    data: { component: entry.id, file, text },
  };
};

async function chosenEntry(session: Session, { words }: FlowInput, { catalog }: FlowContext): Promise<CatalogEntry> {
  const made = catalog.entries.filter(hasOwnForm);
  const [word] = words;
  const choices = made.map(({ id, kind, product }) => ({ value: id, label: kind, detail: product.name }));
  const id = word ?? (await session.ask.choice({ id: 'component', label: 'Configuration to create', choices }));
  const entry = made.find((one) => one.id === id);
  if (entry) return entry;
  const shown = cleanLine(id);
  if (catalog.get(id)?.deploy === 'compose') {
    const message = `${shown} gets its configuration when it is deployed.`;
    throw new Fault('usage.component', message, `To enter the settings, run: quarterdeck deploy ${shown}`);
  }
  const names = made.map((one) => one.id);
  const remedy = nameRemedy(id, names, 'List the components: quarterdeck catalog list');
  throw new Fault('usage.component', `No configuration can be created for "${shown}".`, remedy);
}

/** Refused before any prompt: the existing file may contain someone's work. */
async function outFile(session: Session, { words }: FlowInput): Promise<string | undefined> {
  const [, word] = wordsUpTo(2, { words }, { takes: 'One file at a time', remedy: 'Usage: quarterdeck config make COMPONENT [FILE]' });
  if (word === undefined) return undefined;
  const file = fileOf(word);
  if (await localFiles.facts(file, session.signal)) {
    const remedy = 'Choose another file, or move the existing one. To check a file: quarterdeck config check COMPONENT FILE';
    throw new Fault('refused.fileThere', `${cleanLine(file)} already exists.`, remedy);
  }
  return file;
}

function formOf(entry: CatalogEntry): Form {
  return {
    id: 'config',
    title: `${entry.kind} (${entry.product.name})`,
    fields: entry.fields.flatMap((field) =>
      field.target === 'config' && field.env !== undefined && !field.secret ? [formField(field.env, field)] : [],
    ),
  };
}

function formField(id: string, field: ComponentField): FormField {
  const { name, label = name, required } = field;
  const values = field.enum ?? (field.type === 'boolean' ? ['true', 'false'] : undefined);
  const unset = field.default === undefined && !required ? [{ value: '', label: 'not set' }] : [];
  return {
    ...{ id, label, required, section: 'Settings', kind: values ? 'choice' : 'text' },
    choices: values && [...unset, ...values.map((value) => ({ value, label: value }))],
    value: field.default === undefined ? '' : String(field.default),
    help: fieldHelp(field) || undefined,
    check: (value) => (value === '' ? (required ? `${label} is required.` : undefined) : checkValue(field, value)),
  };
}
