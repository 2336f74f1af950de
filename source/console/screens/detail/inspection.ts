import { useEffect } from 'react';
import type { QuarterdeckApp } from '../../../app/app.ts';
import type { CatalogEntry } from '../../../catalog/catalog.ts';
import type { ContainerDetail } from '../../../engine/engine.ts';
import { createListeners } from '../../../faults/listeners.ts';
import type { ComponentView, ServiceView } from '../../../fleet/model.ts';
import { cleanLine } from '../../../text/clean.ts';
import { cut, textWidth, wrap } from '../../../text/width.ts';
import { useReported } from '../../hooks/use-stores.ts';
import { rememberedFor } from '../../remembered.ts';
import type { Theme } from '../../theme.ts';
import { type Trouble, troubleFrom } from '../../trouble.ts';
import { maskInspect } from './mask-inspect.ts';

const limitMs = 10_000;

export type Inspection =
  | { state: 'none' }
  | { state: 'asking' }
  | { state: 'here'; detail: ContainerDetail }
  | ({ state: 'failed' } & Trouble);

const keyOf = (component: ComponentView | undefined, service: ServiceView | undefined) =>
  service?.containerId === undefined ? '' : `${component?.host}/${service.containerId}`;

/** Queried again when the container's state changes, and cancelled when the screen is left. */
export function watchInspection(app: QuarterdeckApp) {
  const { subscribe, notify } = createListeners();
  let last: { of: string; value: Inspection } = { of: '', value: { state: 'none' } };
  async function inspect(host: string, id: string, signal: AbortSignal): Promise<Inspection> {
    try {
      const detail = await app.context.engineOf(host).inspect(id, AbortSignal.any([signal, AbortSignal.timeout(limitMs)]));
      return detail ? { state: 'here', detail } : { state: 'none' };
    } catch (thrown) {
      const { message, remedy } = troubleFrom(thrown, 'The engine did not respond', 'The query is repeated when the component changes.');
      return { state: 'failed', message, remedy };
    }
  }

  return {
    view(component: ComponentView | undefined, service: ServiceView | undefined): Inspection {
      const of = keyOf(component, service);
      if (of === '') return { state: 'none' };
      return last.of === of ? last.value : { state: 'asking' };
    },
    useInspection(component: ComponentView | undefined, service: ServiceView | undefined): void {
      const of = keyOf(component, service);
      const id = service?.containerId;
      const host = component?.host;
      const revision = `${of}/${service?.state}/${service?.sinceMs}/${service?.restarts}`;
      useReported(subscribe, 'fact');
      // biome-ignore lint/correctness/useExhaustiveDependencies: a new state of the container is a reason to query again
      useEffect(() => {
        if (id === undefined || host === undefined) return;
        const stop = new AbortController();
        void inspect(host, id, stop.signal).then((value) => {
          if (stop.signal.aborted) return;
          last = { of, value };
          notify();
        });
        return () => stop.abort();
      }, [of, revision]);
    },
  };
}

export const inspectText = rememberedFor((raw: object, entry: CatalogEntry | undefined, readOnly: boolean): readonly string[] => {
  const secretFields = new Set(entry?.fields.filter((field) => field.secret).map((field) => field.env ?? field.name));
  const masked = maskInspect(raw, { everyVariable: readOnly, secretFields });
  return (JSON.stringify(masked, undefined, 2) ?? '').split('\n').map(cleanLine);
});

/** Wraps long lines with further indentation. `starts`: the row where each line of the text begins. */
export const inspectRows = rememberedFor(
  (text: readonly string[], width: number): { rows: readonly string[]; starts: readonly number[] } => {
    const rows: string[] = [];
    const starts = text.map((line) => {
      const start = rows.length;
      const indent = Math.min(line.length - line.trimStart().length, width >> 1);
      const [first = '', ...more] = textWidth(line) < width ? [line.trimStart()] : wrap(line.trimStart(), Math.max(8, width - indent - 3));
      rows.push(`${' '.repeat(indent)}${first}`, ...more.map((part) => `${' '.repeat(indent + 2)}${part}`));
      return start;
    });
    return { rows, starts };
  },
);

export function inspectLine(line: string, theme: Theme, width: number, search: string): string {
  const shown = cut(` ${line}`, width, theme.glyphs.ellipsis);
  const at = positionIn(shown, search);
  if (at >= 0) return shown.slice(0, at) + theme.paint('match', shown.slice(at, at + search.length)) + shown.slice(at + search.length);
  const name = /^(\s*)("(?:[^"\\]|\\.)*")(:.*)$/.exec(shown);
  return name ? `${name[1]}${theme.paint('accent', name[2] ?? '')}${name[3]}` : shown;
}

export function matchRows(text: readonly string[], search: string): number[] {
  return text.flatMap((line, row) => (positionIn(line, search) >= 0 ? [row] : []));
}

/** Uses smart case: capitals in the search make it case-sensitive. Returns -1 where the text has no match. */
function positionIn(text: string, search: string): number {
  if (search === '') return -1;
  return /\p{Lu}/u.test(search) ? text.indexOf(search) : text.toLowerCase().indexOf(search.toLowerCase());
}
