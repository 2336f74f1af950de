import { Fault } from '../faults/fault.ts';
import type { BanTarget } from '../products/ban-target.ts';
import { type AddressSpan, isOneAddress, isPrivate, overlap, spanOf, withNeighbours } from '../text/address-span.ts';
import { cleanLine } from '../text/clean.ts';

/** Addresses that must stay able to come in, and what they are: `the address you come from, as nas sees it`. */
export interface Guarded {
  span: AddressSpan;
  what: string;
  /** Of the operator: the one that a ban of a country could hit unseen. */
  operator?: true;
  /** May be the operator or may not, such as an attacker who is trying to log in: a ban of it is confirmed, not refused. */
  maybe?: true;
}

/** A single IPv6 address stands for its /64. Undefined for what is no address. */
export function guarded(text: string, what: string, more: Pick<Guarded, 'operator' | 'maybe'> = {}): Guarded | undefined {
  const span = spanOf(text.replace(/%.*$/, ''));
  return span && { span: withNeighbours(span), what, ...more };
}

/** Why a ban would lock somebody out who must not be; undefined where it would not. The narrowest of several reasons. */
export function lockOutReason(target: BanTarget, guards: readonly Guarded[]): string | undefined {
  if (target.scope === 'Country') return undefined;
  const { span } = target;
  const [hit] = guards.filter((guard) => !guard.maybe && overlap(guard.span, span)).sort(bySize);
  if (!hit) return undefined;
  const text = hit.span.text;
  if (isOneAddress(span) && isOneAddress(hit.span)) return `${span.text} is ${hit.what}.`;
  if (span.first >= hit.span.first && span.last <= hit.span.last) return `${span.text} belongs to ${text}: ${hit.what}.`;
  return `${span.text} shuts out ${text}: ${hit.what}.`;
}

/** Throws `refused.lockOut`. */
export function refuseLockOut(target: BanTarget, guards: readonly Guarded[]): void {
  const reason = lockOutReason(target, guards);
  if (reason === undefined) return;
  throw new Fault({
    code: 'refused.lockOut',
    message: `Not banned, it could lock you out: ${reason}`,
    remedy: `${target.scope === 'Ip' ? '' : 'Ban something narrower. '}Who means it all the same does it with cscli on the machine, with another way in at hand.`,
  });
}

/** Why a ban could lock the operator out although that cannot be seen for sure; empty where nothing suggests it. */
export function lockOutDoubts(target: BanTarget, guards: readonly Guarded[]): string[] {
  if (target.scope === 'Country') return [];
  const { span, shown } = target;
  const hits = guards.filter((guard) => guard.maybe && overlap(guard.span, span)).map((guard) => `${guard.span.text} ${guard.what}`);
  const doubts = [...new Set(hits)].slice(0, 5).map((hit) => `${cleanLine(hit)}. It may be your own address.`);
  if (isPrivate(span))
    doubts.push(
      `${shown} is ${isOneAddress(span) ? 'a private address' : 'in a private network'}: check that it is not one of your own networks.`,
    );
  return doubts;
}

/** Whether anything tells where the operator comes from. */
export function isOperatorKnown(guards: readonly Guarded[]): boolean {
  return guards.some(({ operator }) => operator);
}

/** Where the operator comes from over the internet: nobody can tell from here in which country that is. */
export function publicWays(guards: readonly Guarded[]): readonly string[] {
  return guards.filter(({ operator, span }) => operator && !isPrivate(span)).map(({ span }) => cleanLine(span.text));
}

function bySize(one: Guarded, other: Guarded): number {
  const [mine, theirs] = [sizeOf(one.span), sizeOf(other.span)];
  return mine < theirs ? -1 : mine > theirs ? 1 : 0;
}

function sizeOf({ first, last }: AddressSpan): bigint {
  return last - first;
}
