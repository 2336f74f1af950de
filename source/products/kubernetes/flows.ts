import { lazyFlows, resumableFlow } from '../../flows/flow.ts';

export const kubernetesFlows = lazyFlows({ about: 'host', offline: true }, [
  resumableFlow('operate', 'upgrade', {
    title: 'Upgrade a cluster or component step by step',
    summary:
      'Guides you through the upgrade of a Kubernetes cluster or a component, with a checklist of the current state, blocking problems, and each step. Blocking items can be skipped with a reason. Progress is saved and can be resumed.',
    usage: '[CONTEXT|COMPONENT]',
    wordsFor: ({ id }) => [[id]],
    flags: {
      to: { meaning: 'version to upgrade to', value: 'VERSION' },
      via: { meaning: 'intermediate version for nodes that are further behind; repeatable', value: 'VERSION', repeats: true },
      skip: { meaning: 'skip a blocking item, with a reason that is recorded; repeatable', value: 'ITEM=REASON', repeats: true },
      check: { meaning: 'only check, and exit with 1 if an item is blocking' },
      hand: { meaning: 'show the commands for the nodes without running them' },
      kubeconfig: { meaning: 'path of a kubeconfig file on the host', value: 'FILE' },
      checklist: { meaning: 'store the checklist in this file, and resume from it if it exists', value: 'FILE' },
      report: { meaning: 'write a Markdown report to this file', value: 'FILE' },
      'no-backup': { meaning: 'upgrade a component without creating a backup first' },
    },
    load: async () => (await import('./upgrade-cluster.ts')).upgrade,
  }),
]);
