import { basename, join } from 'node:path';
import { listOwnFolder, readOwnText } from '../config/own-files.ts';
import { type SchemaIssue, SchemaIssues } from '../config/schema-issues.ts';
import { fieldText, YamlDocument, type YamlPath } from '../config/yaml-document.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { CatalogEntry, CatalogProblem } from './catalog.ts';
import { dependencyCircles } from './component-circles.ts';
import {
  type ComponentPlace,
  componentFile,
  composeFile,
  depthLimit,
  discover,
  listDeep,
  missing,
  unreadable,
} from './component-places.ts';
import { readCompose } from './compose-file.ts';
import type { Draft, RuleFinding } from './draft.ts';
import { usesOfUnknown } from './exchange-references.ts';
import { byGroupThenId } from './groups.ts';
import { joinEntry } from './join-entry.ts';
import { lintRules } from './lint.ts';
import { withOperationCommands } from './operation-commands.ts';
import { referenceRules } from './references.ts';
import { componentSchema } from './schema.ts';
import { deliveredPath, templateEnding } from './template-names.ts';

export interface LoadOptions {
  /** The operator's own folder: may be flat, and answers for its wide ports itself. */
  own: boolean;
  /** See `Draft.widePorts`. */
  widePorts?: ReadonlySet<string>;
  /** Entries that are there besides this folder. One of the same id gives way to the folder's. */
  besides?: readonly CatalogEntry[];
}

export interface LoadedFolder {
  /** Those without errors, by id. */
  entries: CatalogEntry[];
  problems: CatalogProblem[];
}

/** Of component.yaml and compose.yaml. The parser takes a hundred times as much memory, and for a map a time that grows with the square of its keys. */
const yamlLimitBytes = 256 * 1024;
let issues: SchemaIssues | undefined;

/**
 * Reads a catalog folder: `<group>/<id>/component.yaml`, or `<id>/component.yaml` in an operator's own. What is wrong with one entry is
 * told with file, line, column, field and remedy, and never keeps the others from loading. Loads the YAML parser and the validator.
 */
export async function loadFolder(folder: string, options: LoadOptions): Promise<LoadedFolder> {
  const problems: CatalogProblem[] = [];
  const found = await discover(folder, problems);
  const loaded = await Promise.all(
    // One that cannot be read is there all the same, under the name of its folder.
    found.map(async (place) => ({ id: folderNameOf(folder, place), ...(await loadComponent(folder, place, options)) })),
  );
  const entries: { entry: CatalogEntry; file: string; document: YamlDocument }[] = [];
  for (const one of loaded) {
    problems.push(...one.problems);
    if (one.loaded) entries.push(one.loaded);
  }
  const warn = ({ file, document }: { file: string; document: YamlDocument }, path: YamlPath, message: string, remedy: string) =>
    problems.push({ level: 'warning', file, ...document.place(path), field: fieldText(path), message, remedy });
  const besides = new Map((options.besides ?? []).map((entry) => [entry.id, entry]));
  const known = new Set([...entries.map(({ entry }) => entry.id), ...loaded.map(({ id }) => id), ...besides.keys()]);
  const seen = new Map<string, string>();
  const kept: CatalogEntry[] = [];
  for (const { entry, file, document } of entries.sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const earlier = seen.get(entry.id);
    if (earlier !== undefined) {
      problems.push({
        level: 'error',
        file,
        ...document.place(['id']),
        field: 'id',
        message: `The id "${entry.id}" is already used by ${earlier}.`,
        remedy: 'Choose another id.',
      });
      continue;
    }
    seen.set(entry.id, file);
    kept.push(entry);
    for (const [index, id] of entry.dependsOn.entries()) {
      if (known.has(id)) continue;
      const path = ['dependsOn', index];
      warn({ file, document }, path, `There is no component "${id}".`, nameRemedy(id, known, 'Remove it.'));
    }
  }
  const byId = new Map([...besides, ...kept.map((entry) => [entry.id, entry] as const)]);
  const circles = dependencyCircles(kept, besides);
  for (const { entry, file, document } of entries) {
    for (const { index, message } of circles.filter(({ id }) => id === entry.id)) {
      const remedy =
        'Take it out of one, so that it is not left to their names which starts first; or say why: justifies: {dependsOn: ...}.';
      warn({ file, document }, ['dependsOn', index], message, remedy);
    }
    for (const { path, message, known: near } of usesOfUnknown(entry, byId)) {
      // One that has errors of its own: what it provides is not known here.
      const used = entry.uses?.[Number(path[1])]?.component ?? '';
      if (!byId.has(used) && known.has(used)) continue;
      warn({ file, document }, path, message, nameRemedy(String(document.scalar(path)?.value ?? ''), near, 'Remove it.'));
    }
  }
  problems.sort((a, b) => (a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1));
  return { entries: kept.sort(byGroupThenId), problems: toldOnce(problems) };
}

const folderNameOf = (root: string, { folder }: ComponentPlace): string => basename(folder === '' ? root : folder);

/** What stands at an anchor is wrong in one place, however many use it. */
function toldOnce(problems: readonly CatalogProblem[]): CatalogProblem[] {
  const told = new Set<string>();
  return problems.filter(({ file, line, column, message }) => {
    const said = JSON.stringify([file, line, column, message]);
    return !told.has(said) && told.add(said);
  });
}

async function loadComponent(
  root: string,
  place: ComponentPlace,
  options: LoadOptions,
): Promise<{ loaded?: { entry: CatalogEntry; file: string; document: YamlDocument }; id?: string; problems: CatalogProblem[] }> {
  const file = join(root, place.folder, componentFile);
  const compose = join(root, place.folder, composeFile);
  const problems: CatalogProblem[] = [];
  try {
    const [componentDocument, composeDocument, files] = await Promise.all([
      readYaml(file, problems),
      readYaml(compose, problems),
      listDeep(join(root, place.folder), 'files'),
    ]);
    if (componentDocument === undefined) {
      if (problems.length === 0)
        problems.push(await missing(file, 'Add it beside compose.yaml; "quarterdeck catalog new" writes one to begin with.'));
      return { problems };
    }
    if (problems.length > 0) return { problems };
    if (composeDocument === undefined) {
      const other = await missing(compose, '');
      if (other.remedy !== '') return { problems: [other] };
    }

    const read = composeDocument && readCompose(composeDocument);
    for (const problem of read?.problems ?? []) {
      const { path, part, field, message, remedy } = problem;
      problems.push({
        level: 'error',
        file: compose,
        ...(composeDocument?.place(path, part) ?? { line: 1, column: 1 }),
        field,
        message,
        remedy,
      });
    }

    // Without services nothing of the other file has what it speaks of: one sentence says it all.
    if (read !== undefined && read.compose.services.size === 0 && problems.length > 0) return { problems };

    const checked = componentSchema.safeParse(componentDocument.value);
    if (!checked.success) {
      issues ??= new SchemaIssues(componentSchema);
      for (const issue of issues.describe(checked.error.issues, componentDocument.value))
        problems.push(schemaProblem(file, issue, componentDocument));
      return { problems };
    }
    const { component, unknown } = withOperationCommands(checked.data, (read?.compose.services.size ?? 0) > 1);
    for (const { path, id, known } of unknown)
      problems.push({
        level: 'error',
        file,
        ...componentDocument.place(path),
        field: fieldText(path),
        message: `{run ${id}}: no operation "${id}" runs a program inside a container.`,
        remedy: nameRemedy(id, known, 'Name the command in words, or remove it.'),
      });
    const paths = files.map(({ path }) => path);
    for (const { path } of files.filter(({ kind }) => kind === 'tooDeep'))
      problems.push({
        level: 'error',
        file: join(root, place.folder, path),
        line: 1,
        column: 1,
        field: '',
        message: `${path} lies deeper than ${depthLimit} folders, or its links go round in circles.`,
        remedy: 'Put it nearer to files/, or remove the link.',
      });
    for (const { path } of files.filter(({ kind }) => kind === 'other'))
      problems.push({
        level: 'error',
        file: join(root, place.folder, path),
        line: 1,
        column: 1,
        field: '',
        message: `${path} is neither a file nor a folder, and no link to one.`,
        remedy: 'Put a file there, or remove it.',
      });
    // They are delivered as text: what would not arrive as it is here is told now.
    const delivered = files.filter(({ kind, path }) => kind === 'file' && !path.endsWith(templateEnding));
    const damaged = delivered.map(async ({ path }) => {
      const own = join(root, place.folder, path);
      return await readOwnText(own).then(
        () => [],
        (thrown: unknown) => [unreadable(own, thrown)],
      );
    });
    problems.push(...(await Promise.all(damaged)).flat());
    const draft: Draft = {
      component,
      componentDocument,
      compose: read?.compose,
      composeDocument,
      files: new Set(paths.map(deliveredPath)),
      templates: await readTemplates(join(root, place.folder), paths),
      schemas: await readSchemas(join(root, place.folder)),
      own: options.own,
      folderName: folderNameOf(root, place),
      groupName: place.groupName,
      widePorts: options.widePorts,
    };
    const rules = [...referenceRules, ...lintRules];
    // The language of templates is loaded where there are some.
    if (draft.templates.size > 0) rules.push(...(await import('./template-rules.ts')).templateRules);
    // What cannot be read is told once, and not by what follows from it.
    const unread = new Set(read?.problems.map(({ field }) => field));
    for (const rule of rules) {
      for (const finding of rule.check(draft))
        if (finding.file !== 'compose' || !unread.has(fieldText(finding.path)))
          problems.push(ruleProblem(rule.id, finding, { component: file, compose, folder: join(root, place.folder) }, draft));
    }
    if (problems.some(({ level }) => level === 'error')) return { id: component.id, problems };
    const folder = options.own ? join(root, place.folder) : place.folder;
    return {
      loaded: { entry: joinEntry(component, read?.compose, folder, options.own), file, document: componentDocument },
      id: component.id,
      problems,
    };
  } catch (thrown) {
    problems.push(unreadable(file, thrown));
    return { problems };
  }
}

async function readTemplates(folder: string, files: readonly string[]): Promise<Map<string, string>> {
  const paths = files.filter((path) => path.endsWith(templateEnding));
  return new Map(await Promise.all(paths.map(async (path) => [path, (await readOwnText(join(folder, path))) ?? ''] as const)));
}

async function readSchemas(folder: string): Promise<Map<string, string>> {
  const names = ((await listOwnFolder(folder)) ?? []).flatMap(({ name, kind }) =>
    kind === 'file' && name.endsWith('.json') ? [name] : [],
  );
  return new Map(await Promise.all(names.map(async (name) => [name, (await readOwnText(join(folder, name))) ?? ''] as const)));
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

function schemaProblem(file: string, { path, part, field, message, remedy }: SchemaIssue, document: YamlDocument): CatalogProblem {
  return { level: 'error', file, ...document.place(path, part), field, message, remedy };
}

function ruleProblem(
  rule: string,
  finding: RuleFinding,
  files: { component: string; compose: string; folder: string },
  draft: Draft,
): CatalogProblem {
  const document = finding.file === 'compose' ? draft.composeDocument : draft.componentDocument;
  const scalar = finding.offset === undefined ? undefined : document?.scalar(finding.path);
  const place = scalar?.placeOf(finding.offset ?? 0) ?? document?.place(finding.path, finding.part) ?? { line: 1, column: 1 };
  return {
    level: finding.level ?? 'error',
    file: finding.below === undefined ? files[finding.file] : join(files.folder, finding.below.path),
    ...(finding.below === undefined ? place : { line: finding.below.line, column: finding.below.column }),
    field: fieldText(finding.path),
    message: finding.message,
    remedy: finding.remedy,
    rule,
  };
}
