import { createHash, randomBytes } from 'node:crypto';
import { oneError, Refusal } from './answers.ts';
import type { Core } from './core.ts';
import { capabilitiesFor, defaultPolicy, type PathRule, parsePolicy } from './policies.ts';

export interface Token {
  id: string;
  accessor: string;
  policies: string[];
  createdMs: number;
  ttlSeconds: number;
  /** None for a token that never ends. */
  expiresMs: number | null;
  displayName: string;
  path: string;
  orphan: boolean;
  renewable: boolean;
  meta: Record<string, string> | null;
  parent: string;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** 32 days, what the real one gives where nobody asks for less. */
const longestSeconds = 2_764_800;

/** Letters and digits that nobody can guess. */
export function randomLetters(count: number): string {
  return [...randomBytes(count)].map((byte) => letters[byte % letters.length]).join('');
}

/** Names of entries lie readable on the disk, so that no secret may be one: a digest of it is. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function placeOf(id: string): string {
  return `sys/token/${digestOf(id)}`;
}

/** Tokens and the policies that they carry. All of it lies behind the barrier. */
export class Tokens {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  create(wanted: Partial<Token>): Token {
    const prefix = this.#core.dialect.product === 'openbao' ? 's.' : 'hvs.';
    const ttlSeconds = wanted.ttlSeconds ?? longestSeconds;
    const createdMs = this.#core.nowMs();
    const token: Token = {
      id: prefix + randomLetters(24),
      accessor: randomLetters(24),
      policies: ['root'],
      createdMs,
      displayName: 'token',
      path: 'auth/token/create',
      orphan: false,
      renewable: ttlSeconds > 0,
      meta: null,
      parent: '',
      ...wanted,
      ttlSeconds,
      expiresMs: ttlSeconds > 0 ? createdMs + ttlSeconds * 1000 : null,
    };
    this.#core.barrier.put(placeOf(token.id), token);
    return token;
  }

  root(): Token {
    return this.create({ ttlSeconds: 0, displayName: 'root', path: 'auth/token/root', orphan: true });
  }

  find(id: string): Token | undefined {
    const token = this.#core.barrier.get<Token>(placeOf(id));
    if (token?.expiresMs && token.expiresMs <= this.#core.nowMs()) {
      this.revoke(token);
      return undefined;
    }
    return token;
  }

  all(): Token[] {
    const places = this.#core.barrier.list('sys/token/');
    return places.flatMap((place) => this.find(this.#core.barrier.get<Token>(`sys/token/${place}`)?.id ?? '') ?? []);
  }

  /** Ends a token and what was made with it. */
  revoke(token: Token): void {
    this.#core.barrier.delete(placeOf(token.id));
    for (const child of this.all().filter((other) => other.parent === token.id && !other.orphan)) this.revoke(child);
  }

  renew(token: Token, seconds?: number): Token {
    if (token.expiresMs === null) throw new Refusal(400, 'invalid lease ID');
    if (!token.renewable) throw new Refusal(400, 'lease is not renewable');
    const renewed = { ...token, expiresMs: this.#core.nowMs() + (seconds ?? token.ttlSeconds) * 1000 };
    this.#core.barrier.put(placeOf(token.id), renewed);
    return renewed;
  }

  capabilities(token: Token, path: string): string[] {
    if (token.policies.includes('root')) return ['root'];
    return capabilitiesFor(
      token.policies.flatMap((name): PathRule[] => parsePolicy(this.policy(name) ?? '')),
      path,
    );
  }

  policy(name: string): string | undefined {
    return this.#core.barrier.get<{ text: string }>(`sys/policy/${name}`)?.text ?? (name === 'default' ? defaultPolicy : undefined);
  }

  policies(): string[] {
    return [...new Set(['default', 'root', ...this.#core.barrier.list('sys/policy/')])].sort();
  }

  /** @throws Refusal unless the token may do one of these there */
  allow(token: Token, path: string, oneOf: readonly string[], sudo = false): void {
    const capabilities = this.capabilities(token, path);
    if (capabilities.includes('root')) return;
    const allowed = oneOf.some((capability) => capabilities.includes(capability)) && (!sudo || capabilities.includes('sudo'));
    if (!allowed) throw new Refusal(403, oneError('permission denied'));
  }

  /** As `lookup` shows it: the token itself is in it. */
  shown(token: Token): Record<string, unknown> {
    const left = token.expiresMs === null ? 0 : Math.max(0, Math.floor((token.expiresMs - this.#core.nowMs()) / 1000));
    return {
      accessor: token.accessor,
      creation_time: Math.floor(token.createdMs / 1000),
      creation_ttl: token.ttlSeconds,
      display_name: token.displayName,
      entity_id: '',
      expire_time: token.expiresMs === null ? null : new Date(token.expiresMs).toISOString(),
      explicit_max_ttl: 0,
      id: token.id,
      ...(token.expiresMs === null ? {} : { issue_time: new Date(token.createdMs).toISOString() }),
      meta: token.meta,
      num_uses: 0,
      orphan: token.orphan,
      path: token.path,
      policies: token.policies,
      ...(token.expiresMs === null ? {} : { renewable: token.renewable }),
      ttl: left,
      type: 'service',
    };
  }

  /** As a login answers. */
  granted(token: Token): Record<string, unknown> {
    return {
      client_token: token.id,
      accessor: token.accessor,
      policies: token.policies,
      token_policies: token.policies,
      metadata: token.meta,
      lease_duration: token.ttlSeconds,
      renewable: token.renewable,
      entity_id: '',
      token_type: 'service',
      orphan: token.orphan,
      mfa_requirement: null,
      num_uses: 0,
    };
  }
}
