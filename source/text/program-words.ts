/** Reduces a Python traceback (docker-compose 1.29, podman-compose) to its last reason, and ids to twelve digits. */
export function plainWords(text: string): string {
  return withoutTracebacks(text).replace(/(@sha256:)?\b[0-9a-f]{64}\b/g, (id, pins?: string) => (pins ? id : id.slice(0, 12)));
}

const traceback = 'Traceback (most recent call last):';
const chained = /^(?:During handling of the above exception|The above exception was the direct cause)/;

function withoutTracebacks(text: string): string {
  if (!text.includes(traceback)) return text;
  const kept: string[] = [];
  let within = false;
  let reasonAt: number | undefined;
  for (const line of text.split('\n')) {
    if (line.startsWith(traceback)) within = true;
    else if (within) {
      if (line === '' || /^\s/.test(line)) continue;
      within = false;
      reasonAt = kept.length;
      kept.push(reasonIn(line));
    } else if (reasonAt !== undefined && chained.test(line)) {
      kept.length = reasonAt;
      within = true;
    } else if (!/^\[\d+\] Failed to execute script /.test(line)) kept.push(line);
  }
  return kept.join('\n');
}

function reasonIn(line: string): string {
  return line
    .replace(/^[\w.]+: /, '')
    .replace(/\b\w+\(\d+, ('|")(.*?)\1\)/g, '$2')
    .replace(/\[Errno \d+\] /g, '');
}
