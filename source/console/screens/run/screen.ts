import { saveCode } from '../../../flows/save-file.ts';
import type { ConsoleParts } from '../../context.ts';
import { frontRun, isRunning } from '../../front-run.ts';
import type { Dialog, DialogStep, InterfaceState, RunView } from '../../interface-store.ts';
import type { KeyPress } from '../../key-press.ts';
import type { Keymap } from '../../keymap.ts';
import { amountOf, movedTo, noPage, type Screen, scrolledTo, type View } from '../../screen.ts';
import { styledWidth } from '../../styled-text.ts';
import { editField, pasteInto } from '../../text-field.ts';
import { runScreen, shownCode } from './lines.ts';

const keys = [
  { id: 'hide-run', keys: ['esc', 'q'], title: 'Hide the running operation; it continues' },
  { id: 'stop-run', keys: ['ctrl+c', 'x'], title: 'Cancel the running operation' },
  { id: 'copy-secret', keys: ['y', 'c'], title: 'Copy the secret that is shown' },
  { id: 'show-code', keys: ['f'], title: 'Show the QR code on the whole screen' },
  { id: 'save-code', keys: ['W'], title: 'Save the QR code to a file' },
  { id: 'swap-code', keys: ['i'], title: 'Swap light and dark in the QR code (without colours)' },
] as const;

export const run: Screen<'run', (typeof keys)[number]['id']> = {
  id: 'run',
  heading: 'Show running operations',
  keys,
  kind: 'overlay',
  ofRun: true,
  isOn: ({ runs }) => frontRun(runs) !== undefined,
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: drawing and keys share the page of the last frame
  open(parts) {
    const { store, keymap, commands } = parts;
    const { runs } = commands;
    const { is } = keymap;
    /** `base`: the first line of the output that belongs to the current prompt. */
    let page = { ...noPage, base: 0 };
    /** True on a screen that is redrawn. The output for a screen reader stays in the scrollback, and contains no secrets. */
    let isDrawn = true;
    const front = (state: InterfaceState) => frontRun(state.runs) as RunView;

    function scroll(view: RunView, press: KeyPress, ids?: Parameters<typeof amountOf>[2]): boolean {
      const amount = amountOf((id) => is(press, id), page.height, ids);
      if (amount === undefined) return false;
      const { base } = page;
      runs.change(view.id, (current) => ({ scroll: scrolledTo(base + current.scroll, page, amount) - base }));
      return true;
    }

    function drawBox({ theme, state, width, height, nowMs, step }: View) {
      const view = front(state);
      // Tables and the output of programs may be wide; sentences are easier to read in a narrow box.
      const wide = isRunning(view) || view.shown.some(({ kind }) => kind === 'table' || kind === 'output' || kind === 'review');
      const most = Math.min(width - 10, wide ? 114 : 70);
      const box = runScreen({ run: view, theme, keymap, room: most, height: height - 8, nowMs, drawn: true }, step);
      // A minimum height, because a box that grows with every line would jump.
      if (isRunning(view)) while (box.lines.length < Math.min(height - 8, 14)) box.lines.push('');
      const room = view.dialog || isRunning(view) ? most : Math.min(most, Math.max(44, ...box.lines.map(styledWidth)));
      return { ...box, room };
    }

    return {
      navigation: (state) => isRunning(front(state)),
      draw(view) {
        const { theme, state } = view;
        const shownRun = front(state);
        const { lines, shown, room, choices } = drawBox(view);
        const { dialog } = shownRun;
        const last = Math.min(shown.base + shownRun.scroll, shown.total - shown.height) + shown.height;
        // With an open prompt the footer has no space for the key that scrolls.
        const how = dialog ? `${keymap.keyOf('page-down')}  ` : '';
        const from = choices?.from ?? lines.length;
        const to = from + (choices?.count ?? 0);
        const rows = lines.map((line) => `  ${line}`);
        return {
          title: shownRun.title,
          foot: shown.total > shown.height ? theme.paint('faint', `${how}${last} of ${shown.total}`) : '',
          below: shownRun.command,
          edgeRole: dialog?.kind === 'confirm' ? 'warning' : shownRun.state === 'failed' ? 'error' : undefined,
          width: room + 6,
          rows: [
            '',
            ...rows.slice(0, from),
            ...(choices
              ? [{ choices: lines.slice(from, to).map((line) => line.slice(1)), selected: choices.selected, width: room, indent: 2 }]
              : []),
            ...rows.slice(to),
            '',
          ],
          shown() {
            page = shown;
            isDrawn = true;
          },
        };
      },
      speak({ theme, state, width, nowMs }) {
        const { lines } = runScreen({ run: front(state), theme, keymap, room: width, height: 60, nowMs, drawn: false }, 0);
        const shown = () => {
          isDrawn = false;
        };
        return { lines: lines.filter(Boolean), shown };
      },
      // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one case for each kind of prompt and outcome
      footer({ state, of, drawn }) {
        const view = front(state);
        const { dialog } = view;
        if (dialog?.kind === 'confirm') {
          const { lenient, typed } = dialog.confirmation;
          if (lenient) return { items: [of('accept', 'yes')], always: [of('cancel', 'cancel')] };
          if (typed !== undefined) return { items: [of('accept', 'confirm')], always: [of('cancel', 'cancel')] };
          return { items: [of('yes', 'yes')], always: [of('no', 'no'), of('cancel', 'cancel')] };
        }
        if (dialog?.kind === 'question') {
          const { kind } = dialog.question;
          const items = kind === 'choice' || kind === 'several' ? [of('choice-down', 'move')] : [];
          return {
            items: kind === 'several' ? [...items, of('toggle', 'choose')] : items,
            always: [of('accept', 'continue'), of('cancel', 'cancel')],
          };
        }
        const ofCode = shownCode(view) ? [...(drawn ? [of('show-code', 'whole screen')] : []), of('save-code', 'save the QR code')] : [];
        if (isRunning(view)) return { items: ofCode, always: [of('hide-run', 'hide'), of('stop-run', 'cancel')] };
        const secret = view.shown.findLast((each) => each.kind === 'secret');
        if (secret) return { items: secret.value === '' ? [] : [of('copy-secret', 'copy'), ...ofCode], always: [of('accept', 'close')] };
        const items = view.shown.length > 0 ? [of('page-down', 'page'), of('page-up', 'page')] : [];
        return { items, always: [of('accept', 'close')] };
      },
      // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one case for each key, and which of them apply to this run
      press(press) {
        const view = front(store.get());
        const { dialog, id } = view;
        if (dialog?.kind === 'question' || dialog?.kind === 'confirm') {
          if (!scroll(view, press, ['page-down', 'page-up'])) runs.step(id, pressQuestion(dialog, press, is));
          return true;
        }
        if (pressSecret(parts, view, press)) return true;
        if (shownCode(view) && is(press, 'show-code')) runs.change(id, () => ({ codeAlone: isDrawn }));
        else if (isRunning(view)) {
          if (is(press, 'stop-run')) runs.stop(id);
          else if (is(press, 'hide-run') || is(press, 'show-run')) runs.change(id, () => ({ watch: 'hidden' }));
        } else if ((['accept', 'back', 'quit', 'cancel'] as const).some((command) => is(press, command))) runs.drop(id);
        else scroll(view, press);
        return true;
      },
      paste(text) {
        const { id, dialog } = front(store.get());
        if ((dialog?.kind !== 'question' && dialog?.kind !== 'confirm') || !typesText(dialog)) return false;
        const isSecret = dialog.kind === 'question' && dialog.question.kind === 'secret';
        runs.step(id, { change: { field: pasteInto(dialog.field, text, isSecret), problem: undefined } });
        return true;
      },
    };
  },
};

type Asked = Extract<Dialog, { kind: 'question' | 'confirm' }>;

function typesText(dialog: Asked): boolean {
  return dialog.kind === 'confirm' ? dialog.confirmation.typed !== undefined : !('choices' in dialog.question);
}

function pressQuestion(dialog: Asked, press: KeyPress, is: Keymap['is']): DialogStep {
  if (is(press, 'cancel')) return dialog.kind === 'confirm' ? { answer: false } : 'leave';
  if (dialog.kind === 'confirm') return pressConfirmation(dialog, press, is);
  if ('choices' in dialog.question) return pressChoices(dialog, press, is);
  if (!is(press, 'accept')) return typed(dialog, press);
  const problem = dialog.question.check?.(dialog.field.text);
  return problem ? { change: { problem } } : { answer: dialog.field.text };
}

function typed(dialog: Asked, press: KeyPress): DialogStep {
  const field = editField(dialog.field, press);
  return field && { change: { field, problem: undefined } };
}

function pressConfirmation(dialog: Extract<Dialog, { kind: 'confirm' }>, press: KeyPress, is: Keymap['is']): DialogStep {
  const { typed: word, lenient } = dialog.confirmation;
  if (word === undefined) {
    // A destructive action requires a key pressed on its own: one that came with others may have been meant for the previous screen, or was
    // pasted.
    const yes = is(press, 'yes') || (lenient && is(press, 'accept'));
    if (yes && !press.together) return { answer: true };
    return is(press, 'no') ? { answer: false } : undefined;
  }
  if (!is(press, 'accept')) return typed(dialog, press);
  return dialog.field.text === word ? { answer: true } : { change: { problem: `The text does not match "${word}".` } };
}

function pressChoices(dialog: Extract<Dialog, { kind: 'question' }>, press: KeyPress, is: Keymap['is']): DialogStep {
  const { question, cursor, picked } = dialog;
  if (!('choices' in question)) return undefined;
  const { choices, kind, check } = question;
  const step = is(press, 'choice-down') || press.name === 'j' ? 1 : is(press, 'choice-up') || press.name === 'k' ? -1 : 0;
  const amount = press.name === 'home' ? 'top' : press.name === 'end' ? 'bottom' : step;
  if (amount !== 0) return { change: { cursor: movedTo(cursor, choices.length, amount) } };
  const current = choices[cursor]?.value;
  if (current === undefined) return undefined;
  if (kind === 'several' && is(press, 'toggle')) {
    const next = new Set(picked);
    if (!next.delete(current)) next.add(current);
    return { change: { picked: next, problem: undefined } };
  }
  if (!is(press, 'accept')) return undefined;
  const chosen = kind === 'several' ? choices.map(({ value }) => value).filter((value) => picked.has(value)) : current;
  const problem = [chosen]
    .flat()
    .map((value) => check?.(value))
    .find(Boolean);
  return problem ? { change: { problem } } : { answer: chosen };
}

/** Handles the keys of a secret and its QR code, in the box of a run and on the whole screen. Returns false for other keys. */
export function pressSecret({ keymap, commands, now }: ConsoleParts, run: RunView, press: KeyPress): boolean {
  const { runs, copy } = commands;
  const secret = run.shown.findLast((shown) => shown.kind === 'secret');
  const shown = shownCode(run);
  if (secret && keymap.is(press, 'copy-secret')) {
    if (secret.value === '') runs.notice('off', 'The secret is masked again and was not copied.');
    else {
      copy(secret.value);
      runs.notice('ok', 'Copied.');
    }
  } else if (shown && keymap.is(press, 'save-code')) {
    runs.change(run.id, () => ({ codeAlone: false }));
    const flow = saveCode({ code: shown.code, label: shown.label, nowMs: now() });
    runs.start(flow, { engineName: run.engineName, words: [], options: {} });
  } else if (shown && keymap.is(press, 'swap-code')) runs.change(run.id, ({ codeSwapped }) => ({ codeSwapped: !codeSwapped }));
  else return false;
  return true;
}
