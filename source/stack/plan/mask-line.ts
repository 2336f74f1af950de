const mask = '••••••';
const telling =
  /pass(?:word|wd|phrase)?|secret|token|credential|api_?key|private_?key|encryption_?key|salt|key_?seed|_seed|_key$|master_?key/i;
const assignment = /^(\s*(?:-\s*)?(?:export\s+)?["']?)([A-Za-z_][\w.-]*)(["']?\s*[:=]\s*)(["']?)(.*?)(["']?\s*,?\s*)$/;
const userInfo = /([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)([^\s@/]+)(@)/gi;

/**
 * Masks possible secrets in a line of a configuration file: values whose name suggests a secret, and passwords in addresses. Variables of
 * compose (`${ADMIN_TOKEN:?…}`), paths, switches and references to the environment reveal no secret and stay.
 */
export function maskLine(line: string): string {
  const hidden = line.replaceAll(userInfo, (whole, start: string, password: string, end: string) =>
    isHarmless(password) ? whole : `${start}${mask}${end}`,
  );
  const found = assignment.exec(hidden);
  if (!found) return hidden;
  const [, indent = '', name = '', separator = '', open = '', value = '', close = ''] = found;
  if (!telling.test(name) || isHarmless(value)) return hidden;
  return `${indent}${name}${separator}${open}${mask}${close}`;
}

function isHarmless(value: string): boolean {
  return (
    value === '' ||
    value === mask ||
    /^\$?\$\{[^}]*\}?$/.test(value) ||
    /^(?:true|false|null|yes|no|\d{1,6}|[|>][+-]?|[{[].*)$/i.test(value) ||
    /^(?:\/|\.{1,2}\/)[\w./-]*$/.test(value) ||
    /^os\.environ\/\w+$/.test(value) ||
    /^\{\{.*\}\}$/.test(value)
  );
}
