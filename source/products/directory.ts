import type { Client, Entry } from 'ldapts';
import { Fault, messageOf } from '../faults/fault.ts';
import { limited } from '../faults/waits.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { doesNotAnswer, type HttpPlace, needPrivate } from './component-http.ts';

const limitMs = 10_000;
/** RFC 3062: the directory makes the hash itself, as it is configured to. */
const passwordOperation = '1.3.6.1.4.1.4203.1.11.1';

/** Somebody in the directory. */
export interface Person {
  dn: string;
  uid: string;
  name: string;
  mail: string;
}

export interface NewPerson {
  dn: string;
  uid: string;
  displayName: string;
  givenName: string;
  surname: string;
  mail: string;
}

/** An LDAP directory, over one connection: OpenLDAP and LLDAP alike. Throws `failed.directory`, `refused.directory`, `unreachable.component`. */
export class Directory {
  readonly #client: Client;
  readonly #shown: string;

  private constructor(client: Client, shown: string) {
    this.#client = client;
    this.#shown = shown;
  }

  static async open(place: HttpPlace, signal: AbortSignal): Promise<Directory> {
    needPrivate(place, 'passwords');
    const { host, address, shown } = place;
    const { Client: Ldap } = await import('ldapts');
    const stream = await limited(signal, limitMs, (both) => host.dial({ host: address.host, port: address.port }, both)).catch(
      (thrown: unknown) => {
        signal.throwIfAborted();
        throw doesNotAnswer(shown, thrown);
      },
    );
    const client = new Ldap({
      url: 'ldap://directory',
      timeout: limitMs,
      strictDN: false,
      // The way to the machine is ours: it may lead through ssh.
      createConnection: (() => stream) as never,
    });
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    return new Directory(client, shown);
  }

  async close(): Promise<void> {
    await this.#client.unbind().catch(() => undefined);
  }

  /** Where its people and groups are: `dc=example,dc=org`. Undefined where it does not tell strangers. */
  async base(): Promise<string | undefined> {
    try {
      const { searchEntries } = await this.#client.search('', { scope: 'base', attributes: ['namingContexts'] });
      const found = searchEntries[0]?.['namingContexts'];
      return textOf(found) || undefined;
    } catch {
      return undefined;
    }
  }

  /** False where name or password are wrong. */
  async logIn(dn: string, password: string): Promise<boolean> {
    // An empty password is taken for nobody, and let in as such.
    if (password === '') return false;
    try {
      await this.#client.bind(dn, password);
      return true;
    } catch (thrown) {
      const { InvalidCredentialsError, NoSuchObjectError } = await import('ldapts');
      if (thrown instanceof InvalidCredentialsError || thrown instanceof NoSuchObjectError) return false;
      throw this.#fault('log in', thrown);
    }
  }

  async people(base: string): Promise<readonly Person[]> {
    try {
      const { searchEntries } = await this.#client.search(base, {
        scope: 'sub',
        filter: '(|(objectClass=inetOrgPerson)(objectClass=person))',
        attributes: ['uid', 'cn', 'displayName', 'mail'],
        sizeLimit: 1000,
      });
      return searchEntries.map((entry: Entry) => ({
        dn: cleanLine(entry.dn),
        uid: cleanLine(textOf(entry['uid'])),
        name: cleanLine(textOf(entry['displayName']) || textOf(entry['cn'])),
        mail: cleanLine(textOf(entry['mail'])),
      }));
    } catch (thrown) {
      throw this.#fault('list its people', thrown);
    }
  }

  async has(dn: string): Promise<boolean> {
    try {
      const { searchEntries } = await this.#client.search(dn, { scope: 'base', attributes: ['uid'] });
      return searchEntries.length > 0;
    } catch (thrown) {
      const { NoSuchObjectError } = await import('ldapts');
      if (thrown instanceof NoSuchObjectError) return false;
      throw this.#fault(`look for ${cleanLine(dn)}`, thrown);
    }
  }

  async add(grant: Grant, { dn, uid, displayName, givenName, surname, mail }: NewPerson): Promise<void> {
    grant.signal.throwIfAborted();
    try {
      await this.#client.add(dn, {
        objectClass: ['top', 'person', 'organizationalPerson', 'inetOrgPerson'],
        uid,
        cn: displayName,
        sn: surname,
        displayName,
        ...(givenName !== '' && { givenName }),
        ...(mail !== '' && { mail }),
      });
    } catch (thrown) {
      throw this.#fault(`add ${cleanLine(dn)}`, thrown);
    }
  }

  /** Over the operation made for it, never as an attribute: what is written into that stays as it is written. */
  async setPassword(grant: Grant, dn: string, password: string): Promise<void> {
    grant.signal.throwIfAborted();
    const { BerWriter } = await import('ldapts');
    const writer = new BerWriter();
    writer.startSequence();
    writer.writeString(dn, 0x80);
    writer.writeString(password, 0x82);
    writer.endSequence();
    try {
      await this.#client.exop(passwordOperation, writer.buffer);
    } catch (thrown) {
      throw this.#fault(`set the password of ${cleanLine(dn)}`, thrown);
    }
  }

  #fault(what: string, thrown: unknown): Fault {
    const name = thrown instanceof Error ? thrown.constructor.name : '';
    const words = cleanLine(messageOf(thrown))
      .replace(/\s*Code: 0x[0-9a-f]+$/i, '')
      .replace(/\.$/, '');
    const known = reasons[name];
    if (known)
      return new Fault({
        code: 'refused.directory',
        message: `${this.#shown} did not ${what}: ${known.why}.`,
        remedy: known.remedy,
        cause: thrown,
      });
    return new Fault({
      code: 'failed.directory',
      message: `${this.#shown} did not ${what}: ${words || 'it gave no reason'}.`,
      remedy: 'Look at its log.',
      cause: thrown,
    });
  }
}

const reasons: Readonly<Record<string, { why: string; remedy: string }>> = {
  InsufficientAccessError: { why: 'whoever is logged in may not', remedy: 'Log in as an administrator of the directory: --bind DN' },
  AlreadyExistsError: { why: 'there is somebody of that name already', remedy: 'Take another name.' },
  NoSuchObjectError: { why: 'the place for people is not there', remedy: 'Make the branch ou=people first, or look at the base DN.' },
  ConstraintViolationError: {
    why: 'it breaks a rule of the directory (a mail address is taken, or the password too simple)',
    remedy: 'Take another one.',
  },
  InvalidDNSyntaxError: { why: 'the name cannot stand in a DN', remedy: 'Take another name.' },
};

function textOf(value: Entry[string] | undefined): string {
  const first = Array.isArray(value) ? value[0] : value;
  return first === undefined ? '' : Buffer.isBuffer(first) ? first.toString('utf8') : String(first);
}
