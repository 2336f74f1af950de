import { Fault } from '../../../faults/fault.ts';
import { unlessCode } from '../../../faults/unless-fault.ts';
import type { Grant } from '../../../grants/grant.ts';
import { isWithin, spanOf } from '../../../text/address-span.ts';
import { cleanLine } from '../../../text/clean.ts';
import { parsedJson } from '../../../text/json-value.ts';
import { type BanTarget, targetWords } from './ban-target.ts';
import type { ReadAlerts } from './crowdsec-api.ts';
import { type Alert, addedOrigins, type Decision, decisionsOf, isShared, listedOrigins, parseAlerts } from './crowdsec-records.ts';
import { type CscliAnswer, type CscliTarget, readVersion, refusalWords } from './cscli.ts';
import { goDurationText } from './go-duration.ts';

/** A server that restarts is unreachable for a moment. */
const apiAgainMs = 60_000;
/** Cache time for the origins that a server omits from its lists: finding them requires reading all decisions. */
const originsMs = 600_000;

const withoutAllowlists =
  'Allowlists require CrowdSec 1.6.6 or later. In earlier versions, a parser whitelist prevents bans by scenarios, but not manual bans.';

export interface BanOrder {
  target: BanTarget;
  seconds: number;
  reason: string;
  type: 'ban' | 'captcha';
  bypassAllowlist: boolean;
}

/** Alerts and decisions are read over the local API if a login is available; the rest, and every change, uses `cscli`. */
export class Crowdsec {
  #readAlerts: ReadAlerts | undefined;
  /** Why the API could not be used, and until when `cscli` replaces it. */
  #apiTrouble: { fault: Fault; untilMs: number } | undefined;
  #unlisted: { origins: readonly string[]; untilMs: number } | undefined;

  /** @param openApi logs in if a login is available; called once, by the first request for a list */
  constructor(
    readonly cscli: CscliTarget,
    private readonly openApi: (signal: AbortSignal) => Promise<ReadAlerts | undefined>,
  ) {}

  get shown(): string {
    return this.cscli.shown;
  }

  /** Returns every decision in effect, imported ones included, with or without those of shared lists. */
  async decisions({ shared }: { shared: boolean }, signal: AbortSignal): Promise<Decision[]> {
    const origins = shared ? [] : await this.#unlistedOrigins(signal);
    const alerts = await this.#inForce({ shared }, signal);
    for (const origin of origins) alerts.push(...(await this.#inForce({ shared, origin }, signal)));
    return decisionsOf(alerts).filter((decision) => shared || !isShared(decision));
  }

  async alerts(limit: number, signal: AbortSignal): Promise<Alert[]> {
    const words = ['alerts', 'list', '--limit', String(limit)];
    return this.#alertsOf(await this.#listed({ include_capi: 'false', limit: String(limit) }, words, signal));
  }

  /** Ranges around the value and shared lists included. Filtered here: with `--ip`, 1.7.8 takes minutes to find nothing among 50,000. */
  async decisionsAbout(target: BanTarget, signal: AbortSignal): Promise<Decision[]> {
    return (await this.decisions({ shared: true }, signal)).filter((decision) => isAbout(decision, target));
  }

  /** Returns each decision about exactly this value, without shared lists; `decisions list` shows only the newest. Fast for any number. */
  async decisionsNaming(target: BanTarget, signal: AbortSignal): Promise<Decision[]> {
    const words = ['alerts', 'list', '--value', target.value, '--limit', '0'];
    const named = this.#alertsOf(await this.readJson(words, 'list decisions', signal));
    const added: Alert[] = [];
    for (const origin of await this.#unlistedOrigins(signal)) added.push(...(await this.#inForce({ shared: false, origin }, signal)));
    const found = [...named, ...added].flatMap(({ decisions }) => decisions).filter(({ value }) => value === target.value);
    return [...new Map(found.map((decision) => [decision.id, decision])).values()];
  }

  banWords({ target, seconds, reason, type, bypassAllowlist }: BanOrder): readonly string[] {
    return [
      ...['decisions', 'add', ...targetWords(target), '--duration', goDurationText(seconds)],
      ...(reason === '' ? [] : ['--reason', reason]),
      ...(type === 'ban' ? [] : ['--type', type]),
      ...(bypassAllowlist ? ['--bypass-allowlist'] : []),
    ];
  }

  async ban(grant: Grant, order: BanOrder): Promise<void> {
    const answer = await this.cscli.change(grant, this.banWords(order));
    if (answer.exitCode === 0) return;
    const item = /is allowlisted by item (.+?), use --bypass-allowlist/.exec(refusalWords(answer))?.[1];
    if (item !== undefined) {
      const message = `${order.target.shown} was not banned, because it is in an allowlist (${cleanLine(item)}).`;
      const remedy = 'Remove the address from the allowlist first, or pass --bypass-allowlist to ban it anyway.';
      throw new Fault('refused.allowlisted', message, remedy);
    }
    throw this.refusal(answer, `ban ${order.target.shown}`);
  }

  async metrics(signal: AbortSignal): Promise<string> {
    return (await this.read(['metrics', '--color', 'no'], 'show metrics', signal)).stdout;
  }

  /** Returns the metrics by section. Until 1.5 it prints one object after the other, without section names. */
  async metricsJson(signal: AbortSignal): Promise<unknown> {
    const { stdout } = await this.read(['metrics', '-o', 'json'], 'show metrics', signal);
    const parsed = parsedJson(stdout) ?? parsedJson(`[${stdout.trim().replace(/\}\s*\{/g, '},{')}]`);
    if (parsed === undefined) throw this.#strange('metrics');
    return parsed;
  }

  async read(words: readonly string[], what: string, signal: AbortSignal): Promise<CscliAnswer> {
    const answer = await this.cscli.read(words, signal);
    if (answer.exitCode !== 0) throw this.refusal(answer, what);
    return answer;
  }

  async change(grant: Grant, words: readonly string[], what: string): Promise<CscliAnswer> {
    const answer = await this.cscli.change(grant, words);
    if (answer.exitCode !== 0) throw this.refusal(answer, what);
    return answer;
  }

  async readJson(words: readonly string[], what: string, signal: AbortSignal): Promise<unknown> {
    const text = (await this.read([...words, '-o', 'json'], what, signal)).stdout.trim();
    const parsed = text === '' ? null : parsedJson(text);
    if (parsed === undefined) throw this.#strange(words.slice(0, 2).join(' '));
    return parsed;
  }

  refusal(answer: CscliAnswer, what: string): Fault {
    const words = refusalWords(answer);
    const unknown = /unknown (?:command|flag:?) "?([\w-]+)"?/.exec(words)?.[1];
    if (unknown !== undefined) {
      const message = `${this.shown} is too old to ${what}; its cscli does not support ${unknown}.`;
      const remedy = unknown === 'allowlists' ? withoutAllowlists : 'Update it: quarterdeck update COMPONENT, or its package on the host.';
      return new Fault('refused.version', message, remedy);
    }
    const isCutOff = /connection refused|no such host|dial tcp/i.test(words);
    const remedy = isCutOff
      ? 'Check that the local API is running and that the hub is reachable from the host.'
      : 'Check the CrowdSec log.';
    return new Fault('failed.crowdsec', `CrowdSec could not ${what}: ${words || `cscli exited with code ${answer.exitCode}`}.`, remedy);
  }

  /** The API is only the faster path: a request that fails there may succeed over `cscli`. */
  async #listed(filter: Readonly<Record<string, string>>, words: readonly string[], signal: AbortSignal): Promise<unknown> {
    if (!this.#apiTrouble || this.#apiTrouble.untilMs <= performance.now()) {
      try {
        this.#readAlerts ??= await this.openApi(signal);
        if (this.#readAlerts) return await this.#readAlerts(filter, signal);
        const message = `The local API credentials of ${this.shown} cannot be read, or the API port is not published.`;
        throw new Fault('unreachable.crowdsec', message, 'Publish the API port on loopback, or start without --read-only.');
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown;
        this.#apiTrouble = { fault: thrown, untilMs: performance.now() + apiAgainMs };
      }
    }
    try {
      return await this.readJson(words, words.slice(0, 2).reverse().join(' '), signal);
    } catch (thrown) {
      throw this.#apiTrouble && thrown instanceof Fault && thrown.code === 'refused.readOnly' ? this.#apiTrouble.fault : thrown;
    }
  }

  /** Returns the origins, shared lists aside, that are only listed by name: before 1.7 all origins that the server does not know. */
  async #unlistedOrigins(signal: AbortSignal): Promise<readonly string[]> {
    if (this.#unlisted && this.#unlisted.untilMs > performance.now()) return this.#unlisted.origins;
    const origins = new Set(addedOrigins);
    const version = await unlessCode(readVersion(this.cscli, signal), ['refused.readOnly'], undefined);
    if (!/^v?(?:1\.(?:[7-9]|\d\d)|[2-9])/.test(version ?? '')) {
      for (const decision of decisionsOf(await this.#inForce({ shared: true }, signal)))
        if (!isShared(decision) && !listedOrigins.includes(decision.origin)) origins.add(decision.origin);
    }
    this.#unlisted = { origins: [...origins], untilMs: performance.now() + originsMs };
    return this.#unlisted.origins;
  }

  async #inForce({ shared, origin }: { shared: boolean; origin?: string }, signal: AbortSignal): Promise<Alert[]> {
    const filter = { has_active_decision: 'true', include_capi: String(shared), limit: '0', ...(origin !== undefined && { origin }) };
    const words = [...(shared ? ['--all'] : []), ...(origin === undefined ? [] : ['--origin', origin])];
    return this.#alertsOf(await this.#listed(filter, ['decisions', 'list', '--limit', '0', ...words], signal));
  }

  #alertsOf(json: unknown): Alert[] {
    const alerts = parseAlerts(json, Date.now());
    if (!alerts) throw this.#strange('alerts');
    return alerts;
  }

  #strange(what: string): Fault {
    const message = `Cannot parse the ${what} that CrowdSec returned.`;
    return new Fault('failed.crowdsec', message, 'Run the command with cscli. Report this problem, and include the CrowdSec version.');
  }
}

/** Returns the arguments that end the decisions about this value, including those for ranges around an address. */
export function unbanWords(target: BanTarget): readonly string[] {
  // No version of `decisions delete` supports `--scope`.
  return ['decisions', 'delete', ...(target.scope === 'Country' ? ['--value', target.value] : targetWords(target))];
}

export function isAbout({ scope, value }: Pick<Decision, 'scope' | 'value'>, target: BanTarget): boolean {
  if (target.scope === 'Country') return value === target.value && scope.toLowerCase() === 'country';
  if (value === target.value) return true;
  const span = /^(?:ip|range)$/i.test(scope) ? spanOf(value) : undefined;
  return span !== undefined && isWithin(target.span, span);
}
