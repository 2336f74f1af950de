import type { ContainerDetail, Engine } from '../engine/engine.ts';
import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { cleanLine } from '../text/clean.ts';
import { type HttpPlace, sendTo } from './component-http.ts';

/** A ban after failed logins. */
export interface PortalBan {
  id: string;
  kind: 'user' | 'ip';
  /** Name or address. */
  whom: string;
  /** As the portal words it: a date of its clock, or `never`. */
  expires: string;
  source: string;
  reason: string;
}

/** What a proxy would be told about a request. */
export interface Verdict {
  status: number;
  /** Where a browser is sent. */
  location: string | undefined;
  /** Handed on to the protected service: Remote-User and the like, in lower case. */
  remote: Readonly<Record<string, string>>;
}

export interface ProxyQuestion {
  /** `forward-auth`, or the legacy endpoint of proxies from before 4.38. */
  endpoint: 'forward-auth' | 'legacy';
  url: URL;
  method: string;
  /** Whoever asks, a browser or a program. */
  browser: boolean;
  /** Address of whoever asks. */
  from: string | undefined;
  /** Where the legacy endpoint sends people, R36. */
  portal: string;
}

const outputLimitBytes = 1024 * 1024;

/** The portal's own command in its container, and what proxies ask of it (reference/authelia.md). Throws `failed.portal`. */
export class SsoPortal {
  readonly #engine: Engine;
  readonly #container: ContainerDetail;

  constructor(engine: Engine, container: ContainerDetail) {
    this.#engine = engine;
    this.#container = container;
  }

  /** Its configuration as it is after templates were filled; the file itself where the release, or read-only mode, has no way to ask. */
  async configuration(signal: AbortSignal): Promise<string> {
    try {
      const { exitCode, stdout } = await this.#read(['config', 'template'], signal);
      if (exitCode === 0) return text(stdout);
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof Fault)) throw thrown;
    }
    const path = new Map(this.#container.env).get('X_AUTHELIA_CONFIG')?.split(',')[0] ?? '/config/configuration.yml';
    const bytes = await this.#engine.readFile(this.#container.id, path, { signal });
    if (bytes) return text(bytes);
    throw failed(`Its configuration is not at ${cleanLine(path)}.`, 'Look at the volumes of the component.');
  }

  async bans(signal: AbortSignal): Promise<readonly PortalBan[]> {
    const found: PortalBan[] = [];
    for (const kind of ['user', 'ip'] as const) {
      const outcome = await this.#read(['storage', 'bans', kind, 'list'], signal);
      if (outcome.exitCode !== 0) throw this.#refused('list the bans', outcome);
      found.push(...readBans(text(outcome.stdout), kind));
    }
    return found;
  }

  async lift(grant: Grant, { id, kind }: PortalBan): Promise<void> {
    const outcome = await this.#change(grant, ['storage', 'bans', kind, 'revoke', '--id', id]);
    if (outcome.exitCode !== 0 || !/\bSUCCESS\b|\bSKIPPED\b/.test(text(outcome.stdout))) throw this.#refused('lift the ban', outcome);
  }

  /** Names of the passkeys and security keys of somebody. */
  async securityKeys(user: string, signal: AbortSignal): Promise<readonly string[]> {
    const outcome = await this.#read(['storage', 'user', 'webauthn', 'list', user], signal);
    if (outcome.exitCode !== 0) {
      if (/has no webauthn credentials/i.test(said(outcome))) return [];
      throw this.#refused('list the security keys', outcome);
    }
    const rows = text(outcome.stdout).split('\n');
    const first = rows.findIndex((row) => /^ID\s+KID\s+/.test(row));
    return rows.slice(first + 1).flatMap((row) => /^\d+\s+\S+\s+(.+?)\s*$/.exec(row)?.slice(1) ?? []);
  }

  /** False where there was none. */
  async forgetOneTimeCodes(grant: Grant, user: string): Promise<boolean> {
    const outcome = await this.#change(grant, ['storage', 'user', 'totp', 'delete', user]);
    if (outcome.exitCode === 0) return true;
    if (/no TOTP configuration/i.test(said(outcome))) return false;
    throw this.#refused('forget the one-time codes', outcome);
  }

  async forgetSecurityKeys(grant: Grant, user: string): Promise<void> {
    const outcome = await this.#change(grant, ['storage', 'user', 'webauthn', 'delete', user, '--all']);
    if (outcome.exitCode === 0 || /no WebAuthn credential|no rows/i.test(said(outcome))) return;
    throw this.#refused('forget the security keys', outcome);
  }

  /** Which rule is taken, in the product's own words; undefined where the release has no such command. */
  async checkPolicy(
    { url, method, user, groups, from }: { url: string; method: string; user: string; groups: readonly string[]; from: string },
    signal: AbortSignal,
  ): Promise<string> {
    const more = [
      ...(user === '' ? [] : ['--username', user]),
      ...(groups.length === 0 ? [] : ['--groups', groups.join(',')]),
      ...(from === '' ? [] : ['--ip', from]),
    ];
    const outcome = await this.#read(['access-control', 'check-policy', '--url', url, '--method', method, ...more], signal);
    if (outcome.exitCode !== 0) throw this.#refused('test its rules', outcome);
    return text(outcome.stdout);
  }

  /** Has the running release look at a configuration before it is put in force. Answers what it would refuse it for. */
  async validate(grant: Grant, configuration: string): Promise<readonly string[]> {
    const path = '/tmp/quarterdeck-check.yml';
    const script = `umask 077; trap 'rm -f "$0"' EXIT; cat > "$0" || exit 90; authelia config validate --config "$0" 2>&1`;
    const { exitCode, stdout, stderr } = await this.#engine
      .writer(grant)
      .exec(this.#container.id, ['sh', '-c', script, path], { stdin: Buffer.from(configuration) });
    if (exitCode === 0) return [];
    const problems = problemsIn(text(stdout));
    if (problems.length > 0) return problems;
    const words = lastLine(`${text(stdout)}\n${text(stderr)}`);
    return [words === '' ? `its check ended with exit code ${exitCode}` : words];
  }

  #read(words: readonly string[], signal: AbortSignal) {
    return this.#engine.execReading(this.#container.id, ['authelia', ...words], { signal, limitBytes: outputLimitBytes });
  }

  #change(grant: Grant, words: readonly string[]) {
    return this.#engine.writer(grant).exec(this.#container.id, ['authelia', ...words]);
  }

  #refused(what: string, outcome: { exitCode: number; stdout: Uint8Array; stderr: Uint8Array }): Fault {
    const words = said(outcome);
    if (/unknown (?:command|flag|shorthand)/i.test(words))
      return failed(`This release of the portal has no way to ${what}.`, 'Update it: bans came with 4.39, security keys with 4.38.');
    return failed(`The portal did not ${what}: ${words || `its command ended with ${outcome.exitCode}`}.`, 'Look at its log.');
  }
}

/** Asks what a proxy asks before it lets somebody through. Nobody is logged in: that is who a stranger is. */
export async function askAsProxy(
  place: HttpPlace,
  { endpoint, url, method, browser, from, portal }: ProxyQuestion,
  signal: AbortSignal,
): Promise<Verdict> {
  const path = endpoint === 'legacy' ? `/api/verify?rd=${encodeURIComponent(portal)}` : '/api/authz/forward-auth';
  const { status, headers } = await sendTo(
    place,
    {
      method: 'GET',
      path,
      headers: {
        accept: browser ? 'text/html' : 'application/json',
        'x-forwarded-method': method,
        'x-forwarded-proto': url.protocol.replace(':', ''),
        'x-forwarded-host': url.host,
        'x-forwarded-uri': `${url.pathname}${url.search}`,
        ...(from !== undefined && { 'x-forwarded-for': from }),
      },
    },
    signal,
  );
  const remote = Object.entries(headers).filter(([name]) => /^remote-(?:user|groups|name|email)$/.test(name));
  return { status, location: headers['location'], remote: Object.fromEntries(remote) };
}

/** A table of the product: columns begin where their heading does. */
export function readBans(table: string, kind: PortalBan['kind']): PortalBan[] {
  const [head = '', ...rows] = table.split('\n').filter((row) => row.trim() !== '');
  if (!/^ID\s/.test(head)) return [];
  const starts = [...head.matchAll(/\S+/g)].map(({ index }) => index);
  return rows.flatMap((row) => {
    const cells = starts.map((start, at) => cleanLine(row.slice(start, starts[at + 1]).trim()));
    const [id = '', whom = '', expires = '', source = '', reason = ''] = cells;
    return /^\d+$/.test(id) ? [{ id, kind, whom, expires, source, reason }] : [];
  });
}

/** What `authelia config validate` lists as errors, each in one line: some go on in further lines. */
export function problemsIn(output: string): string[] {
  const errors = /with errors:\n([\s\S]*?)(?:\n\S[^\n]*with warnings:|$)/.exec(output)?.[1] ?? '';
  return errors
    .split(/\n\s+- |^\s+- /)
    .map((problem) =>
      cleanLine(
        problem
          .replace(/Error: configuration validation failed\s*$/, '')
          .replace(/\s+/g, ' ')
          .trim(),
      ).replace(/\.$/, ''),
    )
    .filter(Boolean);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function said({ stdout, stderr }: { stdout: Uint8Array; stderr: Uint8Array }): string {
  return lastLine(text(stderr)) || lastLine(text(stdout));
}

function lastLine(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  return cleanLine(lines.find((line) => /^Error: /.test(line))?.replace(/^Error: /, '') ?? lines.at(-1) ?? '').replace(/\.$/, '');
}

function failed(message: string, remedy: string): Fault {
  return new Fault({ code: 'failed.portal', message, remedy });
}
