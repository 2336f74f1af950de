import { cleanLine } from '../text/clean.ts';
import { agoText, bytesText, countText } from '../text/quantities.ts';
import { objectsListAbout } from './about-objects.ts';
import type { Flow } from './flow.ts';
import { wordsUpTo } from './flow-options.ts';
import { openObjects, splitName } from './objects-open.ts';

const usage = 'objects list COMPONENT [BUCKET[/PREFIX]]';
const mostAtFirst = 1000;
const mostAtAll = 1_000_000;

const ago = (ms: number | undefined) => (ms === undefined ? '' : agoText(Date.now() - ms));
const timeText = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

export const objectsList: Flow = {
  ...objectsListAbout,
  async run(session, input, world) {
    const [word] = wordsUpTo(1, input, { takes: 'One bucket at a time', remedy: `quarterdeck ${usage}` });
    const asked = word === undefined ? undefined : splitName(word, usage);
    const { store, component } = await openObjects(session, input, world);
    if (asked === undefined) {
      const buckets = await store.buckets(session.signal);
      if (buckets.length > 0)
        session.show({
          kind: 'table',
          columns: ['bucket', 'made'],
          rows: buckets.map(({ name, madeMs }) => [cleanLine(name), ago(madeMs)]),
        });
      return {
        message:
          buckets.length === 0
            ? `${component.id} has no bucket that these keys see.`
            : `${component.id} has ${countText(buckets.length, 'bucket')}.`,
        data: { buckets: buckets.map(({ name, madeMs }) => ({ name, made: timeText(madeMs) })) },
      };
    }
    const { bucket, key: prefix } = asked;
    const { objects, more } = await store.list(bucket, prefix, input.options['all'] === true ? mostAtAll : mostAtFirst, session.signal);
    if (objects.length > 0)
      session.show({
        kind: 'table',
        columns: ['object', 'size', 'stored'],
        align: ['left', 'right', 'left'],
        rows: objects.map(({ key, sizeBytes, changedMs }) => [cleanLine(key), bytesText(sizeBytes), ago(changedMs)]),
      });
    const size = bytesText(objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
    const where = prefix === '' ? bucket : `${bucket} that begin with ${cleanLine(prefix)}`;
    return {
      message: more
        ? `The first ${countText(objects.length, 'object')} of ${where}, ${size}; there are more${input.options['all'] === true ? '' : ': --all'}.`
        : `${countText(objects.length, 'object')} in ${where}${objects.length === 0 ? '' : `, ${size}`}.`,
      data: { bucket, objects: objects.map(({ key, sizeBytes, changedMs }) => ({ key, sizeBytes, stored: timeText(changedMs) })), more },
    };
  },
};
