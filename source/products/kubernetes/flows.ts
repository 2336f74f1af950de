import { lazyFlows, resumable } from '../../flows/flow.ts';

export const kubernetesFlows = lazyFlows({ about: 'host', offline: true }, [
  {
    verb: 'upgrade',
    title: 'Walk through an upgrade',
    summary:
      'Walks through the upgrade of a Kubernetes cluster, or of a component: a checklist of where it is, what is in the way, and each step. Items that block can be skipped for a reason; everything is kept, so that somebody else goes on tomorrow.',
    ...resumable('operate'),
    usage: '[CONTEXT|COMPONENT]',
    wordsFor: ({ id }) => [[id]],
    flags: {
      to: { meaning: 'the release to go to', value: 'VERSION' },
      via: { meaning: 'a release on the way, for nodes that are further behind; may be given again', value: 'VERSION', repeats: true },
      skip: { meaning: 'skip an item that blocks, for a reason that is kept; may be given again', value: 'ITEM=REASON', repeats: true },
      check: { meaning: 'only look, and end with 1 where something blocks' },
      hand: { meaning: 'show the commands for the nodes, and run none of them' },
      kubeconfig: { meaning: 'the kubeconfig, on the host that is operated', value: 'FILE' },
      checklist: { meaning: 'keep the checklist in this file', value: 'FILE' },
      report: { meaning: 'write what was found and done to a file, as Markdown', value: 'FILE' },
      'no-backup': { meaning: 'of a component: without a backup before it' },
    },
    load: async () => (await import('./upgrade-cluster.ts')).upgrade,
  },
]);
