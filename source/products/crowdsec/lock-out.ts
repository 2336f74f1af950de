import { Fault } from '../../faults/fault.ts';
import { type AddressSpan, isOneAddress, isPrivate, isWithin, overlap, spanOf, withNeighbours } from '../../text/address-span.ts';
import { cleanLine } from '../../text/clean.ts';
import type { BanTarget } from './client/ban-target.ts';

/** Addresses that must keep access, with a description: `the address you come from, as nas sees it`. */
export interface Guarded {
  span: AddressSpan;
  what: string;
  /** Address of the operator: a ban of a country could include it unnoticed. */
  operator?: true;
  /** Possibly the operator's address, or an attacker's who is trying to log in: a ban of it is confirmed, not refused. */
  maybe?: true;
}

/** Returns a guarded address. A single IPv6 address represents its /64. Returns an empty list if the text is not an address. */
export function guarded(text: string, what: string, more: Pick<Guarded, 'operator' | 'maybe'> = {}): Guarded[] {
  const span = spanOf(text.replace(/%.*$/, ''));
  return span ? [{ span: withNeighbours(span), what, ...more }] : [];
}

/** Returns why a ban would lock out a guarded address, by the narrowest of several reasons; undefined if it would not. */
export function lockOutReason(target: BanTarget, guards: readonly Guarded[]): string | undefined {
  if (target.scope === 'Country') return undefined;
  const { span } = target;
  const [hit] = guards
    .filter((guard) => !guard.maybe && overlap(guard.span, span))
    .sort((one, other) => Number(sizeOf(one.span) - sizeOf(other.span)));
  if (!hit) return undefined;
  const text = hit.span.text;
  if (isOneAddress(span) && isOneAddress(hit.span)) return `${span.text} is ${hit.what}.`;
  if (isWithin(span, hit.span)) return `${span.text} belongs to ${text}: ${hit.what}.`;
  return `${span.text} shuts out ${text}: ${hit.what}.`;
}

export function refuseLockOut(target: BanTarget, guards: readonly Guarded[]): void {
  const reason = lockOutReason(target, guards);
  if (reason === undefined) return;
  throw new Fault(
    'refused.lockOut',
    `Not banned, it could lock you out: ${reason}`,
    `${target.scope === 'Ip' ? '' : 'Ban something narrower. '}Who means it all the same does it with cscli on the machine, with another way in at hand.`,
  );
}

/** Returns why a ban could lock out the operator, although that is uncertain; an empty list if nothing suggests it. */
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

/** Returns the public addresses that the operator connects from: their country cannot be determined here. */
export function publicAddresses(guards: readonly Guarded[]): readonly string[] {
  return guards.filter(({ operator, span }) => operator && !isPrivate(span)).map(({ span }) => cleanLine(span.text));
}

const sizeOf = ({ first, last }: AddressSpan) => last - first;
