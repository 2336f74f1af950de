/** Who refuses a compose file: nobody, docker-compose 1.29 alone, or each compose program that looks at the form at all. */
export type Refusal = 'nobody' | 'the older' | 'all';

interface ShapeCase {
  /** What stands in the service, or at the top of the file. */
  written: string;
  refusal: Refusal;
  /** What is told of it, where that is more than a refusal. */
  reported?: RegExp;
}

/** Put into a service, at the place of its restart policy where they have one. */
export const inService: readonly ShapeCase[] = [
  { written: 'healthcheck: {test: [CMD, "true"], interval: 5s, retries: 3}', refusal: 'nobody' },
  {
    written: 'healthcheck: {test: [CMD, "true"], start_interval: 2s}',
    refusal: 'the older',
    reported: /does not support "start_interval" here\. Remove it/,
  },
  {
    written: 'healthcheck: {test: [CMD, "true"], intervall: 2s}',
    refusal: 'all',
    reported: /because of the unknown key "intervall"\. Did you mean "interval"\?/,
  },
  { written: 'healthcheck: {test: [CMD, sleep, 5]}', refusal: 'all', reported: /^"test\[2\]" must be text, .* Quote it: "5"\./ },
  {
    written: 'healthcheck:',
    refusal: 'all',
    reported: /^"healthcheck" is empty, so compose rejects the whole file\. Set a value, or remove/,
  },
  { written: 'labels:', refusal: 'all' },
  { written: 'labels: {a: true, b: 1}', refusal: 'nobody' },
  { written: 'environment:', refusal: 'all' },
  { written: 'volumes:', refusal: 'all' },
  { written: 'command: [sleep, 60]', refusal: 'all' },
  { written: 'command: []', refusal: 'nobody' },
  { written: 'command:', refusal: 'the older', reported: /does not allow an empty value here\. Remove the line/ },
  {
    written: 'user: 1000',
    refusal: 'all',
    reported: /^"user" must be text, or compose rejects the whole file\. Quote it: "1000"\./,
  },
  { written: 'user: "${OWNER:-1000}"', refusal: 'nobody' },
  { written: 'ports: [{target: 80, published: "${WEB_PORT:-8300}"}]', refusal: 'nobody' },
  {
    written: 'ports: [{target: 80, published: 8300, host_ip: 127.0.0.1}]',
    refusal: 'the older',
    reported: /"host_ip" here\. Use the short form: "\$\{WEB_BIND/,
  },
  { written: 'ports: [{target: 80, published: "8300-8301"}]', refusal: 'the older', reported: /does not allow "8300-8301" here/ },
  { written: 'ports: [{target: 80, published: 8300, name: web}]', refusal: 'the older' },
  { written: 'depends_on: {other: {condition: service_started}}', refusal: 'nobody' },
  { written: 'depends_on: {other: {condition: service_started, required: false}}', refusal: 'the older' },
  { written: 'depends_on: {other: {condition: service_started, restart: true}}', refusal: 'the older' },
  { written: 'depends_on: {other: {}}', refusal: 'all', reported: /^"condition" is missing,/ },
  { written: 'env_file: [./files/a.env]', refusal: 'nobody' },
  {
    written: 'env_file: [{path: ./files/a.env, required: false}]',
    refusal: 'the older',
    reported: /and podman-compose 1\.0\.3 fails\. Use only the path/,
  },
  {
    written: 'develop: {watch: [{path: ., action: rebuild}]}',
    refusal: 'the older',
    reported: /Remove develop, because images are not built/,
  },
  { written: 'gpus: all', refusal: 'the older', reported: /and podman-compose 1\.0\.3 ignores gpus\./ },
  { written: 'annotations: {a: b}', refusal: 'the older' },
  { written: 'uts: host', refusal: 'the older' },
  { written: 'attach: false', refusal: 'the older' },
  { written: 'post_start: [{command: "true"}]', refusal: 'the older' },
  { written: 'pull_policy: always', refusal: 'nobody' },
  {
    written: 'pull_policy: missing',
    refusal: 'the older',
    reported: /does not allow "missing" here\. Use always, never or if_not_present\./,
  },
  { written: 'deploy: {resources: {limits: {memory: 1G, cpus: 0.5}}}', refusal: 'nobody' },
  { written: 'deploy: {resources: {limits: {memory: 1000000}}}', refusal: 'all' },
  { written: 'deploy: {resources: {limits: {pids: 10}}}', refusal: 'the older' },
  { written: 'volumes: [{type: bind, source: /srv, target: /data, bind: {create_host_path: false}}]', refusal: 'the older' },
  {
    written: 'volumes: [{type: volume, source: data, target: /data, volume: {subpath: a}}]',
    refusal: 'the older',
    reported: /mounts the whole volume/,
  },
  { written: 'volumes: [{type: tmpfs, target: /t, tmpfs: {size: 64m}}]', refusal: 'nobody' },
  { written: 'volumes: [{source: data, target: /data}]', refusal: 'all', reported: /^"type" is missing,/ },
  { written: 'networks: {default: {aliases: [a]}}', refusal: 'nobody' },
  { written: 'networks: {default: {mac_address: "02:42:ac:11:65:43"}}', refusal: 'the older' },
  { written: 'sysctls: {net.ipv4.ip_forward: 1}', refusal: 'nobody' },
  { written: 'sysctls: {net.ipv4.ip_forward: true}', refusal: 'the older' },
  { written: 'extra_hosts: {a: [192.0.2.1, 192.0.2.2]}', refusal: 'the older' },
  { written: 'devices: [{source: /dev/a, target: /dev/b}]', refusal: 'the older', reported: /does not allow a map here/ },
  { written: 'ulimits: {nofile: "100", core: {soft: 1, hard: 2}}', refusal: 'nobody' },
  { written: 'ulimits: {nofile: {soft: 100}}', refusal: 'all' },
  { written: 'cap_add: [NET_ADMIN, NET_ADMIN]', refusal: 'the older', reported: /duplicate entry/ },
  { written: 'logging: {driver: json-file, option: {max-size: 10m}}', refusal: 'all' },
  { written: 'stop_signal: 2', refusal: 'all' },
  { written: 'init: true', refusal: 'nobody' },
  {
    written: 'hostname: "${OWNER:+a}"',
    refusal: 'the older',
    reported: /because of \$\{OWNER:\+\.\.\.\}, and podman-compose 1\.0\.3 leaves it unchanged/,
  },
];

/** Put below the services. */
export const atTop: readonly ShapeCase[] = [
  {
    written: 'name: notes',
    refusal: 'the older',
    reported: /does not support "name" here\. Remove name, because the project is named after the component/,
  },
  { written: 'networks: {default: {internal: true}}', refusal: 'nobody' },
  { written: 'networks: {default: {enable_ipv4: true}}', refusal: 'the older' },
  { written: 'networks:', refusal: 'all' },
  { written: 'volumes: {data: {drivr: local}}', refusal: 'all' },
  { written: 'volumes: {data: {driver_opts: {o: true}}}', refusal: 'all' },
  { written: 'secrets: {pw: {environment: OWNER}}', refusal: 'the older' },
  { written: 'configs: {c: {content: hello}}', refusal: 'the older' },
];

/** The smallest file that has it. */
export function shapeFile({ written }: ShapeCase, top: boolean): string {
  const volumes = top && written.startsWith('volumes') ? '' : 'volumes:\n  data: {}\n';
  const service = `services:\n  app:\n    image: notes/notes:latest\n    restart: unless-stopped\n${top ? '' : `    ${written}\n`}`;
  return `${service}  other:\n    image: postgres:16-alpine\n    restart: unless-stopped\n${volumes}${top ? `${written}\n` : ''}`;
}
