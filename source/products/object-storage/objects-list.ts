import type { Procedure } from '../../flows/flow.ts';
import { wordsUpTo } from '../../flows/flow-options.ts';
import { type Columns, showList } from '../../flows/list-table.ts';
import { cleanLine } from '../../text/clean.ts';
import { agoText, bytesText, countText } from '../../text/quantities.ts';
import type { StoredObject } from './client/object-storage.ts';
import { openObjects, splitName } from './objects-open.ts';

const usage = 'objects list COMPONENT [BUCKET[/PREFIX]]';
const mostAtFirst = 1000;
const mostAtAll = 1_000_000;

const ago = (ms: number | undefined) => (ms === undefined ? '' : agoText(Date.now() - ms));
const timeText = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

export const objectsList: Procedure = async (session, input, context) => {
  const [word] = wordsUpTo(1, input, { takes: 'One bucket at a time', remedy: `quarterdeck ${usage}` });
  const asked = word === undefined ? undefined : splitName(word, usage);
  const { store, component } = await openObjects(session, input, context);
  if (asked === undefined) {
    const buckets = await store.buckets(session.signal);
    showList(session, buckets, { BUCKET: ({ name }) => cleanLine(name), MADE: ({ madeMs }) => ago(madeMs) });
    const message = buckets.length === 0 ? 'no bucket that these keys see' : countText(buckets.length, 'bucket');
    return {
      message: `${component.id} has ${message}.`,
      data: { buckets: buckets.map(({ name, madeMs }) => ({ name, made: timeText(madeMs) })) },
    };
  }
  const { bucket, key: prefix } = asked;
  const { objects, more } = await store.list(bucket, prefix, input.options['all'] === true ? mostAtAll : mostAtFirst, session.signal);
  const columns: Columns<StoredObject> = {
    OBJECT: ({ key }) => cleanLine(key),
    SIZE: ({ sizeBytes }) => bytesText(sizeBytes),
    STORED: ({ changedMs }) => ago(changedMs),
  };
  showList(session, objects, columns, { right: ['SIZE'] });
  const size = bytesText(objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  const where = prefix === '' ? bucket : `${bucket} that begin with ${cleanLine(prefix)}`;
  return {
    message: more
      ? `The first ${countText(objects.length, 'object')} of ${where}, ${size}; there are more${input.options['all'] === true ? '' : ': --all'}.`
      : `${countText(objects.length, 'object')} in ${where}${objects.length === 0 ? '' : `, ${size}`}.`,
    data: { bucket, objects: objects.map(({ key, sizeBytes, changedMs }) => ({ key, sizeBytes, stored: timeText(changedMs) })), more },
  };
};
