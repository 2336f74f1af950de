import { basename, join } from 'node:path';
import { listOwnFolder, readOwnText } from '../config/own-files.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import { fieldText, YamlDocument, type YamlPath } from '../yaml/document.ts';
import { SchemaIssues } from '../yaml/schema-issues.ts';
import type { CatalogEntry, CatalogProblem } from './catalog.ts';
import { dependencyCircles } from './component-circles.ts';
import type { ComponentFolder } from './component-folders.ts';
import { componentFile, composeFile, depthLimit, discover, listDeep, missing, unreadable, wholeFile } from './component-folders.ts';
import { type ComposeProblem, readCompose } from './compose-file.ts';
import type { Draft, RuleFinding } from './draft.ts';
import { usesOfUnknown } from './exchange-references.ts';
import { byGroupThenId } from './groups.ts';
import { joinEntry } from './join-entry.ts';
import { lintRules } from './lint.ts';
import { withOperationCommands } from './operation-commands.ts';
import { referenceRules } from './references.ts';
import { oldNames } from './renamed-keys.ts';
import { componentSchema } from './schema.ts';
import { deliveredPath, templateEnding } from './template-names.ts';

export interface LoadOptions {
  /** The operator's own folder: may be flat, and its wide ports are not checked against the specification. */
  own: boolean;
  widePorts?: ReadonlySet<string>;
  /** Existing entries besides this folder. The folder's entry replaces one of the same id. */
  besides?: readonly CatalogEntry[];
}

type Loaded = { entry: CatalogEntry; file: string; document: YamlDocument };

/** The parser uses a hundred times as much memory, and for a map, time that grows with the square of its keys. */
const yamlLimitBytes = 256 * 1024;
let issues: SchemaIssues | undefined;

/** Problems of one entry never prevent the others from loading. Loads the YAML parser and the validator. Returns entries by id. */
export async function loadFolder(folder: string, options: LoadOptions): Promise<{ entries: CatalogEntry[]; problems: CatalogProblem[] }> {
  const problems: CatalogProblem[] = [];
  const found = await discover(folder, problems);
  const loaded = await Promise.all(
    // An unreadable entry exists all the same, under the name of its folder.
    found.map(async (position) => ({ id: folderNameOf(folder, position), ...(await loadComponent(folder, position, options)) })),
  );
  problems.push(...loaded.flatMap((component) => component.problems));
  const entries = loaded.flatMap((component) => component.loaded ?? []).sort((a, b) => (a.file < b.file ? -1 : 1));
  const report = (level: CatalogProblem['level'], { file, document }: Loaded, path: YamlPath, message: string, remedy: string) =>
    problems.push({ level, file, ...document.position(path), field: fieldText(path), message, remedy });
  const besides = new Map((options.besides ?? []).map((entry) => [entry.id, entry]));
  const known = new Set([...entries.map(({ entry }) => entry.id), ...loaded.map(({ id }) => id), ...besides.keys()]);
  const seen = new Map<string, string>();
  const kept: CatalogEntry[] = [];
  for (const one of entries) {
    const { entry, file } = one;
    const earlier = seen.get(entry.id);
    if (earlier !== undefined) {
      report('error', one, ['id'], `The id "${entry.id}" is already used by ${earlier}.`, 'Choose another id.');
      continue;
    }
    seen.set(entry.id, file);
    kept.push(entry);
    for (const [index, id] of entry.dependsOn.entries()) {
      if (known.has(id)) continue;
      report('warning', one, ['dependsOn', index], `Unknown component "${id}".`, nameRemedy(id, known, 'Remove it.'));
    }
  }
  const byId = new Map([...besides, ...kept.map((entry) => [entry.id, entry] as const)]);
  const circles = dependencyCircles(kept, besides);
  for (const one of entries) {
    for (const { index, message } of circles.filter(({ id }) => id === one.entry.id)) {
      const remedy =
        'Remove it from one of them, or add the reason: justifies: {dependsOn: ...}. Otherwise their names decide which one starts first.';
      report('warning', one, ['dependsOn', index], message, remedy);
    }
    for (const { path, message, known: near } of usesOfUnknown(one.entry, byId)) {
      // It has errors of its own: what it provides is unknown here.
      const used = one.entry.uses?.[Number(path[1])]?.component ?? '';
      if (!byId.has(used) && known.has(used)) continue;
      report('warning', one, path, message, nameRemedy(String(one.document.scalar(path)?.value ?? ''), near, 'Remove it.'));
    }
  }
  problems.sort((a, b) => (a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1));
  return { entries: kept.sort(byGroupThenId), problems: reportedOnce(problems) };
}

const folderNameOf = (root: string, { folder }: ComponentFolder): string => basename(folder === '' ? root : folder);

/** A problem at an anchor is reported once, however many aliases use it. */
function reportedOnce(problems: readonly CatalogProblem[]): CatalogProblem[] {
  const reported = new Set<string>();
  return problems.filter(({ file, line, column, message }) => {
    const said = JSON.stringify([file, line, column, message]);
    return !reported.has(said) && reported.add(said);
  });
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: each step reports its own problems, and ends what cannot go on
async function loadComponent(
  root: string,
  position: ComponentFolder,
  options: LoadOptions,
): Promise<{ loaded?: Loaded; id?: string; problems: CatalogProblem[] }> {
  const own = join(root, position.folder);
  const file = join(own, componentFile);
  const compose = join(own, composeFile);
  const problems: CatalogProblem[] = [];
  try {
    const [componentDocument, composeDocument, files] = await Promise.all([
      readYaml(file, problems),
      readYaml(compose, problems),
      listDeep(own, 'files'),
    ]);
    if (componentDocument === undefined) {
      if (problems.length === 0) problems.push(await missing(file, 'Add the file; "quarterdeck catalog new" creates a draft.'));
      return { problems };
    }
    if (problems.length > 0) return { problems };
    if (composeDocument === undefined) {
      const other = await missing(compose, '');
      if (other.remedy !== '') return { problems: [other] };
    }

    const read = composeDocument && readCompose(composeDocument);
    if (composeDocument) problems.push(...(read?.problems ?? []).map((problem) => schemaProblem(compose, problem, composeDocument)));

    // Without services, no reference of the other file has a target: one message is enough.
    if (read !== undefined && read.compose.services.size === 0 && problems.length > 0) return { problems };

    const checked = componentSchema.safeParse(componentDocument.value);
    if (!checked.success) {
      issues ??= new SchemaIssues(componentSchema, oldNames);
      for (const issue of issues.describe(checked.error.issues, componentDocument.value))
        problems.push(schemaProblem(file, issue, componentDocument));
      return { problems };
    }
    const { component, unknown } = withOperationCommands(checked.data);
    for (const { path, id, known } of unknown) {
      const message = `{run ${id}}: there is no operation "${id}".`;
      const remedy = nameRemedy(id, known, 'Describe the command in words, or remove it.');
      problems.push(schemaProblem(file, { path, part: 'value', field: fieldText(path), message, remedy }, componentDocument));
    }
    const paths = files.map(({ path }) => path);
    problems.push(...(await Promise.all(files.map((one) => problemsOfFile(own, one)))).flat());
    const templates = paths.filter((path) => path.endsWith(templateEnding));
    const beside = (await listOwnFolder(own)) ?? [];
    const schemas = beside.flatMap(({ name, kind }) => (kind === 'file' && name.endsWith('.json') ? [name] : []));
    const draft: Draft = {
      component,
      componentDocument,
      compose: read?.compose,
      composeDocument,
      files: new Set(paths.map(deliveredPath)),
      templates: await readTexts(own, templates),
      schemas: await readTexts(own, schemas),
      own: options.own,
      folderName: folderNameOf(root, position),
      groupName: position.groupName,
      widePorts: options.widePorts,
    };
    const rules = [...referenceRules, ...lintRules];
    if (draft.templates.size > 0) rules.push({ id: 'templates', check: (await import('./template-rules.ts')).checkTemplates });
    // A syntax error is reported once, without its consequences.
    const unread = new Set(read?.problems.map(({ field }) => field));
    for (const rule of rules) {
      for (const finding of rule.check(draft))
        if (finding.file !== 'compose' || !unread.has(fieldText(finding.path))) problems.push(ruleProblem(rule.id, finding, own, draft));
    }
    if (problems.some(({ level }) => level === 'error')) return { id: component.id, problems };
    const entry = joinEntry(component, read?.compose, options.own ? own : position.folder, options.own);
    return { loaded: { entry, file, document: componentDocument }, id: component.id, problems };
  } catch (thrown) {
    problems.push(unreadable(file, thrown));
    return { problems };
  }
}

/** Files under `files/` are delivered as text: files that would not arrive unchanged are reported now. */
async function problemsOfFile(folder: string, { path, kind }: Awaited<ReturnType<typeof listDeep>>[number]): Promise<CatalogProblem[]> {
  const file = join(folder, path);
  const deep = `${path} is more than ${depthLimit} folders deep, or has too many levels of symbolic links.`;
  if (kind === 'tooDeep') return [wholeFile(file, deep, 'Move the folder up, or remove the link.')];
  const neither = `${path} is not a file, a folder or a link to one.`;
  if (kind === 'other') return [wholeFile(file, neither, 'Remove the entry, or replace it with a file.')];
  if (kind === 'folder' || path.endsWith(templateEnding)) return [];
  return readOwnText(file).then(
    () => [],
    (thrown: unknown) => [unreadable(file, thrown)],
  );
}

async function readTexts(folder: string, paths: readonly string[]): Promise<Map<string, string>> {
  return new Map(await Promise.all(paths.map(async (path) => [path, (await readOwnText(join(folder, path))) ?? ''] as const)));
}

async function readYaml(file: string, problems: CatalogProblem[]): Promise<YamlDocument | undefined> {
  let text: string | undefined;
  try {
    text = await readOwnText(file, { limitBytes: yamlLimitBytes });
  } catch (thrown) {
    problems.push(unreadable(file, thrown));
    return undefined;
  }
  if (text === undefined) return undefined;
  const document = new YamlDocument(text);
  for (const { line, column, message, remedy } of document.problems)
    problems.push({ level: 'error', file, line, column, field: '', message, remedy });
  return document;
}

function schemaProblem(file: string, problem: ComposeProblem, document: YamlDocument): CatalogProblem {
  const { path, part, field, message, remedy } = problem;
  return { level: 'error', file, ...document.position(path, part), field, message, remedy };
}

function ruleProblem(rule: string, finding: RuleFinding, folder: string, draft: Draft): CatalogProblem {
  const { file, below, path, part, offset, level = 'error', message, remedy } = finding;
  const document = file === 'compose' ? draft.composeDocument : draft.componentDocument;
  const scalar = offset === undefined ? undefined : document?.scalar(path);
  const { line, column } = below ?? scalar?.positionOf(offset ?? 0) ?? document?.position(path, part) ?? { line: 1, column: 1 };
  const name = below?.path ?? (file === 'compose' ? composeFile : componentFile);
  return { level, file: join(folder, name), line, column, field: fieldText(path), message, remedy, rule };
}
