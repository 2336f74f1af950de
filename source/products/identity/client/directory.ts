import type { Client, Entry } from 'ldapts';
import { doesNotAnswer, requirePrivate } from '../../../calls/http-client.ts';
import type { HttpEndpoint } from '../../../calls/http-exchange.ts';
import { Fault, messageOf } from '../../../faults/fault.ts';
import { limited } from '../../../faults/waits.ts';
import type { Grant } from '../../../grants/grant.ts';
import { cleanLine } from '../../../text/clean.ts';

const limitMs = 10_000;
/** RFC 3062: the directory creates the hash itself, as configured. */
const passwordOperation = '1.3.6.1.4.1.4203.1.11.1';

export interface NewPerson {
  dn: string;
  uid: string;
  mail: string;
  displayName: string;
  givenName: string;
  surname: string;
}

/** OpenLDAP or LLDAP, over one connection. Throws `failed.directory`, `refused.directory`, `unreachable.component`. */
export class Directory {
  private constructor(
    private readonly client: Client,
    private readonly shown: string,
  ) {}

  static async open(endpoint: HttpEndpoint, signal: AbortSignal): Promise<Directory> {
    requirePrivate(endpoint, { what: 'passwords' });
    const { host, address, shown } = endpoint;
    const { Client: Ldap } = await import('ldapts');
    const dialing = limited(signal, limitMs, (both) => host.dial({ host: address.host, port: address.port }, both));
    const stream = await dialing.catch((thrown: unknown) => {
      signal.throwIfAborted();
      throw doesNotAnswer(shown, thrown);
    });
    const client = new Ldap({
      url: 'ldap://directory',
      timeout: limitMs,
      strictDN: false,
      // The connection to the machine is opened by the host, possibly through ssh.
      createConnection: (() => stream) as never,
    });
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    return new Directory(client, shown);
  }

  close = () => this.client.unbind().catch(() => undefined);

  /** Returns the base of users and groups: `dc=example,dc=org`; undefined if the directory does not report it without a login. */
  async base(): Promise<string | undefined> {
    const search = this.client.search('', { scope: 'base', attributes: ['namingContexts'] });
    const found = await search.catch(() => undefined);
    return textOf(found?.searchEntries[0]?.['namingContexts']) || undefined;
  }

  async logIn(dn: string, password: string): Promise<boolean> {
    const { InvalidCredentialsError, NoSuchObjectError } = await import('ldapts');
    // A directory treats an empty password as an anonymous login, which succeeds.
    if (password === '') return false;
    return this.#run('log in', () => this.client.bind(dn, password).then(() => true), [InvalidCredentialsError, NoSuchObjectError], false);
  }

  async people(base: string) {
    const { searchEntries } = await this.#run('list the users', () =>
      this.client.search(base, {
        scope: 'sub',
        filter: '(|(objectClass=inetOrgPerson)(objectClass=person))',
        attributes: ['uid', 'cn', 'displayName', 'mail'],
        sizeLimit: 1000,
      }),
    );
    return searchEntries.map((entry) => ({
      dn: cleanLine(entry.dn),
      uid: cleanLine(textOf(entry['uid'])),
      name: cleanLine(textOf(entry['displayName']) || textOf(entry['cn'])),
      mail: cleanLine(textOf(entry['mail'])),
    }));
  }

  async has(dn: string): Promise<boolean> {
    const { NoSuchObjectError } = await import('ldapts');
    const search = async () => (await this.client.search(dn, { scope: 'base', attributes: ['uid'] })).searchEntries.length > 0;
    return this.#run(`search for ${cleanLine(dn)}`, search, [NoSuchObjectError], false);
  }

  async add(grant: Grant, { dn, uid, displayName, givenName, surname, mail }: NewPerson): Promise<void> {
    grant.signal.throwIfAborted();
    await this.#run(`add ${cleanLine(dn)}`, () =>
      this.client.add(dn, {
        objectClass: ['top', 'person', 'organizationalPerson', 'inetOrgPerson'],
        ...{ uid, cn: displayName, sn: surname, displayName },
        ...(givenName !== '' && { givenName }),
        ...(mail !== '' && { mail }),
      }),
    );
  }

  /** Sets the password by the extended operation, never as an attribute: the directory would store an attribute as plaintext. */
  async setPassword(grant: Grant, dn: string, password: string): Promise<void> {
    grant.signal.throwIfAborted();
    const { BerWriter } = await import('ldapts');
    const writer = new BerWriter();
    writer.startSequence();
    writer.writeString(dn, 0x80);
    writer.writeString(password, 0x82);
    writer.endSequence();
    await this.#run(`set the password of ${cleanLine(dn)}`, () => this.client.exop(passwordOperation, writer.buffer));
  }

  /** Runs one operation. The listed errors are returned as an answer; any other error is thrown as a fault. */
  async #run<T>(what: string, run: () => Promise<T>, errors: readonly (new (...args: never) => Error)[] = [], answer?: T): Promise<T> {
    try {
      return await run();
    } catch (thrown) {
      if (errors.some((kind) => thrown instanceof kind)) return answer as T;
      const refused = `${this.shown} could not ${what}`;
      const known = thrown instanceof Error ? reasons[thrown.constructor.name] : undefined;
      if (known) throw new Fault('refused.directory', `${refused}: ${known.why}.`, known.remedy, { cause: thrown });
      const words = cleanLine(messageOf(thrown)).replace(/\s*Code: 0x[0-9a-f]+$/i, '');
      const message = `${refused}: ${words.replace(/\.$/, '') || 'no reason reported'}.`;
      throw new Fault('failed.directory', message, 'Check the log of the directory.', { cause: thrown });
    }
  }
}

const reasons: Readonly<Record<string, { why: string; remedy: string }>> = {
  InsufficientAccessError: { why: 'permission denied for this user', remedy: 'Pass the DN of a directory administrator.' },
  AlreadyExistsError: { why: 'the name already exists', remedy: 'Use another name.' },
  NoSuchObjectError: { why: 'the organizational unit for users does not exist', remedy: 'Create ou=people first, or check the base DN.' },
  ConstraintViolationError: {
    why: 'the entry violates a constraint of the directory (for example, the email address is in use or the password is too simple)',
    remedy: 'Use another email address or password.',
  },
  InvalidDNSyntaxError: { why: 'the name is not valid in a DN', remedy: 'Use another name.' },
};

function textOf(value: Entry[string] | undefined): string {
  const first = Array.isArray(value) ? value[0] : value;
  return first === undefined ? '' : Buffer.isBuffer(first) ? first.toString('utf8') : String(first);
}
