import type { YamlPath } from '../config/yaml-document.ts';
import { type JsonObject, objectOf } from '../text/json-value.ts';
import { nearestName } from '../text/nearest-name.ts';
import { shownValue } from '../text/shown-value.ts';
import { composeShapes, leftOutByPodman, requiredKeys, type Shape } from './compose-shapes.ts';
import { type Draft, inCompose, type LintRule, type RuleFinding } from './draft.ts';
import { interpolate, variablesIn } from './interpolation.ts';

/** What compose programs make of the form of compose.yaml: what all of them refuse, and what the older ones do. */
export const shapeRules: readonly LintRule[] = [{ id: 'shapes', check: checkShapes }];

const python = 'docker-compose 1.29';
const podman = 'podman-compose 1.0.3';
const newer = 'Do without it, or have docker compose 2 or later on every host.';

function* checkShapes(draft: Draft): Generator<RuleFinding> {
  const value = draft.composeDocument?.value;
  if (value === undefined || value === null) return;
  const walk = new Walk(draft);
  walk.shape('file', value, []);
  walk.texts();
  yield* walk.findings;
}

/** `text|[@port]` taken apart. Brackets are never in one another here but for what they hold as a whole. */
function alternativesOf(kind: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const letter of kind) {
    if (letter === '[' || letter === '{') depth++;
    if (letter === ']' || letter === '}') depth--;
    if (letter === '|' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += letter;
  }
  return [...parts, part];
}

const bare = (alternative: string) => alternative.replace(/^\+/, '');

class Walk {
  readonly findings: RuleFinding[] = [];
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  /** What older programs cannot fill in. 1.29 ends a default at its first brace, and takes a dollar sign in it for one. */
  texts(): void {
    for (const { path, text } of this.#draft.composeDocument?.scalars() ?? []) {
      for (const { name, operator, word } of variablesIn(text)) {
        if (operator === '+')
          this.#older(
            path,
            `${python} refuses the whole file over \${${name}:+...}, and ${podman} leaves it as it stands.`,
            'Use a default, or a variable that is set.',
          );
        else if (operator === '-' && variablesIn(word).length > 0)
          this.#older(
            path,
            `${python} and ${podman} do not fill in a variable inside the default of ${name}.`,
            'Write the default out, or use two variables.',
          );
      }
    }
  }

  shape(name: string, value: unknown, path: YamlPath): void {
    const shape = composeShapes[name];
    if (shape === undefined || !isMap(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key.startsWith('x-')) {
        if (name === 'dependency' || name === 'blkio')
          this.#older([...path, key], `${python} refuses the whole file: it takes no ${key} here.`, newer, 'key');
        continue;
      }
      const at = [...path, key];
      const kind = shape[key] ?? shape[`+${key}`];
      if (kind === undefined) {
        this.#unknown(name, shape, key, at);
        continue;
      }
      const podmanWay = podmanSays(name, key, inner);
      if (shape[key] === undefined) this.#newKey(name, key, inner, at);
      else if (podmanWay !== undefined) this.#older(at, `${podmanWay}.`, keyRemedies[`${name}.${key}`] ?? newer, 'key');
      this.#value(kind, inner, at, shape[key] !== undefined);
    }
    for (const key of requiredKeys[name] ?? [])
      if (!Object.hasOwn(value, key))
        this.findings.push(inCompose(path, `"${key}" is missing here, and compose refuses the whole file.`, 'Add it.', 'key'));
  }

  /** @param known does 1.29 know what this is a value of? Otherwise all of it has been told. */
  #value(kind: string, value: unknown, path: YamlPath, known: boolean): void {
    const alternatives = alternativesOf(kind);
    const fitting = alternatives.find((alternative) => fits(bare(alternative), value));
    if (fitting === undefined) {
      this.#wrong(alternatives, value, path);
      return;
    }
    const isOld = !fitting.startsWith('+');
    if (known && !isOld) {
      const also = path.at(-2) === 'env_file' ? `, and ${podman} breaks off` : '';
      this.#older(path, `${python} takes no ${kindOf(value)} here, and refuses the whole file${also}.`, remedyFor(path, value));
    }
    this.#inside(bare(fitting), value, path, known && isOld);
  }

  #inside(kind: string, value: unknown, path: YamlPath, known: boolean): void {
    if (kind.startsWith('@')) {
      // What 1.29 does not know at all is told at its key alone.
      const before = this.findings.length;
      this.shape(kind.slice(1), value, path);
      if (!known)
        this.findings.splice(before, Number.POSITIVE_INFINITY, ...this.findings.slice(before).filter(({ level }) => level === undefined));
    } else if (Array.isArray(value) && kind !== 'any') {
      const inner = kind.slice(1, kind.lastIndexOf(']'));
      const seen = new Set<string>();
      for (const [index, one] of value.entries()) {
        this.#value(inner, one, [...path, index], known);
        const text = JSON.stringify(one);
        if (known && kind.endsWith('!') && seen.has(text))
          this.#older([...path, index], `${python} refuses the whole file: this stands there twice.`, 'Keep one of the two.');
        seen.add(text);
      }
    } else if (isMap(value) && kind !== 'any') {
      const inner = kind.slice(1, -1);
      for (const [key, one] of Object.entries(value)) this.#value(inner, one, [...path, key], known);
    }
  }

  #unknown(name: string, shape: Shape, key: string, path: YamlPath): void {
    const near = nearestName(key, Object.keys(shape).map(bare));
    // Services and the top of the file have lists of their own.
    if (name === 'file' || name === 'service') {
      if (Object.hasOwn(this.#draft.component.justifies, key))
        this.findings.push({
          ...inCompose(
            path,
            `No compose program that is known here takes "${key}".`,
            near ? `Did you mean "${near}"?` : 'Remove it.',
            'key',
          ),
          level: 'warning',
        });
    } else if (near === undefined)
      this.findings.push({
        ...inCompose(
          path,
          `No compose program that is known here takes "${key}" at this place.`,
          'Remove it, or move it to where it belongs.',
          'key',
        ),
        level: 'warning',
      });
    else
      this.findings.push(
        inCompose(path, `"${key}" is not known here, and compose refuses the whole file.`, `Did you mean "${near}"?`, 'key'),
      );
  }

  #newKey(name: string, key: string, value: unknown, path: YamlPath): void {
    if (key === 'include') return;
    const { id } = this.#draft.component;
    if (name === 'file' && key === 'name' && interpolate(String(value)) !== id) {
      const message = `A project called ${shownValue(value)} would not be recognised as "${id}" once it runs.`;
      this.findings.push(inCompose(path, message, keyRemedies['file.name'] ?? ''));
      return;
    }
    const also = podmanSays(name, key, value);
    this.#older(
      path,
      `${python} refuses the whole file: it does not know "${key}" here${also ? `, and ${also}` : ''}.`,
      keyRemedies[`${name}.${key}`] ?? newer,
      'key',
    );
  }

  #wrong(alternatives: readonly string[], value: unknown, path: YamlPath): void {
    const last = path.at(-1);
    const what = typeof last === 'number' ? `"${String(path.at(-2))}[${last}]"` : `"${String(last)}"`;
    if (value === null) {
      this.findings.push(inCompose(path, `${what} is empty, and compose refuses the whole file.`, 'Give it a value, or remove the line.'));
      return;
    }
    const wanted = [...new Set(alternatives.map((alternative) => wordsOf(bare(alternative))))];
    const written = this.#draft.composeDocument?.scalar(path)?.written ?? '';
    const remedy =
      wanted.includes('text') && !isMap(value) && !Array.isArray(value)
        ? `Put it into quotes: "${written}".`
        : `Write ${wanted.join(' or ')}.`;
    this.findings.push(inCompose(path, `${what} must be ${wanted.join(' or ')}, and compose refuses the whole file.`, remedy));
  }

  #older(path: YamlPath, message: string, remedy: string, part: 'key' | 'value' = 'value'): void {
    // With a newer program on every host it does no harm.
    this.findings.push({ ...inCompose(path, message, remedy, part), level: this.#draft.own ? 'warning' : 'error' });
  }
}

const keyRemedies: Readonly<Record<string, string>> = {
  'port.host_ip': 'Write the port in one line: "${WEB_BIND:-127.0.0.1}:${WEB_PORT:-8080}:80".',
  'service.develop': 'Remove it: nothing is built here.',
  'file.name': 'Remove it: the project is called like the component.',
  'reservations.devices': 'Name the device under devices, or have another compose program on every host.',
};

/** What podman-compose makes of something that others take, where that is not the same. */
function podmanSays(name: string, key: string, value: unknown): string | undefined {
  if (name === 'service' && leftOutByPodman.has(key)) return `${podman} leaves ${key} out`;
  if (name === 'mountedVolume' && key === 'subpath') return `${podman} mounts the whole volume`;
  if (name === 'mount' && key === 'type' && value === 'image') return `${podman} knows no mount of type image, and breaks off`;
  if (name === 'reservations' && key === 'devices') return `${podman} leaves reserved devices out`;
  // We spell it so: it takes nothing else.
  if (name === 'joined' && key !== 'aliases') return `podman-compose is told no more of a network than its name, and not ${key}`;
  return undefined;
}

function remedyFor(path: YamlPath, value: unknown): string {
  if (path.at(-2) === 'env_file') return 'Write the path alone: ./files/NAME.';
  if (path.at(-1) === 'pull_policy') return 'Write always, never or if_not_present.';
  return value === null ? 'Remove the line, or give it a value.' : newer;
}

function fits(kind: string, value: unknown): boolean {
  if (kind === 'any') return true;
  if (kind.startsWith('@') || kind.startsWith('{')) return isMap(value);
  if (kind.startsWith('[')) return Array.isArray(value);
  if (kind.startsWith('=')) return typeof value === 'string' && kind.slice(1).split('/').includes(interpolate(value));
  // Both kinds of program make of a text what is wanted.
  const text = typeof value === 'string' ? interpolate(value) : undefined;
  switch (kind) {
    case 'text':
      return text !== undefined;
    case 'nothing':
      return value === null;
    case 'truth':
      return typeof value === 'boolean' || (text !== undefined && /^(?:true|false|yes|no|on|off|y|n|)$/i.test(text));
    case 'whole':
      return text === undefined ? Number.isInteger(value) : /^\s*-?\d*\s*$/.test(text);
    default:
      return text === undefined ? typeof value === 'number' : text === '' || Number.isFinite(Number(text));
  }
}

function wordsOf(kind: string): string {
  if (kind.startsWith('@') || kind.startsWith('{')) return 'a map of names to values';
  if (kind.startsWith('[')) return 'a list';
  if (kind.startsWith('=')) return kind.slice(1).split('/').join(', ');
  return { whole: 'a whole number', number: 'a number', truth: 'true or false', nothing: 'empty' }[kind] ?? kind;
}

function kindOf(value: unknown): string {
  if (value === null) return 'empty value';
  if (Array.isArray(value)) return 'list';
  return isMap(value) ? 'map' : shownValue(value);
}

const isMap = (value: unknown): value is JsonObject => objectOf(value) !== undefined;
