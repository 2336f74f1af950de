import type { Family, FlowRow } from './flow.contract.ts';
import { Practice } from './practice.ts';

type Row = FlowRow<Practice>;
const applied = ['apply RUN', 'verified RUN'];
const envOf = (id: string) => (practice: Practice) => practice.fixture.text(`${id}/.env`);
const edit = (practice: Practice, id: string, text: string) =>
  practice.fixture.run('edit', id, { words: ['.env'], stdin: Buffer.from(text) });
/** A flow that applies plans: a dry run shows the plan, and no requests. */
const applying = (flow: string, component: string, more: Partial<Row>): Row => ({
  ...{ flow, component, acts: applied, dryRunShows: { text: /\bServices\b|\.env\b/ }, slow: true },
  ...more,
});

const rows: readonly Row[] = [
  applying('edit', 'media-server', {
    words: ['.env'],
    stdin: 'TZ=Europe/Oslo\n',
    first: (practice) => edit(practice, 'media-server', 'TZ=Europe/Lisbon\n'),
    end: envOf('media-server'),
  }),
  applying('update', 'reverse-proxy', {
    // A newer image in the registry.
    first: (practice) => practice.run('incident', 'calm', ['newer-images']),
    end: async (practice) => (await practice.fixture.run('update', 'reverse-proxy', {}, { dryRun: true })).message,
  }),
  applying('rollback', 'media-server', {
    acts: ['undo RUN'],
    // Run again it goes one change further back.
    otherwise: { 'undo RUN/after': { says: /^Rolled back the change of/, end: 'another' } },
    first: async (practice) => {
      await edit(practice, 'media-server', 'TZ=Europe/Lisbon\n');
      await edit(practice, 'media-server', 'TZ=Europe/Paris\n');
    },
    end: envOf('media-server'),
  }),
];

/** Flows that apply plans to what is deployed. Each has a test file of its own: killed before and after every action, one takes a minute. */
export const changeFlows = (...flows: readonly string[]): Family<Practice> => ({
  name: 'changes to the stack',
  open: () => Practice.open(),
  shared: true,
  rows: rows.filter(({ flow }) => flows.includes(flow)),
});
