/** One thing that was looked at, and what was seen. */
export interface CheckedItem {
  id: string;
  title: string;
  state: 'ok' | 'warning' | 'blocked';
  evidence: string;
}
