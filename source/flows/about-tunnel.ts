import type { FlowAbout } from './flow.ts';

export const tunnelAbout: FlowAbout = {
  id: 'tunnel',
  verb: 'tunnel',
  title: 'Open a tunnel to the component',
  summary:
    "Opens a port on this machine's 127.0.0.1 that leads through ssh to the component's page, or to another port of it. The verb keeps it until Ctrl-C, the console until it is left. Whoever works on this machine can use it meanwhile.",
  right: 'operate',
  about: 'component',
  far: true,
  flags: {
    port: { meaning: 'the port on this machine; without it the same number as there, or a free one', value: 'NUMBER' },
    to: { meaning: 'the port there, where it is not the page that is meant', value: 'NUMBER' },
  },
  offered: ({ url, services }) =>
    url !== undefined || services.some(({ ports }) => ports.some(({ hostPort, protocol }) => hostPort !== undefined && protocol === 'tcp')),
};
