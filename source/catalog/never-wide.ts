/** Marked "(loopback)" in the specification although similar ones are published wide: component to default host port (R8). */
export const neverWide: Readonly<Record<string, number>> = {
  siem: 55000,
  'tunnel-server-ui': 51821,
  'proxy-manager': 81,
  'dynamic-proxy': 8080,
  'load-balancer': 9000,
};
