import { join } from 'node:path';
import type { CatalogEntry } from '../catalog/catalog.ts';
import { installationFolder } from '../config/installation.ts';
import { Fault } from '../faults/fault.ts';
import { type CheckedConfig, examineConfig } from '../products/config-check.ts';
import type { ConfigProblem } from '../products/config-problem.ts';
import { checkPolicy } from '../products/mesh-policy.ts';
import { toldProblems } from '../products/told-problems.ts';
import type { Session } from '../session/session.ts';
import { readConfigSchema } from '../stack/component-source.ts';
import { runComposeCommand } from '../stack/compose-command.ts';
import type { Deployment } from '../stack/model.ts';
import { cleanLine } from '../text/clean.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { configCheckAbout } from './about-stack.ts';
import { showProblems } from './config-problems.ts';
import type { Flow, FlowInput, FlowWorld } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { readNamedFile } from './named-file.ts';
import { valuesInForce } from './secret-values.ts';
import { neededComposeTool } from './stack-facts.ts';
import { standing } from './standing.ts';

const verifyLimitMs = 120_000;
const outputKeptBytes = 64 * 1024;

/** What compose and engines end with where a program never began: no such command, no such image, not allowed, not there. */
const notRun: ReadonlySet<number> = new Set([16, 125, 126, 127]);

interface Verified {
  done: boolean;
  problems: readonly ConfigProblem[];
}

export const configCheck: Flow = {
  ...configCheckAbout,
  async run(session, input, world) {
    const [word] = wordsUpTo(2, input, { takes: 'One file at a time', remedy: 'quarterdeck config check COMPONENT [FILE]' });
    const id = word ?? (await askedFor(session, world));
    const entry = world.catalog.get(id);
    if (!entry) {
      throw new Fault({
        code: 'usage.component',
        message: `The catalog has no component "${cleanLine(id)}".`,
        remedy: nameRemedy(id, checkable(world), '"quarterdeck catalog list" names them.'),
      });
    }
    const { configFile } = entry;
    if (!configFile) {
      throw new Fault({
        code: 'usage.component',
        message: `${id} has no configuration file that the catalog knows.`,
        remedy: `"quarterdeck catalog show ${id}" says where its settings go, "quarterdeck edit ${id}" opens its files.`,
      });
    }
    const own = await ownText(session, input);
    if (!own && entry.deploy !== 'compose') {
      throw new Fault({
        code: 'usage.file',
        message: `${id} is not deployed from here, so it is not known where its file is.`,
        remedy: `Name it: quarterdeck config check ${id} FILE`,
      });
    }
    const deployment = own ? undefined : (await standing(session, world, input.place, id)).facts.deployment;
    const text = own?.text ?? deployment?.files[configFile.path];
    const file = own?.file ?? cleanLine(`${deployment?.folder ?? id}/${configFile.path}`);
    if (text === undefined) {
      throw new Fault({
        code: 'usage.file',
        message: `${file} is not there.`,
        remedy: `quarterdeck deploy ${id} writes it anew; or name a file: quarterdeck config check ${id} FILE`,
      });
    }
    const { problems, unjudged } = await examined(entry, text, own?.file);
    const isRead = configFile.format !== undefined && !isOtherForm(entry, own?.file);
    // What cannot be read is not worth a container.
    const isBroken = problems.some(({ level }) => level === 'error');
    const verified: Verified = !isBroken && deployment ? await verify(session, input, world, deployment, configFile) : notAsked;
    const all: readonly ConfigProblem[] = [...problems, ...verified.problems];
    const { errors, told } = showProblems(session, file, all);
    for (const { line, message } of unjudged) session.show({ kind: 'text', text: cleanLine(`${file}:${line} ${message}`) });
    const data = { component: id, file, problems: all, unjudged };
    if (all.length === 0 && !verified.done && !isRead)
      return {
        message: `${file} was not checked: ${whoCould(entry, own !== undefined, unjudged.length > 0)}.`,
        data: { ...data, checked: false },
      };
    const right = verified.done ? 'the product itself takes it' : formWords(entry, own !== undefined, unjudged.length > 0);
    return {
      message: errors > 0 ? `${file}: ${told}.` : `${file}: ${told === '' ? '' : `${told}, and otherwise `}${right}.`,
      data: { ...data, checked: true, verified: verified.done },
      exitCode: errors > 0 ? 1 : 0,
    };
  },
};

async function examined(entry: CatalogEntry, text: string, ownFile: string | undefined): Promise<CheckedConfig> {
  if (isPolicy(entry, ownFile)) return { problems: policyProblems(text), unjudged: [] };
  if (isOtherForm(entry, ownFile))
    return { problems: [], unjudged: [{ line: 1, message: 'TOML is not read here: write it as YAML to have it checked.' }] };
  const schema = await readConfigSchema(entry, join(installationFolder(), 'catalog'));
  return examineConfig(text, entry.configFile ?? {}, schema, { elsewhere: ownFile !== undefined });
}

const notAsked: Verified = { done: false, problems: [] };

/** A product that takes YAML often takes TOML too. */
function isOtherForm({ configFile }: CatalogEntry, file: string | undefined): boolean {
  return configFile?.format === 'yaml' && /\.toml$/i.test(file ?? '');
}

/** Who could check what is not read here. */
function whoCould({ configFile, product }: CatalogEntry, isOwn: boolean, isToldWhy: boolean): string {
  if (isToldWhy) return 'it is in a form that is not read here';
  if (!configFile?.verify) return `its form is not read here, and no check of ${product.name} itself is known`;
  return `only ${product.name} itself can${isOwn ? ', once it is deployed' : ''}`;
}

/** What can be said of a file in which nothing is wrong, and what was not looked at. */
function formWords({ configFile, product }: CatalogEntry, isOwn: boolean, isPartly: boolean): string {
  if (isPartly) return 'its form is right as far as it could be judged';
  const { schema, verify: check, format } = configFile ?? {};
  // A tunnel's file is read by a reader of its own, as far as any schema could.
  if (schema === undefined && format !== 'wg-quick') return `it can be read; whether ${product.name} knows its settings was not checked`;
  return check && isOwn ? `its form is right; ${product.name} itself was not asked` : 'its form is right';
}

/** Is it the other file of a mesh control server, that says who reaches what? */
function isPolicy({ speaks }: CatalogEntry, file: string | undefined): boolean {
  return speaks?.api === 'headscale' && /\.(?:hu)?json$/i.test(file ?? '');
}

/** As the newest server reads it; who its users are is not asked. */
function policyProblems(text: string): ConfigProblem[] {
  return checkPolicy(text, { minor: Number.POSITIVE_INFINITY, users: undefined }).map((finding) => ({ ...finding, field: '', remedy: '' }));
}

function checkable({ catalog }: FlowWorld): string[] {
  return catalog.entries.flatMap(({ id, configFile }) => (configFile ? [id] : []));
}

async function askedFor(session: Session, { catalog }: FlowWorld): Promise<string> {
  const checked = catalog.entries.filter(({ configFile }) => configFile);
  if (!session.attended)
    throw new Fault({
      code: 'usage.component',
      message: 'Whose configuration?',
      remedy: 'Name a component: quarterdeck config check COMPONENT [FILE]',
    });
  return session.ask.choice({
    id: 'component',
    label: 'Whose configuration is to be checked?',
    choices: checked.map(({ id, kind, product }) => ({ value: id, label: kind, detail: product.name })),
  });
}

async function ownText(session: Session, { stdin, words: [, word] }: FlowInput): Promise<{ text: string; file: string } | undefined> {
  if (stdin) return { text: new TextDecoder().decode(stdin), file: 'the input' };
  if (word === undefined) return undefined;
  return readNamedFile(session, word, 'Name a file of this machine, or none for the one that is deployed.');
}

/** The product's own check, in a container that ends with it and has the mounts and secrets of the service. A container of its own sees the file as it is now. */
async function verify(
  session: Session,
  input: FlowInput,
  world: FlowWorld,
  deployment: Deployment,
  { verify: check }: { verify?: { service: string; argv: readonly string[]; problem?: string | undefined } | undefined },
): Promise<Verified> {
  const [program, ...rest] = check?.argv ?? [];
  if (!check || program === undefined || session.readOnly) return notAsked;
  const { component: id } = deployment;
  const seen = world.fleet.snapshot().components.find((one) => one.known && one.id === id && one.host === input.place);
  const tool = await neededComposeTool(world, input.place, session.signal);
  const secrets = await valuesInForce(session, world, input.place, deployment);
  const words = ['run', '--rm', '--no-deps', '-T', '--entrypoint', program, check.service, ...rest];
  const ended = await session.act({
    id: 'verify',
    right: 'operate',
    request: `${tool.argv.join(' ')} ${words.map((word) => cleanLine(word)).join(' ')} in ${deployment.folder}`,
    target: { host: input.place, component: seen?.key ?? id },
    limitMs: verifyLimitMs,
    run: async (grant) => {
      const running = await runComposeCommand(grant, world.hostOf(input.place), {
        component: id,
        folder: deployment.folder,
        compose: deployment.compose,
        plain: Object.keys(deployment.env),
        tool,
        secrets,
        words,
      });
      if (tool.kind !== 'podman-compose') running.stdin.end();
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
      text: cleanLine(`${program} could not be run there, so the file was checked for its form alone: ${why}`),
    });
    return notAsked;
  }
  return { done: true, problems: ended.exitCode === 0 ? [] : toldProblems(ended.output, check.problem) };
}
