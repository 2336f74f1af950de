import { Fault } from '../faults/fault.ts';
import type { Grant } from '../grants/grant.ts';
import { spanOf } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';
import { parsedJson } from '../text/json-value.ts';
import { type BanTarget, targetWords } from './ban-target.ts';
import type { CrowdsecApi } from './crowdsec-api.ts';
import { type Alert, addedOrigins, type Decision, decisionsOf, isShared, listedOrigins, parseAlerts } from './crowdsec-records.ts';
import { type CscliAnswer, type CscliPlace, refusalWords } from './cscli.ts';
import { goDurationText } from './go-duration.ts';

/** A server that starts anew is away for a moment. */
const apiAgainMs = 60_000;
/** How long the origins that a server leaves out of its lists are remembered: to find them, all decisions are read. */
const originsMs = 600_000;

export interface BanOrder {
  target: BanTarget;
  seconds: number;
  reason: string;
  type: 'ban' | 'captcha';
  /** Also where an allowlist has it. */
  bypassAllowlist: boolean;
}

/**
 * CrowdSec: alerts and decisions over its local API where a login for it can be had, otherwise, and for everything that changes something, over `cscli`
 * (reference/crowdsec.md). Throws `failed.crowdsec`, `refused.allowlisted`, `refused.version`, and what `cscli` and the API throw.
 */
export class Crowdsec {
  readonly cscli: CscliPlace;
  readonly #openApi: ((signal: AbortSignal) => Promise<CrowdsecApi | undefined>) | undefined;
  #api: CrowdsecApi | undefined;
  /** Why the API could not be used, and until when `cscli` is instead. */
  #apiTrouble: { fault: Fault; untilMs: number } | undefined;
  #unlisted: { origins: readonly string[]; untilMs: number } | undefined;

  /** @param openApi logs in where that can be had; called once, by the first who wants a list */
  constructor(cscli: CscliPlace, openApi?: (signal: AbortSignal) => Promise<CrowdsecApi | undefined>) {
    this.cscli = cscli;
    this.#openApi = openApi;
  }

  get shown(): string {
    return this.cscli.shown;
  }

  /** `v1.7.8-docker`. */
  async version(signal: AbortSignal): Promise<string> {
    const { stdout, stderr } = await this.cscli.read(['version'], signal);
    return cleanLine(/version:?\s+(v?\d\S*)/.exec(`${stdout}\n${stderr}`)?.[1] ?? '');
  }

  /** Every decision that is in force, imported ones included, with those of the shared lists or without them. */
  async decisions({ shared }: { shared: boolean }, signal: AbortSignal): Promise<Decision[]> {
    const origins = shared ? [] : await this.#unlistedOrigins(signal);
    const alerts = await this.#inForce({ shared }, signal);
    for (const origin of origins) alerts.push(...(await this.#inForce({ shared, origin }, signal)));
    return decisionsOf(alerts).filter((decision) => shared || !isShared(decision));
  }

  /** The newest ones, with or without a decision. */
  async alerts(limit: number, signal: AbortSignal): Promise<Alert[]> {
    const words = ['alerts', 'list', '--limit', String(limit)];
    return this.#alertsOf(await this.#listed({ include_capi: 'false', limit: String(limit) }, words, signal));
  }

  /**
   * What is in force for this value, also ranges around it, shared lists included: looked for among all of them. Asked with `--ip` among 50,000, CrowdSec 1.7.8 takes minutes to say that
   * there is none.
   */
  async decisionsAbout(target: BanTarget, signal: AbortSignal): Promise<Decision[]> {
    return (await this.decisions({ shared: true }, signal)).filter((decision) => isAbout(decision, target));
  }

  /**
   * What was decided about exactly this value and nothing else: bans by hand, of scenarios and imported, not those of lists. Each of several is listed, which `decisions list` does not do:
   * it shows the newest one alone. Quick, however many there are.
   */
  async decisionsNaming(target: BanTarget, signal: AbortSignal): Promise<Decision[]> {
    const words = ['alerts', 'list', '--value', target.value, '--limit', '0', '-o', 'json'];
    const named = this.#alertsOf(await this.#json(words, 'list decisions', signal));
    const added: Alert[] = [];
    for (const origin of await this.#unlistedOrigins(signal)) added.push(...(await this.#inForce({ shared: false, origin }, signal)));
    const found = new Map<number, Decision>();
    for (const { decisions } of [...named, ...added]) {
      for (const decision of decisions) if (decision.value === target.value) found.set(decision.id, decision);
    }
    return [...found.values()];
  }

  async alert(id: number, signal: AbortSignal): Promise<unknown> {
    return this.#json(['alerts', 'inspect', String(id), '-o', 'json'], 'show the alert', signal);
  }

  /** Its request, as the operator can check it. */
  banWords({ target, seconds, reason, type, bypassAllowlist }: BanOrder): readonly string[] {
    return [
      'decisions',
      'add',
      ...targetWords(target),
      '--duration',
      goDurationText(seconds),
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
      throw new Fault({
        code: 'refused.allowlisted',
        message: `${order.target.shown} was not banned: an allowlist has it (${cleanLine(item)}).`,
        remedy: 'Take it off that list first, or ban it all the same with --bypass-allowlist.',
      });
    }
    throw this.refusal(answer, `ban ${order.target.shown}`);
  }

  /** What ends decisions about this value; ranges around an address are ended with it. */
  unbanWords(target: BanTarget): readonly string[] {
    // No version of it knows --scope here.
    return ['decisions', 'delete', ...(target.scope === 'Country' ? ['--value', target.value] : targetWords(target))];
  }

  async unban(grant: Grant, target: BanTarget): Promise<void> {
    await this.change(grant, this.unbanWords(target), `lift the ban of ${target.shown}`);
  }

  async deleteDecision(grant: Grant, id: number): Promise<void> {
    await this.change(grant, ['decisions', 'delete', '--id', String(id)], `end the decision ${id}`);
  }

  /** Prometheus' counters, as `cscli` sums them up: its tables, for reading. */
  async metrics(signal: AbortSignal): Promise<string> {
    const answer = await this.cscli.read(['metrics', '--color', 'no'], signal);
    if (answer.exitCode !== 0) throw this.refusal(answer, 'tell its metrics');
    return answer.stdout;
  }

  /** By section. Until 1.5 it prints one object after the other, with nothing that names them. */
  async metricsJson(signal: AbortSignal): Promise<unknown> {
    const answer = await this.cscli.read(['metrics', '-o', 'json'], signal);
    if (answer.exitCode !== 0) throw this.refusal(answer, 'tell its metrics');
    const parsed = parsedJson(answer.stdout) ?? parsedJson(`[${answer.stdout.trim().replace(/\}\s*\{/g, '},{')}]`);
    if (parsed === undefined) throw this.#strange('metrics');
    return parsed;
  }

  /** Something that changes something. Throws `failed.crowdsec` with cscli's own words. */
  async change(grant: Grant, words: readonly string[], what: string): Promise<CscliAnswer> {
    const answer = await this.cscli.change(grant, words);
    if (answer.exitCode !== 0) throw this.refusal(answer, what);
    return answer;
  }

  async readJson(words: readonly string[], what: string, signal: AbortSignal): Promise<unknown> {
    return this.#json([...words, '-o', 'json'], what, signal);
  }

  refusal(answer: CscliAnswer, what: string): Fault {
    const words = refusalWords(answer);
    const unknown = /unknown (?:command|flag:?) "?([\w-]+)"?/.exec(words)?.[1];
    if (unknown !== undefined) {
      return new Fault({
        code: 'refused.version',
        message: `The CrowdSec of ${this.shown} is too old to ${what}: its cscli does not know ${unknown}.`,
        remedy:
          unknown === 'allowlists'
            ? 'Allowlists came with 1.6.6. Until then a whitelist file for the parsers keeps addresses from being banned by scenarios, and not by hand.'
            : 'Update it: quarterdeck update COMPONENT',
      });
    }
    return new Fault({
      code: 'failed.crowdsec',
      message: `CrowdSec did not ${what}: ${words || `cscli ended with ${answer.exitCode}`}.`,
      remedy: /connection refused|no such host|dial tcp/i.test(words)
        ? 'Look whether the local API runs, and whether the hub can be reached from there.'
        : 'Look at its log.',
    });
  }

  /** The API is only the shorter way: what fails there may work over `cscli`. */
  async #listed(filter: Readonly<Record<string, string>>, words: readonly string[], signal: AbortSignal): Promise<unknown> {
    if (this.#openApi && !(this.#apiTrouble && this.#apiTrouble.untilMs > performance.now())) {
      try {
        this.#api ??= await this.#openApi(signal);
        if (this.#api) return await this.#api.alerts(filter, signal);
        throw noLogin(this.shown);
      } catch (thrown) {
        if (!(thrown instanceof Fault)) throw thrown;
        this.#apiTrouble = { fault: thrown, untilMs: performance.now() + apiAgainMs };
      }
    }
    try {
      return await this.#json([...words, '-o', 'json'], words.slice(0, 2).reverse().join(' '), signal);
    } catch (thrown) {
      throw this.#apiTrouble && thrown instanceof Fault && thrown.code === 'refused.readOnly' ? this.#apiTrouble.fault : thrown;
    }
  }

  /** Origins that a list leaves out unless they are asked for by name, although they are none of shared lists: before 1.7 all that the server does not know. */
  async #unlistedOrigins(signal: AbortSignal): Promise<readonly string[]> {
    if (this.#unlisted && this.#unlisted.untilMs > performance.now()) return this.#unlisted.origins;
    const origins = new Set(addedOrigins);
    const version = await this.version(signal).catch((thrown: unknown) => {
      if (thrown instanceof Fault && thrown.code === 'refused.readOnly') return '';
      throw thrown;
    });
    if (!/^v?(?:1\.(?:[7-9]|\d\d)|[2-9])/.test(version)) {
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

  async #json(words: readonly string[], what: string, signal: AbortSignal): Promise<unknown> {
    const answer = await this.cscli.read(words, signal);
    if (answer.exitCode !== 0) throw this.refusal(answer, what);
    const text = answer.stdout.trim();
    const parsed = text === '' ? null : parsedJson(text);
    if (parsed === undefined) throw this.#strange(words.slice(0, 2).join(' '));
    return parsed;
  }

  #strange(what: string): Fault {
    return new Fault({
      code: 'failed.crowdsec',
      message: `What CrowdSec says of its ${what} cannot be read.`,
      remedy: 'Look at it with cscli, and report it with its version.',
    });
  }
}

/** Whether it shuts this out: itself, or what it belongs to. */
export function isAbout({ scope, value }: Pick<Decision, 'scope' | 'value'>, target: BanTarget): boolean {
  if (target.scope === 'Country') return value === target.value && scope.toLowerCase() === 'country';
  if (value === target.value) return true;
  const span = /^(?:ip|range)$/i.test(scope) ? spanOf(value) : undefined;
  return span !== undefined && span.family === target.span.family && span.first <= target.span.first && span.last >= target.span.last;
}

function noLogin(shown: string): Fault {
  return new Fault({
    code: 'unreachable.crowdsec',
    message: `The login of ${shown} at its local API cannot be read, or its port is not published.`,
    remedy: 'Publish its port on loopback, or start without --read-only.',
  });
}
