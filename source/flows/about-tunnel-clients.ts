import type { ComponentView } from '../fleet/model.ts';
import type { FlowAbout } from './flow.ts';

/* What flows about the devices of a tunnel server are called and take. The procedures are loaded when they run. */

const offered = ({ speaks, state }: ComponentView) => speaks === 'wg-easy' && (state === 'running' || state === 'healthy');
const about = { about: 'component', speaks: 'wg-easy', offered } as const;

export const clientsListAbout: FlowAbout = {
  ...about,
  id: 'clients-list',
  verb: 'clients list',
  title: "List the tunnel's devices",
  summary: 'Logs in to the tunnel server and lists its devices: address, when each was last there, how much went through.',
  right: 'operate',
};

export const clientsAddAbout: FlowAbout = {
  ...about,
  id: 'clients-add',
  verb: 'clients add',
  title: 'Let a device into the tunnel',
  summary: 'Makes a device at the tunnel server, which makes its keys, and shows its configuration once with a QR code.',
  right: 'reveal',
  resumes: true,
  usage: '[NAME]',
  flags: { plain: { meaning: 'write the configuration alone to the pipe' } },
};

export const clientsShowAbout: FlowAbout = {
  ...about,
  id: 'clients-show',
  verb: 'clients show',
  title: "Show a device's configuration",
  summary: 'Shows the configuration of a device once more, with a QR code, and says what is wrong with it.',
  right: 'reveal',
  usage: '[NAME]',
  flags: { plain: { meaning: 'write the configuration alone to the pipe' } },
};

export const clientsDisableAbout: FlowAbout = {
  ...about,
  id: 'clients-disable',
  verb: 'clients disable',
  title: 'Keep a device out of the tunnel',
  summary: 'Keeps a device out until it is let in again. Its keys and its address stay.',
  right: 'operate',
  resumes: true,
  usage: '[NAME]',
};

export const clientsEnableAbout: FlowAbout = {
  ...about,
  id: 'clients-enable',
  verb: 'clients enable',
  title: 'Let a device into the tunnel again',
  summary: 'Lets a device in again that was kept out.',
  right: 'operate',
  resumes: true,
  usage: '[NAME]',
};

export const clientsRemoveAbout: FlowAbout = {
  ...about,
  id: 'clients-remove',
  verb: 'clients remove',
  title: 'Remove a device from the tunnel',
  summary: 'Removes a device with its keys: its configuration is worth nothing from then on.',
  right: 'destroy',
  resumes: true,
  usage: '[NAME]',
};
