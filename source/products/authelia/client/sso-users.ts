import { type Document, isMap, isScalar, type ParsedNode, type YAMLMap } from 'yaml';
import { Fault, messageOf } from '../../../faults/fault.ts';
import { isDigest } from '../../../secrets/password-digest.ts';
import { cleanLine } from '../../../text/clean.ts';
import { listOf, mapOf, textOf } from '../../../text/json-value.ts';
import { parseYamlDocument } from '../../../yaml/text.ts';
import type { PortalConfig } from './sso-config.ts';

export type PortalUser = UsersFile['users'][number];

/** Additional requirements of the portal for names and addresses (`authentication_backend.file.search`). */
type UserRules = PortalConfig['userRules'];

/** The catalog's file contains a placeholder user, because the portal refuses a file without users. */
const placeholder = 'nobody@example.invalid';

/** The users file. Changes are made in its text, so that comments, order and unknown keys stay. */
export class UsersFile {
  readonly #document: Document.Parsed<ParsedNode>;

  /** Throws `config.users` with the line if the text is not YAML or not a users file. */
  constructor(text: string, file: string) {
    this.#document = parseYamlDocument(text, { prettyErrors: false, keepSourceTokens: true });
    const refused = (message: string, remedy: string, line: number) =>
      new Fault('config.users', message, remedy, { where: { file, line } });
    const [error] = this.#document.errors;
    if (error) {
      const why = cleanLine(messageOf(error)).replace(/\.$/, '');
      const line = text.slice(0, error.pos[0]).split('\n').length;
      throw refused(`The users file cannot be read: ${why}.`, 'Fix the file first; the portal cannot read it either.', line);
    }
    if (!isMap(this.#document.get('users', true)))
      throw refused('The users file has no map "users".', 'Add a map "users" with one entry for each user.', 1);
  }

  get users() {
    return this.#map.items.map(({ key, value }) => {
      const { displayname, email, groups, disabled, password } = mapOf(isMap(value) ? value.toJSON() : undefined);
      return {
        name: String(isScalar(key) ? key.value : key),
        displayName: textOf(displayname),
        email: textOf(email),
        groups: listOf(groups).map(String) as readonly string[],
        disabled: disabled === true,
        digest: textOf(password),
      };
    });
  }

  user = (name: string) => this.users.find((one) => one.name === name);
  setDisabled = (name: string, disabled: boolean) => this.#node(name).set('disabled', disabled);

  add({ name, displayName, email, groups, digest }: Omit<PortalUser, 'disabled'>): void {
    const fields = { disabled: false, displayname: displayName, password: digest, email, groups: [...groups] };
    const made = this.#document.createNode(fields) as YAMLMap;
    quote(made);
    const map = this.#map;
    map.set(this.#document.createNode(name), made);
    const gone = map.items.find(({ key }) => isScalar(key) && this.user(String(key.value))?.email === placeholder);
    if (!gone) return;
    map.delete(gone.key);
    // The comment of the catalog's file about the placeholder is removed with it; comments by others stay.
    const about = map.commentBefore?.split('\n').filter((line) => !line.includes('replace it with the first person'));
    map.commentBefore = about && about.length > 0 ? about.join('\n') : null;
  }

  setDigest(name: string, digest: string): void {
    const user = this.#node(name);
    user.set('password', digest);
    quote(user);
  }

  get text(): string {
    return this.#document.toString({ lineWidth: 0 });
  }

  get #map(): YAMLMap {
    return this.#document.get('users', true) as unknown as YAMLMap;
  }

  #node(name: string): YAMLMap {
    const found: unknown = this.#map.items.find(({ key }) => isScalar(key) && String(key.value) === name)?.value;
    if (!isMap(found)) throw new RangeError(`no user ${name}`);
    return found;
  }
}

/** Quotes a hash. Its dollar signs mean nothing in YAML, but users copy such lines into files in which they do. */
function quote(user: YAMLMap): void {
  const value: unknown = user.get('password', true);
  if (isScalar(value)) value.type = 'QUOTE_SINGLE';
}

/** Returns the problems for which the portal would refuse the file: a running portal keeps the old users then. */
export function usersProblems(users: readonly PortalUser[], { caseInsensitive, byEmail }: UserRules): string[] {
  const problems: string[] = [];
  if (users.length === 0) problems.push('The file has no users.');
  for (const { name, displayName, email, digest } of users) {
    const shown = cleanLine(name);
    if (displayName === '') problems.push(`${shown} has no displayname.`);
    if (digest === '') problems.push(`${shown} has no password.`);
    else if (!isDigest(digest)) problems.push(`The password of ${shown} is not a hash.`);
    if (caseInsensitive && name !== name.toLowerCase())
      problems.push(`The name ${shown} must be lower case, because search.case_insensitive is true.`);
    if (byEmail && email !== '') {
      const same = users.filter((other) => other.email.toLowerCase() === email.toLowerCase());
      const names = same.map((one) => cleanLine(one.name)).join(' and ');
      if (same.length > 1 && same[0]?.name === name)
        problems.push(`${names} have the same email address, which search.email does not allow.`);
    }
  }
  return problems;
}

export const ableUsers = (users: readonly PortalUser[]) => users.filter(({ disabled, email }) => !disabled && email !== placeholder);

export function userNameProblem(name: string, { caseInsensitive }: UserRules): string | undefined {
  if (name === '') return 'Enter the login name.';
  if (!/^[\p{L}\p{N}][\p{L}\p{N}._@+-]*$/u.test(name)) return 'Use only letters, digits and . _ @ + -, and start with a letter or a digit.';
  if (caseInsensitive && name !== name.toLowerCase()) return 'This portal requires lower-case names.';
  return undefined;
}
