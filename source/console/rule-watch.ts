import type { QuarterdeckApp } from '../app/app.ts';
import type { InterfaceStore } from './interface-store.ts';
import { troubleFrom } from './trouble.ts';

const noticeMs = 15_000;

/** Evaluates the rules for notifications while the console is open, unless `quarterdeck watch` does. Never rejects. */
export async function watchRules(app: Pick<QuarterdeckApp, 'notify'>, store: InterfaceStore, signal: AbortSignal): Promise<void> {
  // Deliveries that fail are findings of doctor: a notice for each would be in the way.
  await app
    .notify?.(() => undefined, signal)
    .catch((thrown: unknown) => {
      if (signal.aborted) return;
      const { message } = troubleFrom(thrown, 'Notifications stopped', '');
      store.update(() => ({ notice: { severity: 'warning', text: message, untilMs: Date.now() + noticeMs } }));
    });
}
