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
 * Schema for editors.
 */

const name = z.string().regex(/^[a-z][a-z0-9-]*$/, 'use lower case letters, digits and dashes, starting with a letter');
const variable = z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'use capital letters, digits and underscores, starting with a letter');
const lasting = (units: string, example: string) => {
  const words = units.replaceAll('|', ', ').replace(/, (?=\w+$)/, ' or ');
  return z.string().regex(new RegExp(`^\\d+(${units})$`), `write a number and ${words}, such as ${example}`);
};
/** `512MB`, `4GB`: powers of 1024. */
const size = z.string().regex(/^\d+(MB|GB)$/, 'use a number and MB or GB');
const texts = z.array(z.string()).default([]);
const entries = <S extends z.core.$ZodLooseShape>(shape: S) => z.array(z.strictObject(shape)).default([]);
const named = <S extends z.core.$ZodLooseShape>(shape: S) => z.record(z.string(), z.strictObject(shape)).default({});

const port = z.strictObject({
  /** The service in compose.yaml, if several publish under this name. */
  service: z.string().optional(),
  role: z.string(),
  exposure: z.enum(['loopback', 'all', 'host-network']),
  /** Protocol-fixed ports are refused, not remapped (port-conflicts.md). */
  fixed: z.boolean().default(false),
  web: z.boolean().default(false),
  tls: z.boolean().default(false),
  /** A port of a `network_mode: host` service, which compose.yaml cannot publish. */
  number: z.number().int().min(1).max(65535).optional(),
  protocol: z.enum(['tcp', 'udp']).optional(),
  /** The container port, if compose.yaml publishes it without a variable that names it. */
  container: z.number().int().min(1).max(65535).optional(),
});

/** Reads a secret and a line feed from stdin, never from its arguments. `mysql` is for MariaDB too, `mysql-root` for its administrator. */
const secretProgram = (part: 'rotate' | 'verify') =>
  z.union([
    z.strictObject({ service: z.string(), argv: z.array(z.string()).min(1) }),
    z
      .strictObject({ service: z.string(), program: z.enum(databasePrograms) })
      .transform(({ service, program }) => ({ service, ...databaseProgram(program, part) })),
  ]);

const field = z.strictObject({
  name: z.string().min(1),
  /** `Allow sign-ups`: what forms and tables show before the variable. */
  label: z.string().min(1).optional(),
  type: z.enum(fieldTypes),
  secret: z.boolean().default(false),
  required: z.boolean().default(false),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  /** `base64:48`, `hex:16` (bytes), `alphanumeric:32` (characters) (R19); `alphanumeric:32:sk-` begins with `sk-`. */
  generator: z.string().regex(generatorPattern, 'Write base64:48, hex:16 (bytes), alphanumeric:32 (characters) or uuid').optional(),
  enum: z.array(z.string()).min(1).optional(),
  pattern: z.string().optional(),
  length: z.number().int().positive().optional(),
  /** Fields that may not be set together with this one (R21). */
  excludes: texts,
  rule: z.string().optional(),
  /** One sentence of help. */
  description: z.string().optional(),
  /**
   * `environment`: variable `env` of compose.yaml, by default the name itself. `config`: a key of the component's own configuration file.
   * `command`: an argument. `credential`: kept by the console to access the component. `proxy`: a rule of the reverse proxy.
   */
  target: z.enum(['environment', 'config', 'command', 'credential', 'proxy']),
  /** Who uses an address: the `container` by default (R14), people's `browser`, servers on the `internet` (R53), none (`listen`). */
  audience: z.enum(['container', 'browser', 'internet', 'listen']).optional(),
  /** Values for setup only, refused if the component can be reached publicly (R23). */
  setupOnly: z.array(z.string()).optional(),
  /** How to change a secret that is also stored in the data. Without it, a new value takes effect as soon as the containers have it. */
  rotate: z.union([z.strictObject({ never: z.string().min(1) }), secretProgram('rotate')]).optional(),
  /** A call that authenticates with a secret (its input, and the other inputs), or a program that exits with 0 if it is correct. */
  verify: z
    .union([
      z.strictObject({ call: z.string(), input: z.string(), with: z.record(z.string(), z.string()).default({}) }),
      secretProgram('verify'),
    ])
    .optional(),
  /** Secrets of other components that must have the same value, `component/VARIABLE` (R26). */
  sameAs: z.array(z.string().regex(/^[a-z][a-z0-9-]*\/\S+$/, 'write component/VARIABLE')).optional(),
  /** A token that is valid for this time after its creation (R76). */
  validFor: lasting('s|m|h', '30s').optional(),
  env: variable.optional(),
});

const input = z.strictObject({
  type: z.enum(fieldTypes),
  description: z.string(),
  required: z.boolean().default(true),
  secret: z.boolean().default(false),
  file: z.boolean().default(false),
});

const http = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'LIST', 'PROPFIND', 'MKCOL', 'COPY', 'MOVE', 'LOCK']),
  port: z.string(),
  path: z.string().startsWith('/'),
  query: z.record(z.string(), z.string()).default({}),
  /** Part of every request's query, but not of the path that identifies the endpoint: an API version, the client's name (R39). */
  always: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  /**
   * Variable of the main service with the component's public address: the request has the headers of the reverse proxy (X-Forwarded-*), for
   * components that respond according to the name under which they are called.
   */
  publicUrl: variable.optional(),
  basic: z.strictObject({ user: z.string(), password: z.string() }).optional(),
  json: z.unknown().optional(),
  form: z.record(z.string(), z.string()).optional(),
  multipart: z.record(z.string(), z.string()).optional(),
  text: z.string().optional(),
  /** Other statuses are a failure. By default every response counts (R34: 401/403 is up, 429/503 is busy). */
  expect: z.array(z.number().int()).optional(),
});

const call = z
  .strictObject({
    title: z.string(),
    /** True if it changes nothing in the component: probes and checks may use only these calls. */
    reads: z.boolean().default(false),
    /** `none`, or the component's scheme in words (R41). A probe's call must be `none`. */
    auth: z.string().default('none'),
    limit: lasting('ms|s|m', '10s').default('3s'),
    /** A probe or a check may use a response of this age, for an expensive call: a program in a container, a service on the internet. */
    keep: lasting('s|m|h', '30s').default('0s'),
    inputs: z.record(z.string(), input).default({}),
    http: http.optional(),
    /** Secrets may only go to `stdin`: the engine reports the argv of an exec to every event listener. */
    exec: z.strictObject({ service: z.string(), argv: z.array(z.string()).min(1), stdin: z.string().optional() }).optional(),
    tcp: z.strictObject({ port: z.string() }).optional(),
    file: z.strictObject({ service: z.string(), path: z.string().startsWith('/') }).optional(),
    engine: z.strictObject({ service: z.string() }).optional(),
    endpoint: z.boolean().default(false),
    response: z.string().optional(),
    note: z.string().optional(),
  })
  .refine((value) => [value.http, value.exec, value.tcp, value.file, value.engine].filter(Boolean).length === 1, {
    message: 'a call has exactly one of http, exec, tcp, file, engine',
  });

/** CEL. Variables: see `calls/conditions.ts`. */
const condition = z.string().min(1);
/** Text in which `{CEL}` is replaced by its value. */
const template = z.string();
const severity = z.enum(['ok', 'busy', 'warning', 'error', 'off']);

const probedState = z
  .strictObject({
    when: condition,
    state: template,
    /** By default `state` in kebab case, without filled-in parts and numbers. */
    id: name.optional(),
    severity,
    detail: template.default(''),
  })
  .refine(({ state, id }) => id !== undefined || stateId(state) !== '', {
    message: 'a state that is all filled in needs an id',
    path: ['id'],
  });

const probe = z.strictObject({
  call: z.string(),
  /**
   * Read-only calls whose responses `version` and `states` use, as `calls.<name>`. Of a failed or forbidden one only `ok`, false, exists:
   * conditions that refer to its response are not true.
   */
  also: texts,
  every: lasting('s|m', '30s').optional(),
  /** CEL that returns the product's version from the response, or an empty string. */
  version: condition.optional(),
  /** For responses that match none of `states`: `calls/conditions.ts`. Without them the state of the container is shown. */
  defaults: z.boolean().default(true),
  states: z.array(probedState).min(1),
});

const checks = entries({
  id: name,
  when: condition,
  /** Only read-only ones. */
  calls: texts,
  level: z.enum(['error', 'warning', 'notice']),
  message: template,
  remedy: template,
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
    /** A volume of compose.yaml; for a folder mount its target: `/media`. */
    volume: z.string().min(1),
    /**
     * `dump`: a program exports the data while it runs. `copy`: copied while it runs. `pause`: copied while its services are paused, as after
     * a power cut, for products that recover from that. `stop`: copied while they are stopped. `skip`: not backed up.
     */
    method: z.enum(['dump', 'copy', 'pause', 'stop', 'skip']),
    /** Where it is read, and a dump is run; by default the first that mounts it. */
    service: z.string().optional(),
    program: z.enum(databasePrograms).optional(),
    /** To stdout, without secrets in argv: the engine reports it to every event listener. */
    dump: z.array(z.string()).min(1).optional(),
    /** From stdin; replaces the data, while the component's other services are stopped. */
    restore: z.array(z.string()).min(1).optional(),
    with: texts,
    /** Excluded paths: caches, and files that are recreated. */
    exclude: z.array(z.string().regex(/^[^/]/, 'relative to the mount')).default([]),
    /** Shown to the operator. */
    why: z.string().optional(),
  })
  .refine(
    ({ method, program, dump, restore }) => {
      const written = dump !== undefined && restore !== undefined;
      const none = dump === undefined && restore === undefined;
      return method === 'dump' ? (program !== undefined ? none : written) : none && program === undefined;
    },
    { message: 'method: dump requires dump and restore, or the program of a database; the other methods require neither' },
  )
  .refine(({ method, why }) => method !== 'skip' || why !== undefined, { message: 'say why it is skipped' })
  .transform(({ program, ...item }) => ({
    ...item,
    ...(program && { dump: databaseProgram(program, 'dump').argv, restore: databaseProgram(program, 'restore').argv }),
  }));

export const componentSchema = z.strictObject({
  id: name,
  group: z.enum(groups),
  kind: z.string().min(1),
  keywords: z.array(z.string().min(1)).default([]),
  /**
   * `embedded`: a service inside other components. `host`: a program on a machine. `config`: a file or an object of another program.
   * `cluster`: deployed with the tools of a cluster. `external`: operated by a third party.
   */
  deploy: z.enum(['compose', 'embedded', 'host', 'config', 'cluster', 'external']),
  /** For entries without compose.yaml: the image that others run it from, with its tag. */
  image: z.string().optional(),
  product: z.strictObject({
    name: z.string(),
    alternatives: entries({ name: z.string(), image: z.string().optional() }),
    homepage: z.url().optional(),
  }),
  services: named({
    main: z.boolean().default(false),
    role: z.string(),
    /** Exits by itself; exit code 0 is success. */
    oneShot: z.boolean().default(false),
    optional: z.boolean().default(false),
    /** Required for every pin that the specification does not state (R82). */
    tagReason: z.string().optional(),
    /** Why no other image works (R30). */
    irreplaceable: z.string().min(1).optional(),
    /** In engines' names; default: whatever the host has. */
    architectures: z.array(z.enum(['amd64', 'arm64', 'arm', '386', 'riscv64', 'ppc64le', 's390x'])).optional(),
    /** Forks, other publishers. Without tags. */
    images: texts,
  }),
  ports: z.record(name, port).default({}),
  fields: z.array(field).default([]),
  /** Exactly one of each set may be set (R21). */
  oneOf: z.array(z.array(z.string()).min(2)).default([]),
  volumes: named({
    description: z.string(),
    /** Downloads and libraries must be on one filesystem, all downloads in one folder (R27). */
    content: z.enum(['downloads', 'library']).optional(),
  }),
  /**
   * The file that the product reads, as it is delivered: `files/config.yml`. `schema` is a JSON Schema beside component.yaml; `verify` is the
   * product's own check, run in a temporary container of that service, without secrets in argv.
   */
  configFile: z
    .strictObject({
      path: z.string(),
      form: z.string(),
      /** `kea-json` allows comments and trailing commas; plain `json` allows neither. */
      format: z.enum(['yaml', 'json', 'kea-json', 'properties', 'hcl', 'wg-quick']).optional(),
      /** Of several YAML documents, `first` is used, or `each` as a Kubernetes object. By default, a second one is an error. */
      documents: z.enum(['first', 'each']).optional(),
      anyCase: z.boolean().optional(),
      /** A name without a value counts as missing. */
      emptyIsUnset: z.boolean().optional(),
      /** Rendered with Go's text/template before it is read: only quoted text is checked. */
      templates: z.enum(['go']).optional(),
      schema: z
        .string()
        .regex(/^[\w.-]+\.json$/, 'name a .json file of this folder')
        .optional(),
      /** CEL over `config`, the parsed file: an error if true. One that uses a missing value, or one that the schema refuses, is not true. */
      rules: entries({
        when: condition,
        /**
         * `[limits, 0, max]`, or its nearest parent. `*` is each entry of a list or a map: the condition is evaluated for each, with the
         * entry at the last star as `one` and its name or index as `key`.
         */
        at: z.array(z.union([z.string(), z.number().int()])).default([]),
        message: z.string(),
        remedy: z.string(),
        /** `deployed`: an error in a deployment of this entry, a warning in a user's own file. */
        level: z.enum(['error', 'warning', 'deployed']).default('error'),
      }),
      verify: z
        .strictObject({
          service: z.string(),
          argv: z.array(z.string()).min(1),
          /** A regular expression (RE2) with the groups `message` and, if available, `line` and `column`. */
          problem: z.string().optional(),
        })
        .optional(),
    })
    .optional(),
  websocket: z.boolean().default(false),
  /** Requires HTTPS like the group security (R9), because its page has a login and no TLS. `justifies` has the reason for exceptions. */
  sensitive: z.boolean().optional(),
  needs: z.strictObject({ memory: size.optional(), disk: size.optional() }).optional(),
  /** Addresses `scheme://<id>:<container port>` on the network `quarterdeck-<id>`, all of one compose service. */
  provides: z
    .record(name, z.strictObject({ port: name, scheme: z.string().regex(/^[a-z][a-z0-9+.-]*$/, 'write a scheme, such as http') }))
    .optional(),
  /**
   * The field for an address that another component provides, and the services that must reach it (by default the main one). Without a
   * field, it is entered in the product's own page: the entry always joins the provider's network, which need not exist.
   */
  uses: z
    .array(z.strictObject({ component: name, what: name, field: z.string().optional(), services: z.array(z.string()).min(1).optional() }))
    .optional(),
  /** The stages from a release to the library that it serves (R55). `optional`: the chain works without it. */
  chain: entries({ stage: z.enum(chainStages), does: z.string().min(1), optional: z.boolean().default(false) }),
  /** Settings of the reverse proxy for it, if there are more than the port marked `web` (R11). */
  site: z
    .strictObject({
      port: name.optional(),
      /** `otherwise` receives what nothing responds to at the other port (R51). */
      routes: entries({
        path: z.string().regex(/^\/[\w./-]*\*?$/, 'write a path, such as /api/*'),
        port: name,
        otherwise: name.optional(),
      }),
      /**
       * Further sites, whose host names are values of fields; `suggest` is the prefix to the site's own name. The portal protects those with
       * the same port as the site; programs at another one cannot log in there.
       */
      names: entries({ field: z.string(), port: name, suggest: name.optional() }),
      /** For the portal that authorizes requests (R36): the field with its address for browsers. */
      portal: z.string().optional(),
    })
    .optional(),
  /** An API with interactive procedures (`source/products/`), at a port, or by the own command of a service. */
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
  /** As the specification or the product names them; nothing is invented (R64). */
  transitions: entries({
    from: z.string(),
    trigger: z.string(),
    condition: z.string().optional(),
    to: z.string(),
    also: z.string().optional(),
  }),
  limits: entries({ item: z.string(), value: z.string(), kind: z.enum(['stated', 'example', 'suggested', 'guidance']) }),
  /** Commands that an operator runs inside the container, not HTTP (R32). */
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
  /** `check`: the id of the check that detects it: its own, or one of `built-in-checks.ts`. */
  errors: entries({ condition: z.string(), outcome: z.string(), check: z.string().optional() }),
  events: texts,
  /** Required files that no catalog can deliver: nothing is started before they exist. */
  beforeStart: entries({
    id: name,
    /** Paths in the main service: absolute paths below a mounted folder, or names of fields with such paths. */
    files: z.array(z.string().min(1)).min(1),
    message: z.string(),
    remedy: z.string(),
    /** The procedure that creates them (`source/flows/`), with options of its verb. */
    flow: z
      .strictObject({ id: name, title: z.string(), options: z.record(z.string(), z.union([z.string(), z.boolean()])).default({}) })
      .optional(),
  }),
  firstRun: entries({
    id: name,
    title: z.string(),
    detail: z.string().default(''),
    /** Without it, an operator confirms it by hand. */
    done: condition.optional(),
    bySite: z.boolean().optional(),
    /** Its own page where it is done (R38). */
    page: z.string().startsWith('/').optional(),
    /** Until it is done, anyone can log in: a default password, or none (R47). */
    urgent: z.boolean().default(false),
  }),
  upgrade: z
    .strictObject({
      rollback: z.enum(['safe', 'unsafe']).default('unsafe'),
      steps: texts,
      notes: texts,
    })
    .optional(),
  backup: z.array(backupItem).default([]),
  dependsOn: z.array(name).default([]),
  notes: texts,
  /** Why compose.yaml uses an unusual key (R3, R4): the key to the reason. */
  justifies: z.record(z.string(), z.string().min(1)).default({}),
});

export type Component = z.output<typeof componentSchema>;
export type ComponentCall = z.output<typeof call>;
export type BackupItem = z.output<typeof backupItem>;
export type ComponentField = z.output<typeof field>;
