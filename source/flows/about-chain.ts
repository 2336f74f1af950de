import type { FlowAbout } from './flow.ts';

export const chainAbout: FlowAbout = {
  id: 'chain',
  verb: 'chain',
  title: 'Show how releases get into the library',
  summary:
    'Shows the five stages of media automation: release at an indexer, download request, completed download, import and rename, library scan. Says which component serves each, what is missing or stopped, and what is wrong between two of them, such as folders that are not the same or a gateway that is down. Ends with 1 where something is wrong.',
  right: 'read',
  about: 'host',
  offline: true,
};
