import { type JsonObject, listOf, objectOf, textOf } from '../text/json-value.ts';
import { nearestName } from '../text/nearest-name.ts';
import type { ConfigPart, Unjudged } from './config-text.ts';

/** The objects of a file, those in a `List` with them, that are of the kind that the schema is for. Others are named as not judged. */
export function kubernetesObjects(
  documents: readonly ConfigPart[],
  schema: JsonObject | undefined,
): { parts: readonly ConfigPart[]; unjudged: Unjudged[] } {
  const objects = documents.flatMap((document) => {
    const { kind, items } = objectOf(document.value) ?? {};
    if (!/^(?:\w+)?List$/.test(textOf(kind)) || !Array.isArray(items)) return [document];
    return listOf(items).map(
      (value, index): ConfigPart => ({
        value,
        doubts: [],
        place: (path, part) => document.place(['items', index, ...path], path.length === 0 ? 'value' : part),
      }),
    );
  });
  const wanted = wantedKind(schema);
  const kindOf = ({ value }: ConfigPart) => textOf(objectOf(value)?.['kind']);
  const isOther = (one: ConfigPart) => {
    const kind = kindOf(one);
    return kind !== '' && wanted !== '' && kind !== wanted && nearestName(kind, [wanted]) === undefined;
  };
  const others = objects.filter(isOther);
  // A file with nothing of that kind is the wrong file: that is told.
  if (others.length === objects.length) return { parts: objects.slice(0, 1), unjudged: [] };
  return {
    parts: objects.filter((one) => !others.includes(one)),
    unjudged: others.map((one) => ({
      line: one.place(['kind'], 'key').line,
      message: `An object of kind ${kindOf(one)} was not judged here.`,
    })),
  };
}

function wantedKind(schema: JsonObject | undefined): string {
  return textOf(objectOf(objectOf(schema?.['properties'])?.['kind'])?.['const']);
}
