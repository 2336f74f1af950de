import { z } from 'zod';
import { chainStages } from './chain-stages.ts';
import { databaseProgram, databasePrograms } from './database-programs.ts';
import { fieldTypes } from './field-types.ts';
import { generatorPattern } from './generators.ts';
import { groups } from './groups.ts';
import { stateId } from './state.ts';

/**
 * The shape of `component.yaml`. Facts that a compose file can express (images, ports, volumes, environment) are only in `compose.yaml`;
 * here they are annotated by name. The source of a built-in fact is in `provenance.yaml`, which only `test/catalog/` reads. Emitted as JSON
 * Schema for editors. What each property means is in `schema-descriptions.yaml`.
 */

const name = z.string().regex(/^[a-z][a-z0-9-]*$/, 'use lowercase letters, digits and hyphens, starting with a letter');
const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'use upper case letters, digits and underscores, starting with a letter');
const lasting = (units: string, example: string) => {
  const words = units.replaceAll('|', ', ').replace(/, (?=\w+$)/, ' or ');
  return z.string().regex(new RegExp(`^\\d+(${units})$`), `use a number followed by ${words}, such as ${example}`);
};
/** `512MB`, `4GB`: powers of 1024. */
const size = z.string().regex(/^\d+(MB|GB)$/, 'use a number followed by MB or GB, such as 512MB');
const texts = z.array(z.string()).default([]);
const entries = <S extends z.core.$ZodLooseShape>(shape: S) => z.array(z.strictObject(shape)).default([]);
const named = <S extends z.core.$ZodLooseShape>(shape: S) => z.record(z.string(), z.strictObject(shape)).default({});

const port = z.strictObject({
  service: z.string().optional(),
  role: z.string(),
  exposure: z.enum(['loopback', 'all', 'host-network']),
  fixed: z.boolean().default(false),
  web: z.boolean().default(false),
  tls: z.boolean().default(false),
  number: z.number().int().min(1).max(65535).optional(),
  protocol: z.enum(['tcp', 'udp']).optional(),
  container: z.number().int().min(1).max(65535).optional(),
});

const secretProgram = (part: 'rotate' | 'verify') =>
  z.union([
    z.strictObject({ service: z.string(), argv: z.array(z.string()).min(1) }),
    z
      .strictObject({ service: z.string(), program: z.enum(databasePrograms) })
      .transform(({ service, program }) => ({ service, ...databaseProgram(program, part) })),
  ]);

const field = z.strictObject({
  name: z.string().min(1),
  label: z.string().min(1).optional(),
  type: z.enum(fieldTypes),
  secret: z.boolean().default(false),
  required: z.boolean().default(false),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  generator: z.string().regex(generatorPattern, 'use base64:48 or hex:16 (bytes), alphanumeric:32 (characters) or uuid').optional(),
  enum: z.array(z.string()).min(1).optional(),
  pattern: z.string().optional(),
  length: z.number().int().positive().optional(),
  excludes: texts,
  rule: z.string().optional(),
  description: z.string().optional(),
  target: z.enum(['environment', 'config', 'command', 'credential', 'proxy']),
  audience: z.enum(['container', 'browser', 'internet', 'listen']).optional(),
  setupOnly: z.array(z.string()).optional(),
  rotate: z.union([z.strictObject({ never: z.string().min(1) }), secretProgram('rotate')]).optional(),
  verify: z
    .union([
      z.strictObject({ call: z.string(), input: z.string(), with: z.record(z.string(), z.string()).default({}) }),
      secretProgram('verify'),
    ])
    .optional(),
  sameAs: z.array(z.string().regex(/^[a-z][a-z0-9-]*\/\S+$/, 'use component/VARIABLE')).optional(),
  validFor: lasting('s|m|h', '30s').optional(),
  env: variable.optional(),
});

/** CEL. Variables: see `calls/conditions.ts`. */
const condition = z.string().min(1);

const input = z.strictObject({
  type: z.enum(fieldTypes),
  description: z.string(),
  required: z.boolean().default(true),
  secret: z.boolean().default(false),
  file: z.boolean().default(false),
  languageModel: z.boolean().default(false),
  field: z.string().optional(),
});

const http = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'LIST', 'PROPFIND', 'MKCOL', 'COPY', 'MOVE', 'LOCK']),
  port: z.string(),
  path: z.string().startsWith('/'),
  query: z.record(z.string(), z.string()).default({}),
  always: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  publicUrl: variable.optional(),
  basic: z.strictObject({ user: z.string(), password: z.string() }).optional(),
  json: z.unknown().optional(),
  form: z.record(z.string(), z.string()).optional(),
  multipart: z.record(z.string(), z.string()).optional(),
  text: z.string().optional(),
  expect: z.array(z.number().int()).optional(),
});

const call = z
  .strictObject({
    title: z.string(),
    reads: z.boolean().default(false),
    auth: z.string().default('none'),
    limit: lasting('ms|s|m', '10s').default('3s'),
    keep: lasting('s|m|h', '30s').default('0s'),
    inputs: z.record(z.string(), input).default({}),
    gives: z.record(z.string(), z.string()).optional(),
    error: condition.optional(),
    http: http.optional(),
    exec: z
      .strictObject({ service: z.string(), user: z.string().optional(), argv: z.array(z.string()).min(1), stdin: z.string().optional() })
      .optional(),
    tcp: z.strictObject({ port: z.string() }).optional(),
    file: z.strictObject({ service: z.string(), path: z.string().startsWith('/') }).optional(),
    engine: z.strictObject({ service: z.string() }).optional(),
    endpoint: z.boolean().default(false),
    response: z.string().optional(),
    note: z.string().optional(),
  })
  .refine((value) => [value.http, value.exec, value.tcp, value.file, value.engine].filter(Boolean).length === 1, {
    message: 'a call must have exactly one of http, exec, tcp, file and engine',
  });

/** Text in which `{CEL}` is replaced by its value. */
const template = z.string();
const severity = z.enum(['ok', 'busy', 'warning', 'error', 'off']);

const probedState = z
  .strictObject({
    when: condition,
    state: template,
    id: name.optional(),
    severity,
    detail: template.default(''),
  })
  .refine(({ state, id }) => id !== undefined || stateId(state) !== '', {
    message: 'a state that consists only of placeholders requires an id',
    path: ['id'],
  });

const probe = z.strictObject({
  call: z.string(),
  also: texts,
  every: lasting('s|m', '30s').optional(),
  version: condition.optional(),
  defaults: z.boolean().default(true),
  states: z.array(probedState).min(1),
  withCredentials: texts,
  status: entries({ when: condition.default('true'), text: template }),
});

const checks = entries({
  id: name,
  when: condition,
  calls: texts,
  level: z.enum(['error', 'warning', 'notice']),
  message: template,
  remedy: template,
  run: name.optional(),
});

const operations = entries({
  id: name,
  title: z.string(),
  call: z.string(),
  right: z.enum(['read', 'reveal', 'operate', 'destroy']),
  consequences: texts,
});

const backupItem = z
  .strictObject({
    id: name,
    volume: z.string().min(1),
    method: z.enum(['dump', 'copy', 'pause', 'stop', 'skip']),
    service: z.string().optional(),
    program: z.enum(databasePrograms).optional(),
    dump: z.array(z.string()).min(1).optional(),
    restore: z.array(z.string()).min(1).optional(),
    with: texts,
    exclude: z.array(z.string().regex(/^[^/]/, 'use a path relative to the mount')).default([]),
    why: z.string().optional(),
  })
  .refine(
    ({ method, program, dump, restore }) => {
      const written = dump !== undefined && restore !== undefined;
      const none = dump === undefined && restore === undefined;
      return method === 'dump' ? (program !== undefined ? none : written) : none && program === undefined;
    },
    { message: 'method: dump requires dump and restore, or program; other methods allow none of these' },
  )
  .refine(({ method, why }) => method !== 'skip' || why !== undefined, { message: 'method: skip requires why' })
  .transform(({ program, ...item }) => ({
    ...item,
    ...(program && { dump: databaseProgram(program, 'dump').argv, restore: databaseProgram(program, 'restore').argv }),
  }));

export const componentSchema = z.strictObject({
  id: name,
  group: z.enum(groups),
  kind: z.string().min(1),
  keywords: z.array(z.string().min(1)).default([]),
  deploy: z.enum(['compose', 'embedded', 'host', 'config', 'cluster', 'external']),
  image: z.string().optional(),
  product: z.strictObject({
    name: z.string(),
    alternatives: entries({ name: z.string(), image: z.string().optional() }),
    homepage: z.url().optional(),
  }),
  services: named({
    main: z.boolean().default(false),
    role: z.string(),
    oneShot: z.boolean().default(false),
    optional: z.boolean().default(false),
    tagReason: z.string().optional(),
    irreplaceable: z.string().min(1).optional(),
    architectures: z.array(z.enum(['amd64', 'arm64', 'arm', '386', 'riscv64', 'ppc64le', 's390x'])).optional(),
    images: texts,
  }),
  ports: z.record(name, port).default({}),
  fields: z.array(field).default([]),
  oneOf: z.array(z.array(z.string()).min(2)).default([]),
  volumes: named({
    description: z.string(),
    content: z.enum(['downloads', 'library']).optional(),
  }),
  configFile: z
    .strictObject({
      path: z.string(),
      form: z.string(),
      format: z.enum(['yaml', 'json', 'kea-json', 'properties', 'hcl', 'wg-quick']).optional(),
      documents: z.enum(['first', 'each']).optional(),
      anyCase: z.boolean().optional(),
      emptyIsUnset: z.boolean().optional(),
      templates: z.enum(['go']).optional(),
      schema: z
        .string()
        .regex(/^[\w.-]+\.json$/, 'use the name of a .json file in this folder')
        .optional(),
      rules: entries({
        id: name,
        when: condition,
        at: z.array(z.union([z.string(), z.number().int()])).default([]),
        message: z.string(),
        remedy: z.string(),
        level: z.enum(['error', 'warning', 'deployed']).default('error'),
      }),
      verify: z
        .strictObject({
          service: z.string(),
          argv: z.array(z.string()).min(1),
          problem: z.string().optional(),
        })
        .optional(),
    })
    .optional(),
  websocket: z.boolean().default(false),
  sensitive: z.boolean().optional(),
  needs: z.strictObject({ memory: size.optional(), disk: size.optional() }).optional(),
  provides: z
    .record(name, z.strictObject({ port: name, scheme: z.string().regex(/^[a-z][a-z0-9+.-]*$/, 'use a URL scheme, such as http') }))
    .optional(),
  uses: z
    .array(z.strictObject({ component: name, what: name, field: z.string().optional(), services: z.array(z.string()).min(1).optional() }))
    .optional(),
  chain: entries({ stage: z.enum(chainStages), does: z.string().min(1), optional: z.boolean().default(false) }),
  site: z
    .strictObject({
      port: name.optional(),
      routes: entries({
        path: z.string().regex(/^\/[\w./-]*\*?$/, 'use a path, such as /api/*'),
        port: name,
        otherwise: name.optional(),
      }),
      names: entries({ field: z.string(), port: name, suggest: name.optional() }),
      portal: z.string().optional(),
    })
    .optional(),
  api: z
    .strictObject({
      name: z.enum(['vault', 'headscale', 'crowdsec', 'authelia', 'vaultwarden', 'oidc', 'ldap', 'step-ca', 'wg-easy', 'gluetun', 's3']),
      port: name.optional(),
      service: name.optional(),
      keys: z.strictObject({ access: z.string(), secret: z.string() }).optional(),
    })
    .optional(),
  auth: z.string().default('none'),
  calls: z.record(name, call).default({}),
  probe: probe.optional(),
  operations,
  checks,
  transitions: entries({
    from: z.string(),
    trigger: z.string(),
    condition: z.string().optional(),
    to: z.string(),
    also: z.string().optional(),
  }),
  limits: entries({ item: z.string(), value: z.string(), kind: z.enum(['stated', 'example', 'suggested', 'guidance']) }),
  cli: texts,
  objects: entries({
    name: z.string(),
    fields: entries({
      name: z.string(),
      type: z.string(),
      required: z.boolean().default(false),
      secret: z.boolean().default(false),
      rule: z.string().optional(),
    }),
    note: z.string().optional(),
  }),
  errors: entries({ condition: z.string(), outcome: z.string(), check: z.string().optional() }),
  events: texts,
  beforeStart: entries({
    id: name,
    files: z.array(z.string().min(1)).min(1),
    message: z.string(),
    remedy: z.string(),
    flow: z
      .strictObject({ id: name, title: z.string(), options: z.record(z.string(), z.union([z.string(), z.boolean()])).default({}) })
      .optional(),
  }),
  firstRun: entries({
    id: name,
    title: z.string(),
    detail: z.string().default(''),
    done: condition.optional(),
    bySite: z.boolean().optional(),
    page: z.string().startsWith('/').optional(),
    urgent: z.boolean().default(false),
  }),
  upgrade: z
    .strictObject({
      rollback: z.enum(['safe', 'unsafe']).default('unsafe'),
      steps: z.array(z.union([z.string(), z.strictObject({ after: z.string() })])).default([]),
      notes: texts,
    })
    .optional(),
  backup: z.array(backupItem).default([]),
  dependsOn: z.array(name).default([]),
  notes: texts,
  justifies: z.record(z.string(), z.string().min(1)).default({}),
});

export type Component = z.output<typeof componentSchema>;
export type ComponentCall = z.output<typeof call>;
export type BackupItem = z.output<typeof backupItem>;
export type ComponentField = z.output<typeof field>;
