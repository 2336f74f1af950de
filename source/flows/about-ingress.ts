import type { FlowAbout } from './flow.ts';

export const ingressCheckAbout: FlowAbout = {
  id: 'ingress-check',
  verb: 'ingress check',
  title: 'Check the rules of an outbound tunnel',
  summary:
    'Reads the configuration of an outbound tunnel (cloudflared) and says what is wrong with its ingress rules, with line and column, and which rule an address would get. Without a file it is that of the deployed tunnel. Ends with 1 where something is wrong.',
  right: 'read',
  about: 'host',
  usage: '[FILE] [ADDRESS...]',
  flags: { stdin: { meaning: 'take the configuration from what is piped in' } },
};
