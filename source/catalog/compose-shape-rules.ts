import { z } from 'zod';
// The schema of the Compose Specification (github.com/compose-spec/compose-spec, Apache License 2.0), as dclint carries it.
import specification from '../../node_modules/dclint/schemas/compose.schema.json' with { type: 'json' };
import { nameRemedy, nearestName } from '../text/nearest-name.ts';
import { shownValue } from '../text/shown-value.ts';
import type { YamlPath } from '../yaml/document.ts';
import { keysOf, nodesAt, type SchemaNode } from '../yaml/json-schema.ts';
import { kindWords, valueAt } from '../yaml/schema-issues.ts';
import { olderFindings, podman, python } from './compose-older.ts';
import { type Draft, inCompose, type RuleFinding, warning, warningIfOwn } from './draft.ts';
import { interpolateAll, variablesIn } from './interpolation.ts';

/** With another name for its draft, zod would look for `$defs`. */
const readSchema = () => z.fromJSONSchema({ ...specification, $schema: 'http://json-schema.org/draft-07/schema#' } as SchemaNode);
/** Loaded with the first file that needs it: that takes 50 ms. */
let schema: z.ZodType | undefined;

/** Forms that all compose programs refuse, and forms that older ones refuse. */
export function* checkShapes(draft: Draft): Generator<RuleFinding> {
  if (draft.composeDocument?.value == null) return;
  // As compose does before it validates.
  const value = interpolateAll(draft.composeDocument.value);
  yield* variables(draft);
  schema ??= readSchema();
  const mistakes = (schema.safeParse(value).error?.issues ?? []).map((issue) => mistakesOf(issue));
  for (const alternatives of mistakes) yield* mistake(draft, alternatives, value);
  yield* plainTexts(value);
  for (const { path, part, message, remedy } of olderFindings(value)) {
    const { id } = draft.component;
    const written = valueAt(value, path);
    if (path[0] === 'name' && path.length === 1 && written !== id)
      yield inCompose(path, `Quarterdeck would not recognise a project named ${shownValue(written)} as "${id}".`, remedy);
    else yield warningIfOwn(draft, inCompose(path, message, remedy, part));
  }
}

/** Keys whose values may be any text in the schema, because of variables: after interpolation, compose accepts only valid ones. */
const plainKinds: readonly (readonly [words: string, fits: RegExp, keys: RegExp])[] = [
  [
    'true or false',
    /^(?:true|false|yes|no|on|off|y|n|)$/i,
    /^(?:attach|attachable|disable|enable_ipv[46]|init|internal|nocopy|oom_kill_disable|privileged|read_only|stdin_open|tty)$/,
  ],
  [
    'a whole number',
    /^\s*-?\d*\s*$/,
    /^(?:cpu_count|cpu_percent|hard|max_attempts|mem_swappiness|oom_score_adj|parallelism|pids|replicas|retries|scale|soft)$/,
  ],
];
/** Maps whose names and values are the operator's own. */
const freeMaps = /^(?:annotations|args|driver_opts|environment|extra_hosts|labels|options|storage_opt|sysctls|x-.*)$/;

function* plainTexts(value: unknown, path: YamlPath = []): Generator<RuleFinding> {
  if (typeof value !== 'object' || value === null || freeMaps.test(String(path.at(-1)))) return;
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    // Names of services, volumes and networks are free.
    const kind = path.length > 1 ? plainKinds.find(([, , keys]) => keys.test(key)) : undefined;
    if (kind && typeof inner === 'string' && !kind[1].test(inner))
      yield inCompose(at, `"${key}" must be ${kind[0]}, or compose rejects the whole file.`, `Use ${kind[0]}.`);
    yield* plainTexts(inner, at);
  }
}

/** Interpolation that older programs do not support. 1.29 ends a default at its first brace, and treats a dollar sign in it literally. */
function* variables(draft: Draft): Generator<RuleFinding> {
  for (const { path, text } of draft.composeDocument?.scalars() ?? []) {
    const older = (message: string, remedy: string) => warningIfOwn(draft, inCompose(path, message, remedy));
    for (const { name, operator, word } of variablesIn(text)) {
      if (operator === '+')
        yield older(
          `${python} rejects the whole file because of \${${name}:+...}, and ${podman} leaves it unchanged.`,
          'Use a default, or a variable that is always set.',
        );
      else if (operator === '-' && variablesIn(word).length > 0)
        yield older(
          `${python} and ${podman} do not expand variables in the default of ${name}.`,
          'Use a default without a variable, or use two variables.',
        );
    }
  }
}

type Mistake = Exclude<z.core.$ZodIssue, z.core.$ZodIssueInvalidUnion>;

/** For a value that matches none of several shapes, those of the closest shape: its errors are the deepest. */
function mistakesOf(issue: z.core.$ZodIssue, around: readonly PropertyKey[] = []): Mistake[] {
  const path = [...around, ...issue.path];
  if (issue.code !== 'invalid_union') return [{ ...issue, path }];
  const all = issue.errors.flat().flatMap((inner) => mistakesOf(inner, path));
  const depths = all.map((one) => one.path.length + (one.code === 'unrecognized_keys' ? 1 : 0));
  return all.filter((_, index) => depths[index] === Math.max(...depths));
}

function* mistake(draft: Draft, all: readonly Mistake[], value: unknown): Generator<RuleFinding> {
  const [first] = all;
  if (first === undefined) return;
  const { path } = first;
  const refused = 'compose rejects the whole file';
  if (first.code === 'unrecognized_keys') {
    for (const key of first.keys) yield* unknownKey(draft, [...path, key]);
    return;
  }
  if (first.code === 'custom') {
    yield warningIfOwn(draft, inCompose(path, `${python} rejects the file because of this duplicate entry.`, 'Keep one of the two.'));
    return;
  }
  const written = valueAt(value, path);
  const last = path.at(-1);
  if (written === undefined) {
    yield inCompose(path.slice(0, -1), `"${String(last)}" is missing, so ${refused}.`, 'Add it.', 'key');
    return;
  }
  const what = typeof last === 'number' ? `"${String(path.at(-2))}[${last}]"` : `"${String(last)}"`;
  if (written === null) {
    yield inCompose(path, `${what} is empty, so ${refused}.`, 'Set a value, or remove the line.');
    return;
  }
  const wanted = [...new Set(all.map(wordsOf))];
  const isText = wanted.includes('text') && typeof written !== 'object';
  const asText = `Quote it: "${draft.composeDocument?.scalar(path)?.written ?? ''}".`;
  const otherwise =
    first.code === 'invalid_value' ? nameRemedy(String(written), first.values.map(String), '') : `Use ${wanted.join(' or ')}.`;
  yield inCompose(path, `${what} must be ${wanted.join(' or ')}, or ${refused}.`, isText ? asText : otherwise);
}

function* unknownKey({ component }: Draft, path: YamlPath): Generator<RuleFinding> {
  const key = String(path.at(-1));
  const isListed = path.length === 1 || (path.length === 3 && path[0] === 'services');
  // Services and the top level have their own lists, and service names have a rule.
  if ((path.length === 2 && path[0] === 'services') || (isListed && !Object.hasOwn(component.justifies, key))) return;
  const near = nearestName(key, keysOf(nodesAt(specification, path.slice(0, -1))));
  const meant = near === undefined ? undefined : `Did you mean "${near}"?`;
  if (meant !== undefined && !isListed) {
    yield inCompose(path, `Compose rejects the whole file because of the unknown key "${key}".`, meant, 'key');
    return;
  }
  const message = `No supported compose program accepts "${key}"${isListed ? '' : ' here'}.`;
  const otherwise = isListed ? 'Remove it.' : 'Remove the key, or move it to the right level.';
  yield warning(inCompose(path, message, meant ?? otherwise, 'key'));
}

function wordsOf(issue: Mistake): string {
  if (issue.code === 'invalid_type') return issue.expected === 'null' ? 'empty' : (kindWords[issue.expected] ?? issue.expected);
  if (issue.code === 'invalid_value') return `one of ${issue.values.join(', ')}`;
  return issue.message.replace(/^Invalid \w+: must match /, 'text that matches ');
}
