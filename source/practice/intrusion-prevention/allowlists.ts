import { spanOf, spans } from './address-span.ts';
import type { Store } from './store.ts';

/** The items that let this address or range through, in the words of the local API; undefined when none does. */
export function allowlistingOf(store: Store, value: string): string | undefined {
  const span = spanOf(value);
  if (span === undefined) return undefined;
  const now = store.now();
  const reasons = [...store.allowlists]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((list) =>
      list.items
        .filter((item) => item.untilMs === undefined || item.untilMs > now)
        .filter((item) => {
          const own = spanOf(item.value);
          // A range is let through by an item inside it too: banning it would ban the item.
          return own !== undefined && (spans(own, span) || spans(span, own));
        })
        .map((item) => `${item.value} from ${list.name}${item.description === '' ? '' : ` (${item.description})`}`),
    );
  return reasons.length === 0 ? undefined : reasons.join(', ');
}

/** Ends the decisions that the allowlists speak against, as adding to one does since 1.6.9. Gives how many. */
export function applyAllowlists(store: Store): number {
  const now = store.now();
  const allowed = store.allowlists
    .flatMap((list) => list.items)
    .filter((item) => item.untilMs === undefined || item.untilMs > now)
    .flatMap((item) => spanOf(item.value) ?? []);
  if (allowed.length === 0) return 0;
  return store.expire((decision) => {
    const own = store.spanOf(decision);
    return own !== undefined && allowed.some((span) => spans(span, own) || spans(own, span));
  });
}
