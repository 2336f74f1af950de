import type { CatalogEntry } from '../../catalog/catalog.ts';
import type { ComponentView } from '../../fleet/model.ts';
import { countText } from '../../text/quantities.ts';
import { entryOf } from '../call-target.ts';
import type { Procedure } from '../flow.ts';
import { showList } from '../list-table.ts';
import { listedOperations } from './listed-operations.ts';

/** Of the components that exist on the host, since a request needs one that can receive it. */
export const listOperations: Procedure = async (session, input, context) => {
  const components = input.component
    ? [input.component]
    : context.fleet.snapshot().components.filter(({ host, known }) => known && host === input.engineName);
  const operations = components.flatMap((component) => operationsOf(component, entryOf(context, component)));
  showList(session, operations, {
    ...(!input.component && { COMPONENT: ({ component }) => component }),
    OPERATION: ({ id }) => id,
    TITLE: ({ title }) => title,
    RIGHT: ({ right }) => right,
    INPUTS: ({ inputs }) => inputs.map(({ name, required }) => (required ? name : `[${name}]`)).join(' '),
  });
  const whose = input.component ? ` of ${input.component.id}` : '';
  const how = operations.length > 0 ? ` Run one: quarterdeck op ${input.component?.id ?? 'COMPONENT'} OPERATION` : '';
  return { message: `${countText(operations.length, 'operation')}${whose}.${how}`, data: { operations } };
};

function operationsOf({ id: component }: ComponentView, entry: CatalogEntry | undefined) {
  const listed = entry ? listedOperations(entry) : [];
  return listed.map(({ id, title, right, consequences, call }) => ({
    ...{ component, id, title, right, consequences },
    inputs: Object.entries(entry?.calls[call]?.inputs ?? {}).map(([name, { type, description, required, secret, file }]) => ({
      ...{ name, type, description, required, secret, file },
    })),
  }));
}
