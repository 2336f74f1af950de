import { createHash } from 'node:crypto';
import type { ComposeTool } from '../../engine/compose-tool.ts';
import { cleanLine } from '../../text/clean.ts';
import { lockScript } from './lock-script.ts';
import { answerScript, composeFilesScript, composeScript, filesScript, journalScript } from './script-parts.ts';
import { applySteps, exportsOf, planFunctions, secretFunctions, stageLines, undoSteps } from './script-steps.ts';
import { plainName, shellCommand, shellWord } from './shell.ts';
import type { Transaction } from './transaction.ts';

/** Values by component and variable of its compose file. Never written to a file. */
export type SecretValues = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface ScriptOptions {
  /** `apply` starts or resumes a run: completed steps of its journal are skipped. `undo` undoes it. */
  mode: 'apply' | 'undo';
  secrets: SecretValues;
  /** compose.yaml by component, as it will be when compose runs: for podman-compose it states which secrets each service needs. */
  composeTexts: Readonly<Record<string, string>>;
  /** Text of `.quarterdeck/components/<id>.json`, by component; without a text the file is deleted. */
  records: Readonly<Record<string, string>>;
  /** Number of lines of the run's journal when this was planned: a different number means that another process has continued the run. */
  seenLines: number;
  /**
   * For `undo`: components whose files may have been changed, those among them that have to be brought up or down again, and compose files
   * with the old images pinned. Unchanged files must not be touched: before everything is staged there is no copy to restore them from.
   */
  undo?: { touched: ReadonlySet<string>; started: ReadonlySet<string>; pinned: Readonly<Record<string, string>> };
  stepLimitSeconds?: number;
}

/** A vulnerability scanner that loads its feeds before it is healthy takes half an hour. */
const defaultStepLimitSeconds = 3600;
const keptRuns = 50;

export const runFolder = (stackFolder: string, run: string): string => `${stackFolder}/.quarterdeck/runs/${run}`;

/**
 * Returns one POSIX script for `sh -s` that applies or undoes a transaction, detached from the process that started it. It contains the
 * secrets: it is only passed on stdin. A truncated script does nothing at all. It answers with one line, `started`, `locked`, `changed` or
 * `failed REASON`, once the lock is acquired and everything is staged.
 */
export function scriptOf(transaction: Transaction, tool: ComposeTool, options: ScriptOptions): string {
  const inner = innerScript(transaction, tool, options);
  return `qd_launch() {
qd_inner=${shellWord(inner)}
case $(command -v printf) in /*) printf '%s\\n' 'failed the shell has no built-in printf'; return 1 ;; esac
qd_detach=nohup
if command -v setsid >/dev/null 2>&1; then qd_detach=setsid; fi
{ printf '%s\\n' "$qd_inner" | "$qd_detach" sh -s & } | { read -r qd_line; printf '%s\\n' "$qd_line"; }
}
qd_launch
`;
}

function innerScript(transaction: Transaction, tool: ComposeTool, options: ScriptOptions): string {
  const { plans } = transaction;
  const stackFolder = plans[0]?.stackFolder;
  if (stackFolder === undefined || !stackFolder.startsWith('/') || plans.some((plan) => plan.stackFolder !== stackFolder))
    throw new TypeError('a transaction has plans, all for one stack');
  const components = [...new Set(plans.flatMap((plan) => [plan.component, ...plan.after.map(({ component }) => component)]))];
  const number = (component: string) => components.indexOf(component);
  // Unique to this stack: files of this name that exist while its lock is held were left by a dead script.
  const secretsFolder = `quarterdeck-${createHash('sha256').update(stackFolder).digest('hex').slice(0, 16)}`;
  return `umask 077
qd_stack=${shellWord(stackFolder)}
qd_own=$qd_stack/.quarterdeck
qd_run=${shellWord(plainName(transaction.run))}
qd_folder=$qd_own/runs/$qd_run
qd_by=${shellWord(cleanLine(transaction.by))}
qd_secrets_name=${secretsFolder}
qd_step_limit=${Math.ceil(options.stepLimitSeconds ?? defaultStepLimitSeconds)}
qd_locked= qd_child= qd_secrets_at= qd_name= qd_why=
${answerScript}${lockScript}${journalScript}${filesScript}${composeFilesScript}${composeScript}
qd_tool() { qd_files; exec $qd_limit ${shellCommand(tool.argv)} -f compose.yaml $qd_override_ "$@"; }
qd_reach() {
:
${exportsOf(tool.env)}
}
${components.map((component) => secretFunctions(component, number(component), tool, options)).join('')}
${plans.map((plan, index) => planFunctions(plan, index, number(plan.component), tool, options)).join('')}
qd_stage() {
rm -rf "$qd_folder/before" "$qd_folder/after" && mkdir "$qd_folder/before" "$qd_folder/after" || return 1
${plans.flatMap((plan) => stageLines(plan, options)).join('\n')}
dd if=/dev/zero of="$qd_folder/reserve" bs=1024 count=16 2>/dev/null
}
qd_open() {
mkdir -p "$qd_own/runs" "$qd_own/components" || qd_refuse 'its folder cannot be made'
chmod 700 "$qd_own"
qd_lock
for qd_left in "$qd_own"/runs/*; do
[ ! -d "$qd_left" ] || [ -f "$qd_left/transaction.json" ] || rm -rf "$qd_left"
done
qd_drop_secrets
if [ ! -d "$qd_folder" ]; then
mkdir "$qd_folder" && qd_write "$qd_folder/transaction.json" 600 ${shellWord(`${JSON.stringify(transaction)}\n`)} || { rm -rf "$qd_folder"; qd_refuse 'the run cannot be written'; }
fi
qd_mend_journal
qd_read_journal
[ "$qd_seen" = ${options.seenLines} ] || { qd_leave; qd_answer changed; exit 1; }
}
qd_main() {
trap '' HUP
trap qd_stop TERM INT
qd_open
${options.mode === 'apply' ? 'qd_step stage qd_quietly qd_stage' : 'qd_entry undo begun || qd_refuse "the journal cannot be written"'}
: >>"$qd_folder/output.log" || qd_refuse 'the log cannot be written'
qd_answer started
exec </dev/null >>"$qd_folder/output.log" 2>&1
${(options.mode === 'apply' ? applySteps(plans, number) : undoSteps(plans, number, options)).join('\n')}
rm -f "$qd_folder/reserve"
set -- "$qd_own"/runs/*
while [ $# -gt ${keptRuns} ]; do rm -rf "$1"; shift; done
qd_leave
exit 0
}
qd_main`;
}
