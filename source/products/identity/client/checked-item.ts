export interface CheckedItem {
  id: string;
  title: string;
  state: 'ok' | 'warning' | 'blocked';
  evidence: string;
}

export function itemOf(id: string, title: string) {
  const as = (state: CheckedItem['state']) => (evidence: string) => ({ id, title, state, evidence });
  return { ok: as('ok'), warning: as('warning'), blocked: as('blocked') };
}

/** Returns all problems, such as `names: none; validity: ended 3d ago`; empty if there are none. */
export function wrongText(items: readonly CheckedItem[]): string {
  const wrong = items.filter(({ state }) => state === 'blocked');
  return wrong.map(({ title, evidence }) => `${title.toLowerCase()}: ${evidence}`).join('; ');
}
