import { copy } from './copy.ts';
import { deploy } from './deploy.ts';
import { diskUsage } from './disk-usage.ts';
import { exec } from './exec.ts';
import type { Flow } from './flow.ts';
import { pause, unpause } from './pause.ts';
import { prune } from './prune.ts';
import { remove } from './remove.ts';
import { restart } from './restart.ts';
import { shell } from './shell.ts';
import { start } from './start.ts';
import { stop } from './stop.ts';

/** Every flow there is, in the order of the help. Verbs, palette, help and rights are made of this; nothing else names a flow. */
export const flows: readonly Flow[] = [deploy, start, stop, restart, pause, unpause, remove, shell, exec, copy, diskUsage, prune];
