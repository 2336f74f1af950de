import { readEnv } from './env-file.ts';
import type { FileChange } from './model.ts';
import type { PlanRequest } from './plan.ts';
import { hashOf } from './read-deployment.ts';
import { renderComponent } from './render.ts';

export interface PlannedFiles {
  files: readonly FileChange[];
  notes: readonly string[];
  /** As they will stand there. */
  compose: string;
  env: string;
  /** Below `files/`, by path. */
  texts: Readonly<Record<string, string>>;
}

/**
 * What the component's folder will hold. A file that was changed by hand, or with `edit`, is the operator's: compose.yaml then gets only what has to change,
 * `.env` only the lines of the changed values, and configuration files stay as they are, unless `fresh` gives them up.
 */
export function planFiles(request: PlanRequest): PlannedFiles {
  const { entry, source, answers, deployment, edited = {}, fresh } = request;
  const { id } = entry;
  const notes: string[] = [];
  const record = deployment?.record;
  const touched = (path: string, text: string) =>
    record !== undefined && record.files[`${id}/${path}`] !== undefined && record.files[`${id}/${path}`] !== hashOf(text);
  const owned = (path: string, text: string | undefined) =>
    text !== undefined &&
    (record === undefined ||
      record.files[`${id}/${path}`] === undefined ||
      touched(path, text) ||
      record.edited?.includes(`${id}/${path}`) === true);
  const keepsCompose = deployment !== undefined && owned('compose.yaml', deployment.compose) && fresh !== true;
  const baseCompose = edited['compose.yaml'] ?? (keepsCompose ? deployment.compose : undefined);
  const baseEnv = edited['.env'] ?? (deployment && deployment.envText !== '' ? deployment.envText : undefined);
  const rendered = renderComponent(entry, source, answers, {
    runtime: request.runtime,
    tool: request.tool,
    networks: request.networks,
    ...(request.pins && { pins: request.pins }),
    ...(request.authUrl !== undefined && { authUrl: request.authUrl }),
    base: {
      ...(baseCompose !== undefined && { compose: baseCompose, file: `${request.stackFolder}/${id}/compose.yaml` }),
      ...(baseEnv !== undefined && { env: baseEnv }),
    },
  });

  const changes: FileChange[] = [];
  const add = (path: string, before: string | undefined, after: string) => {
    const byHand = before !== undefined && touched(path, before);
    const stays = before !== undefined && path !== '.env' && owned(path, before) && fresh !== true;
    const own = edited[path] !== undefined || stays;
    changes.push({
      path: `${id}/${path}`,
      before,
      after,
      mode: path === '.env' ? 0o600 : 0o644,
      touched: byHand,
      ...(own && { edited: true }),
    });
    if (edited[path] !== undefined || before === undefined || record === undefined || !owned(path, before)) return;
    if (before === after) notes.push(`${id}/${path} was changed by hand: it stays as it is.`);
    else if (fresh) notes.push(`${id}/${path} was changed by hand: those changes are given up.`);
    else notes.push(`${id}/${path} was changed by hand: only what has to change is changed.`);
  };
  add('compose.yaml', deployment?.compose, rendered.compose);
  const envBefore = deployment && deployment.envText !== '' ? deployment.envText : undefined;
  const isNeeded = Object.keys(answers.values).length > 0 || Object.keys(readEnv(rendered.env).values).length > 0;
  if (envBefore !== undefined || isNeeded || edited['.env'] !== undefined) add('.env', envBefore, rendered.env);
  const texts: Record<string, string> = { ...deployment?.files };
  for (const [path, text] of Object.entries({ ...rendered.files, ...pickFiles(edited) })) {
    const before = deployment?.files[path];
    const after = edited[path] ?? (before !== undefined && owned(path, before) && !fresh ? before : text);
    texts[path] = after;
    add(path, before, after);
  }
  if (record && !fresh) {
    const gone = Object.keys(record.files).filter(
      (path) => path.startsWith(`${id}/files/`) && rendered.files[path.slice(id.length + 1)] === undefined,
    );
    for (const path of gone) {
      const inner = path.slice(id.length + 1);
      const before = deployment?.files[inner];
      if (before === undefined || edited[inner] !== undefined || owned(inner, before)) continue;
      delete texts[inner];
      changes.push({ path, before, after: undefined, mode: 0o644, touched: false });
    }
  }
  return { files: changes, notes, compose: rendered.compose, env: rendered.env, texts };
}

function pickFiles(edited: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(edited).filter(([path]) => path.startsWith('files/')));
}
