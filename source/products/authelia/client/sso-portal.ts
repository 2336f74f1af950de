import { HttpClient } from '../../../calls/http-client.ts';
import type { HttpEndpoint } from '../../../calls/http-exchange.ts';
import type { ContainerDetail, Engine } from '../../../engine/engine.ts';
import { Fault } from '../../../faults/fault.ts';
import { unlessFault } from '../../../faults/unless-fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import type { ExecOutcome } from '../../../hosts/host.ts';
import { cleanLine } from '../../../text/clean.ts';

export type PortalBan = ReturnType<typeof readBans>[number];

export type Verdict = Awaited<ReturnType<typeof requestAsProxy>>;

const outputLimitBytes = 1024 * 1024;

/** Runs the portal's own command in its container (reference/authelia.md). Throws `failed.portal`. */
export class SsoPortal {
  constructor(
    private readonly engine: Engine,
    private readonly container: ContainerDetail,
  ) {}

  /** Renders its templates, unless the release has no command for that or the session is read-only. */
  async configuration(signal: AbortSignal): Promise<string> {
    const template = await unlessFault(signal, this.#read(['config', 'template'], signal));
    if (template?.exitCode === 0) return text(template.stdout);
    const path = new Map(this.container.env).get('X_AUTHELIA_CONFIG')?.split(',')[0] ?? '/config/configuration.yml';
    const bytes = await this.engine.readFile(this.container.id, path, { signal });
    if (bytes) return text(bytes);
    throw failed(`The configuration of the portal was not found at ${cleanLine(path)}.`, 'Check the volumes of the component.');
  }

  async bans(signal: AbortSignal): Promise<readonly PortalBan[]> {
    const found: PortalBan[] = [];
    for (const kind of ['user', 'ip'] as const)
      found.push(...readBans(await this.#list(['storage', 'bans', kind, 'list'], 'list the bans', signal), kind));
    return found;
  }

  async lift(grant: Grant, { id, kind }: PortalBan): Promise<void> {
    const outcome = await this.#change(grant, ['storage', 'bans', kind, 'revoke', '--id', id]);
    if (outcome.exitCode !== 0 || !/\bSUCCESS\b|\bSKIPPED\b/.test(text(outcome.stdout))) throw refused('lift the ban', outcome);
  }

  async securityKeys(user: string, signal: AbortSignal): Promise<readonly string[]> {
    const words = ['storage', 'user', 'webauthn', 'list', user];
    const rows = (await this.#list(words, 'list the security keys', signal, /has no webauthn credentials/i)).split('\n');
    const first = rows.findIndex((row) => /^ID\s+KID\s+/.test(row));
    return rows.slice(first + 1).flatMap((row) => /^\d+\s+\S+\s+(.+?)\s*$/.exec(row)?.slice(1) ?? []);
  }

  /** Deletes a user's one-time codes. Returns false if there were none. */
  async forgetOneTimeCodes(grant: Grant, user: string): Promise<boolean> {
    const outcome = await this.#change(grant, ['storage', 'user', 'totp', 'delete', user]);
    if (outcome.exitCode === 0) return true;
    if (/no TOTP configuration/i.test(said(outcome))) return false;
    throw refused('delete the one-time codes', outcome);
  }

  async forgetSecurityKeys(grant: Grant, user: string): Promise<void> {
    const outcome = await this.#change(grant, ['storage', 'user', 'webauthn', 'delete', user, '--all']);
    if (outcome.exitCode === 0 || /no WebAuthn credential|no rows/i.test(said(outcome))) return;
    throw refused('delete the security keys', outcome);
  }

  /** Flags without a value are left out. */
  async checkPolicy(flags: Readonly<Record<'url' | 'method' | 'username' | 'groups' | 'ip', string>>, signal: AbortSignal) {
    const words = Object.entries(flags).flatMap(([name, value]) => (value === '' ? [] : [`--${name}`, value]));
    return this.#list(['access-control', 'check-policy', ...words], 'test the access rules', signal);
  }

  /** Validates a configuration with the running release before it takes effect. Returns the errors that would make the portal refuse it. */
  async validate(grant: Grant, configuration: string): Promise<readonly string[]> {
    const path = '/tmp/quarterdeck-check.yml';
    const script = `umask 077; trap 'rm -f "$0"' EXIT; cat > "$0" || exit 90; authelia config validate --config "$0" 2>&1`;
    const { exitCode, stdout, stderr } = await this.engine
      .writer(grant)
      .exec(this.container.id, ['sh', '-c', script, path], { stdin: Buffer.from(configuration) });
    if (exitCode === 0) return [];
    const problems = problemsIn(text(stdout));
    if (problems.length > 0) return problems;
    const words = lastLine(`${text(stdout)}\n${text(stderr)}`) || `the check exited with code ${exitCode}`;
    // The file was not written, or the container has no shell: that says nothing about the configuration.
    if (exitCode === 90 || exitCode > 125)
      throw failed(`The configuration was not validated: ${words}.`, 'Check that /tmp in the container is writable.');
    return [words];
  }

  #read(words: readonly string[], signal: AbortSignal) {
    return this.engine.execReading(this.container.id, ['authelia', ...words], { signal, limitBytes: outputLimitBytes });
  }

  /** Returns the output of a command; an empty text if the command fails with a message that matches `none`. */
  async #list(words: readonly string[], what: string, signal: AbortSignal, none?: RegExp): Promise<string> {
    const outcome = await this.#read(words, signal);
    if (outcome.exitCode === 0) return text(outcome.stdout);
    if (none?.test(said(outcome))) return '';
    throw refused(what, outcome);
  }

  #change = (grant: Grant, words: readonly string[]) => this.engine.writer(grant).exec(this.container.id, ['authelia', ...words]);
}

function refused(what: string, outcome: ExecOutcome): Fault {
  const words = said(outcome);
  if (/unknown (?:command|flag|shorthand)/i.test(words))
    return failed(`This version of Authelia cannot ${what}.`, 'Update Authelia: bans require 4.39 or later, security keys 4.38 or later.');
  const message = `The portal could not ${what}: ${words || `its command exited with code ${outcome.exitCode}`}.`;
  return failed(message, 'Check the log of the portal.');
}

/**
 * Sends the request that a proxy sends before it lets a request through, without a login. The legacy endpoint is for proxies from before
 * 4.38; it redirects users to `portal` (R36).
 */
export async function requestAsProxy(
  origin: HttpEndpoint,
  { endpoint, url, browser, portal }: { endpoint: 'forward-auth' | 'legacy'; url: URL; browser: boolean; portal: string },
  signal: AbortSignal,
) {
  const path = endpoint === 'legacy' ? `/api/verify?rd=${encodeURIComponent(portal)}` : '/api/authz/forward-auth';
  const asked = {
    accept: browser ? 'text/html' : 'application/json',
    'x-forwarded-method': 'GET',
    'x-forwarded-proto': url.protocol.replace(':', ''),
    'x-forwarded-host': url.host,
    'x-forwarded-uri': `${url.pathname}${url.search}`,
  };
  const http = new HttpClient(origin, { secrets: undefined });
  const { status, headers } = await http.send({ method: 'GET', path, headers: asked }, signal);
  return { status, location: headers['location'], user: headers['remote-user'] };
}

/** Parses a table of the product, whose columns begin where their headings do. `expires` is a date by the portal's clock, or `never`. */
export function readBans(table: string, kind: 'user' | 'ip') {
  const [head = '', ...rows] = table.split('\n').filter((row) => row.trim() !== '');
  if (!/^ID\s/.test(head)) return [];
  const starts = [...head.matchAll(/\S+/g)].map(({ index }) => index);
  return rows.flatMap((row) => {
    const cells = starts.map((start, at) => cleanLine(row.slice(start, starts[at + 1]).trim()));
    const [id = '', whom = '', expires = '', source = '', reason = ''] = cells;
    return /^\d+$/.test(id) ? [{ id, kind, whom, expires, source, reason }] : [];
  });
}

/** Returns the errors that `authelia config validate` lists, one line each; some of them span several lines of the output. */
export function problemsIn(output: string): string[] {
  const errors = /with errors:\n([\s\S]*?)(?:\n\S[^\n]*with warnings:|$)/.exec(output)?.[1] ?? '';
  return errors
    .split(/\n\s+- |^\s+- /)
    .map((problem) => problem.replace(/Error: configuration validation failed\s*$/, '').replace(/\s+/g, ' '))
    .map((problem) => cleanLine(problem.trim()).replace(/\.$/, ''))
    .filter(Boolean);
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const said = ({ stdout, stderr }: ExecOutcome) => lastLine(text(stderr)) || lastLine(text(stdout));

function lastLine(output: string): string {
  const last = /^\s*Error: (.*)$/m.exec(output)?.[1] ?? output.trim().split('\n').at(-1) ?? '';
  return cleanLine(last.trim()).replace(/\.$/, '');
}

const failed = (message: string, remedy: string) => new Fault('failed.portal', message, remedy);
