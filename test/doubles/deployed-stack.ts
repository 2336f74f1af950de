import type { Transaction } from '../../source/stack/apply/transaction.ts';
import type { FileChange, Plan } from '../../source/stack/model.ts';

/** A plan with the least that one needs. */
export function planOf(component: string, stackFolder: string, files: readonly Partial<FileChange>[], overrides: Partial<Plan> = {}): Plan {
  return {
    schema: 1,
    kind: 'deploy',
    component,
    engineName: 'local',
    stackFolder,
    project: component,
    files: files.map((file) => ({ path: '', before: undefined, after: undefined, mode: 0o644, touched: false, ...file })),
    services: [{ name: 'main', image: `${component}:1`, before: undefined, change: 'create', why: 'it is new', present: true }],
    ports: [],
    networks: [],
    volumes: [],
    secrets: [],
    site: '',
    after: [],
    notes: [],
    rollback: 'safe',
    ...overrides,
  };
}

export function transactionOf(run: string, plans: readonly Plan[]): Transaction {
  return { schema: 1, run, by: 'ann@nas', startedAt: '2026-11-21T22:15:00.000Z', plans };
}
