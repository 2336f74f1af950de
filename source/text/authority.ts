export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

export function authority({ host, port }: { host: string; port: number }): string {
  return `${urlHost(host)}:${port}`;
}
