import { kubeletLag } from './skew.ts';

/** Minors of major 1: there has been no other. */
export interface ClusterMinors {
  apiServer: number;
  nodes: readonly { name: string; minor: number; controlPlane: boolean }[];
}

/** One thing that gets newer by one minor. */
export type PathStep = { kind: 'control-plane'; from: number; to: number } | { kind: 'node'; node: string; from: number; to: number };

/**
 * The way to a minor, one minor at a time for everything that moves (R73), the control plane before the nodes. Nodes that the next control plane would leave too far
 * behind come before it. Undefined where there is no way: back, or from a state that no policy allows.
 */
export function pathTo({ apiServer, nodes }: ClusterMinors, target: number): PathStep[] | undefined {
  if (target < apiServer || nodes.some(({ minor }) => minor > apiServer)) return undefined;
  const steps: PathStep[] = [];
  const now = [...nodes]
    .sort((one, other) => Number(other.controlPlane) - Number(one.controlPlane))
    .map(({ name, minor }) => ({ name, minor }));
  const raise = (node: { name: string; minor: number }, to: number) => {
    while (node.minor < to) steps.push({ kind: 'node', node: node.name, from: node.minor, to: ++node.minor });
  };
  for (let api = apiServer; ; api++) {
    if (api < target) for (const node of now) if (api + 1 - node.minor > kubeletLag(node.minor)) raise(node, api);
    if (api > apiServer || api === target) for (const node of now) raise(node, api);
    if (api === target) return steps;
    steps.push({ kind: 'control-plane', from: api, to: api + 1 });
  }
}

/** `1.31 -> 1.32 -> 1.33` */
export function pathText(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `1.${from + index}`).join(' -> ');
}
