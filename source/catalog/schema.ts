import { z } from 'zod';
import { chainStages } from './chain-stages.ts';
import { databaseProgram, databasePrograms } from './database-programs.ts';
import { generatorPattern } from './generators.ts';
import { groups } from './groups.ts';

/**
 * The shape of `component.yaml`. Facts that a compose file can hold (images, ports, volumes, environment) live in `compose.yaml`
 * alone; here they are annotated by name. Emitted as JSON Schema for editors.
 */

/** Field types. Each has a check in `field-types.ts`; `pattern`, `enum` and `length` narrow it further. */
export const fieldTypes = [
  'string',
  'secret-string',
  'string-boolean',
  'boolean',
  'integer',
  'string-integer',
  'enum',
  'url',
  'jdbc-url',
  'database-url',
  'path',
  'hostname',
  'domain',
  'address',
  'ip-address',
  'cidr',
  'email',
  'timezone',
  'duration',
  'cron',
  'dn',
  'ldap-filter',
  'list',
  'comma-separated-list',
  'list of ip-address',
  'cidr-list',
  'map',
  'object',
  'quantity',
  'size',
  'schedule',
  'command',
  'line',
  'lines',
  'credentials',
  'interface-name',
  'group',
] as const;

const name = z.string().regex(/^[a-z][a-z0-9-]*$/, 'use lower case letters, digits and dashes, starting with a letter');
const line = z.number().int().positive();
/** `512MB`, `4GB`: powers of 1024. */
const size = z.string().regex(/^\d+(MB|GB)$/, 'use a number and MB or GB');
/** Where a value comes from. `document` is the specification; everything else names its source. */
const source = z.string().min(1);

const port = z.strictObject({
  /** Name of the service in compose.yaml, where it cannot be derived because several publish under this name. */
  service: z.string().optional(),
  role: z.string(),
  exposure: z.enum(['loopback', 'all', 'host-network']),
  basis: z.string().optional(),
  /** Protocol-fixed ports are refused, not remapped (port-conflicts.md). */
  fixed: z.boolean().default(false),
  /** A web page for people: becomes the component's link. */
  web: z.boolean().default(false),
  tls: z.boolean().default(false),
  /** A port of a `network_mode: host` service, which compose.yaml cannot publish. */
  number: z.number().int().min(1).max(65535).optional(),
  protocol: z.enum(['tcp', 'udp']).optional(),
  /** The container port meant, where compose.yaml publishes it without a variable that names it. */
  container: z.number().int().min(1).max(65535).optional(),
  source: source.optional(),
});

/**
 * A program in a service's container that is given a secret and a line feed on stdin, never in its arguments: written out, or the one that every database of a
 * kind has (`mysql` for MariaDB too; `mysql-root` where the secret is the administrator's).
 */
const secretProgram = (part: 'rotate' | 'proves') =>
  z.union([
    z.strictObject({ service: z.string(), argv: z.array(z.string()).min(1), source: source.optional() }),
    z
      .strictObject({ service: z.string(), program: z.enum(databasePrograms) })
      .transform(({ service, program }) => ({ service, ...databaseProgram(program, part) })),
  ]);

const field = z.strictObject({
  name: z.string().min(1),
  type: z.enum(fieldTypes),
  /** Never shown (R2). */
  secret: z.boolean().default(false),
  required: z.boolean().default(false),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
  /** `stated`, `example`, `derived ...`, `product`: how the default came to be. */
  defaultKind: z.string().optional(),
  /** `base64:48`, `hex:16`, `alphanumeric:32`: kind and number of bytes (characters for alphanumeric) (R19); `alphanumeric:32:sk-` begins with `sk-`. */
  generator: z.string().regex(generatorPattern, 'Write base64:48, hex:16 (bytes), alphanumeric:32 (characters) or uuid').optional(),
  enum: z.array(z.string()).min(1).optional(),
  pattern: z.string().optional(),
  length: z.number().int().positive().optional(),
  /** Names of fields that may not be set together with this one (R21). */
  excludes: z.array(z.string()).default([]),
  /** Rule in words, shown to the operator. */
  rule: z.string().optional(),
  meaning: z.string().optional(),
  /**
   * Where the value goes: `environment` (variable `env` of compose.yaml, the name itself when `env` is missing), `config` (a key of the
   * component's own configuration file), `command` (an argument), `credential` (kept by the console to talk to the component),
   * `proxy` (a rule of the reverse proxy).
   */
  goes: z.enum(['environment', 'config', 'command', 'credential', 'proxy']),
  /**
   * Who follows an address: the component's own `container` (where `localhost` is the container itself, R14; taken for granted where nothing is said),
   * people's `browser`, servers on the `internet` (R53), or nobody: the component listens there (`listen`).
   */
  reach: z.enum(['container', 'browser', 'internet', 'listen']).optional(),
  /** Values that are for setting up only, and refused where the component can be reached publicly (R23). */
  setupOnly: z.array(z.string()).optional(),
  /**
   * Of a secret that rests in the data too: how a new one gets there, or why none can. Without it a new value is in force as soon as the containers have it.
   */
  rotate: z.union([z.strictObject({ never: z.string().min(1) }), secretProgram('rotate')]).optional(),
  /** Of a secret: a call that authenticates with it (its input, and others that it needs), or a program that ends with 0 when it is right. */
  proves: z
    .union([
      z.strictObject({
        call: z.string(),
        input: z.string(),
        with: z.record(z.string(), z.string()).default({}),
        source: source.optional(),
      }),
      secretProgram('proves'),
    ])
    .optional(),
  /** Secrets of other components that must have the same value, `component/VARIABLE` (R26). */
  sameAs: z.array(z.string().regex(/^[a-z][a-z0-9-]*\/\S+$/, 'write component/VARIABLE')).optional(),
  /** A token that is worth something for so long after it was made (R76). */
  validFor: z
    .string()
    .regex(/^\d+(s|m|h)$/, 'write a number and s, m or h, such as 30s')
    .optional(),
  env: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/, 'use capital letters, digits and underscores, starting with a letter')
    .optional(),
  source: source.optional(),
});

/** A value to fill in when the call is made: `<name>` in paths, queries, bodies and argv. */
const input = z.strictObject({
  type: z.enum(fieldTypes),
  meaning: z.string(),
  required: z.boolean().default(true),
  secret: z.boolean().default(false),
  /** In a multipart body: sent as a file, not as a plain value. */
  file: z.boolean().default(false),
});

const http = z.strictObject({
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'LIST', 'PROPFIND', 'MKCOL', 'COPY', 'MOVE', 'LOCK']),
  /** Name of a port of this component. */
  port: z.string(),
  /** Begins with a slash; may hold `<name>` placeholders. */
  path: z.string().startsWith('/'),
  query: z.record(z.string(), z.string()).default({}),
  /** Goes behind the query in every request, but is no part of the path by which the endpoint is known: the version of an API, the name of who asks (R39). */
  always: z.record(z.string(), z.string()).optional(),
  headers: z.record(z.string(), z.string()).default({}),
  /**
   * Variable of the main service that holds the component's public address, or its name alone where that is reached by https: the request says what the reverse
   * proxy in front would say (X-Forwarded-Proto, -Host, -Method and -Uri), for what answers nobody who comes by another name, or answers what it was called by.
   */
  behind: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/, 'use capital letters, digits and underscores, starting with a letter')
    .optional(),
  /** HTTP basic auth: encoded into the header when the call is made. May hold `<name>` placeholders. */
  basic: z.strictObject({ user: z.string(), password: z.string() }).optional(),
  json: z.unknown().optional(),
  form: z.record(z.string(), z.string()).optional(),
  multipart: z.record(z.string(), z.string()).optional(),
  text: z.string().optional(),
  /** Statuses that count as an answer; others are a failure. Missing: every answer counts (R34: 401/403 is up, 429/503 is busy). */
  expect: z.array(z.number().int()).optional(),
});

const call = z
  .strictObject({
    title: z.string(),
    /** True when nothing changes over there: probes and checks may use only these. */
    reads: z.boolean().default(false),
    /** How it authenticates: `none`, or the component's scheme in words (R41). A probe's call must be `none`. */
    auth: z.string().default('none'),
    limit: z
      .string()
      .regex(/^\d+(ms|s|m)$/, 'write a number and ms, s or m, such as 10s')
      .default('3s'),
    /** A probe or a check may use an answer that is no older than this: for what is dear to ask (a program inside a container, a service on the internet). */
    keep: z
      .string()
      .regex(/^\d+(s|m|h)$/, 'write a number and s, m or h, such as 30s')
      .default('0s'),
    inputs: z.record(z.string(), input).default({}),
    http: http.optional(),
    /** Secrets may only go to `stdin`: the engine tells everybody who listens what the argv of an exec is. */
    exec: z.strictObject({ service: z.string(), argv: z.array(z.string()).min(1), stdin: z.string().optional() }).optional(),
    tcp: z.strictObject({ port: z.string() }).optional(),
    file: z.strictObject({ service: z.string(), path: z.string().startsWith('/') }).optional(),
    /** What the engine knows of a service: answer `{state, health, exitCode, restarts, env, uptime, argv, devices}`. */
    engine: z.strictObject({ service: z.string() }).optional(),
    /** Of the specification's endpoint table: belongs to the public list of endpoints. */
    endpoint: z.boolean().default(false),
    response: z.string().optional(),
    note: z.string().optional(),
    line: line.optional(),
    source: source.optional(),
  })
  .refine((value) => [value.http, value.exec, value.tcp, value.file, value.engine].filter(Boolean).length === 1, {
    message: 'a call has exactly one of http, exec, tcp, file, engine',
  });

/** CEL. Variables: see `calls/conditions.ts`. */
const condition = z.string().min(1);
/** Text in which `{CEL}` is replaced by its value. */
const template = z.string();
const tone = z.enum(['good', 'busy', 'warn', 'bad', 'idle', 'unknown']);

const probe = z.strictObject({
  call: z.string(),
  /**
   * Further reading calls whose answers `version` and `says` use, as `calls.<name>`, made together with the first and as rarely. One that
   * could not be made (an exec in read-only mode) is there with `ok` false: the conditions then say what can be said without it.
   */
  also: z.array(z.string()).default([]),
  /** Missing: the interval of the settings (R81). */
  every: z
    .string()
    .regex(/^\d+(s|m)$/, 'write a number and s or m, such as 30s')
    .optional(),
  /** CEL that gives the product's version out of the answer, or an empty string. */
  version: condition.optional(),
  /** What is said of answers that `says` has no words for (`calls/usual-sayings.ts`). Without them the container's own state stands. */
  usual: z.boolean().default(true),
  /** The first that holds wins. */
  says: z.array(z.strictObject({ when: condition, word: template, tone, detail: template.default('') })).min(1),
});

const check = z.strictObject({
  id: name,
  when: condition,
  /** Calls whose answers the condition uses, as `calls.<name>`. Only reading ones. */
  calls: z.array(z.string()).default([]),
  level: z.enum(['error', 'warning', 'notice']),
  message: template,
  remedy: template,
  rule: z
    .string()
    .regex(/^R\d+$/, 'write R and a number, such as R9')
    .optional(),
  line: line.optional(),
  source: source.optional(),
});

const operation = z.strictObject({
  id: name,
  title: z.string(),
  call: z.string(),
  right: z.enum(['read', 'reveal', 'operate', 'destroy']),
  /** What is lost, for `destroy`. */
  consequences: z.array(z.string()).default([]),
});

/** How one volume, or mount without a name, gets into a backup and back (`stack/backup-plan.ts`). */
const backupItem = z
  .strictObject({
    /** Names its file in a backup. */
    id: name,
    /** A volume of compose.yaml; for a mount of a folder its target: `/media`. */
    volume: z.string().min(1),
    /**
     * `dump`: a program of the product writes what is in it, while it runs. `copy`: files that may be copied while it runs. `pause`: copied while the services that
     * mount it stand still, as after a power cut; for what recovers from that, and must not be stopped. `stop`: copied while they are stopped. `skip`: not saved.
     */
    way: z.enum(['dump', 'copy', 'pause', 'stop', 'skip']),
    /** In which service it is read, and a dump is run; the first that mounts it where missing. */
    service: z.string().optional(),
    /** Instead of `dump` and `restore`: those that every database of a kind has. */
    program: z.enum(databasePrograms).optional(),
    /** Writes the dump to stdout. Secrets never stand in it: the engine tells everybody who listens what the argv of an exec is. */
    dump: z.array(z.string()).min(1).optional(),
    /** Reads the dump from stdin, and replaces what is there. Runs while the component's other services are stopped. */
    restore: z.array(z.string()).min(1).optional(),
    /** Further services that stand still with it. */
    with: z.array(z.string()).default([]),
    /** Paths in it that are left out: caches, and what is made anew. */
    exclude: z.array(z.string().regex(/^[^/]/, 'relative to the mount')).default([]),
    /** Why this way; for `skip` why it is not saved. Shown to the operator. */
    why: z.string().optional(),
    source: source.optional(),
  })
  .refine(
    ({ way, program, dump, restore }) => {
      const written = dump !== undefined && restore !== undefined;
      const none = dump === undefined && restore === undefined;
      return way === 'dump' ? (program !== undefined ? none : written) : none && program === undefined;
    },
    { message: 'way: dump wants dump and restore, or the program of a database; the other ways want neither' },
  )
  .refine(({ way, why }) => way !== 'skip' || why !== undefined, { message: 'say why it is skipped' })
  .transform(({ program, ...item }) =>
    program === undefined
      ? item
      : {
          ...item,
          dump: databaseProgram(program, 'dump').argv,
          restore: databaseProgram(program, 'restore').argv,
          source: item.source ?? databaseProgram(program, 'dump').source,
        },
  );

export const componentSchema = z.strictObject({
  id: name,
  group: z.enum(groups),
  /** What it is, without naming the product: what people look for. */
  kind: z.string().min(1),
  /** What people call it, or what they want it for, where neither kind nor product says so: they are found by. */
  keywords: z.array(z.string().min(1)).default([]),
  /**
   * `compose`: from here, with its compose.yaml. `embedded`: a service inside other components. `host`: a program or package on a machine. `config`: a
   * file or an object of another program. `cluster`: by the means of a cluster. `external`: somebody else runs it.
   */
  deploy: z.enum(['compose', 'embedded', 'host', 'config', 'cluster', 'external']),
  /** Of what has no compose.yaml, with its tag: the image that others run it from. */
  image: z.string().optional(),
  product: z.strictObject({
    name: z.string(),
    confidence: z.enum(['sure', 'likely', 'guess']),
    why: z.string().optional(),
    alternatives: z.array(z.strictObject({ name: z.string(), image: z.string().optional() })).default([]),
    homepage: z.url().optional(),
  }),
  /** Annotations of the services in compose.yaml. Exactly one is `main`. */
  services: z
    .record(
      z.string(),
      z.strictObject({
        main: z.boolean().default(false),
        role: z.string(),
        /** Ends by itself when its work is done; exit code 0 is success. */
        oneShot: z.boolean().default(false),
        /** Started only in some set-ups (a compose profile). */
        optional: z.boolean().default(false),
        /** Why this tag: required for every pin that the specification does not state (R82). */
        tagReason: z.string().optional(),
        /** Why no image of another name will do: what this one has and others of its kind lack (R30). */
        irreplaceable: z.string().min(1).optional(),
        /** The only architectures that the image is made for, as engines name them; missing: whatever the host has. */
        architectures: z.array(z.enum(['amd64', 'arm64', 'arm', '386', 'riscv64', 'ppc64le', 's390x'])).optional(),
        /** Further image names that are this service too: forks, other publishers. Without tags. */
        images: z.array(z.string()).default([]),
        source: source.optional(),
      }),
    )
    .default({}),
  ports: z.record(name, port).default({}),
  fields: z.array(field).default([]),
  /** Exactly one of each set may be set (R21). */
  oneOf: z.array(z.array(z.string()).min(2)).default([]),
  /** Mounts of compose.yaml, by target. */
  volumes: z
    .record(
      z.string(),
      z.strictObject({
        meaning: z.string(),
        /** Downloads and libraries belong on one filesystem, all downloads into one folder (R27). */
        holds: z.enum(['downloads', 'library']).optional(),
        source: source.optional(),
      }),
    )
    .default({}),
  /**
   * The file that the product reads, as it is delivered: `files/config.yml`. `format` and `schema` (a JSON Schema beside component.yaml) find mistakes of an editor
   * with their line; `verify` is the product's own check of it, run in a container of that service that ends with it, without its secrets in argv.
   */
  configFile: z
    .strictObject({
      path: z.string(),
      form: z.string(),
      /** `kea-json` has comments, commas too many and `<?include?>`; plain `json` has none of them. */
      format: z.enum(['yaml', 'json', 'kea-json', 'properties', 'hcl', 'wg-quick']).optional(),
      /**
       * What the product makes of several documents in a YAML file: `first` ignores all but that one; `each` takes objects of Kubernetes, of which those of the schema's
       * kind are checked. Where nothing is said, a second one is a mistake.
       */
      documents: z.enum(['first', 'each']).optional(),
      /** The product takes names of settings in large and small letters alike. */
      anyCase: z.boolean().optional(),
      /** A name without a value is for the product as if it were not there. */
      emptyIsUnset: z.boolean().optional(),
      /** The product fills the file in before it reads it, with Go's text/template. */
      templates: z.enum(['go']).optional(),
      schema: z
        .string()
        .regex(/^[\w.-]+\.json$/, 'name a .json file of this folder')
        .optional(),
      /**
       * What a schema cannot say, as CEL over `config`, the file as it was read: wrong where `when` holds. `quantity("500m")` is a number. A condition that asks for what
       * is not there, or for what the schema refuses, does not hold.
       */
      rules: z
        .array(
          z.strictObject({
            when: z.string().min(1),
            /**
             * Keys that lead to what is wrong: `[limits, 0, max]`; where it is not there, what is nearest. `*` is each entry of a list or a map: the condition is asked
             * for every one, sees the entry at the last star as `one`, its name or number as `key`, and tells each that is wrong.
             */
            at: z.array(z.union([z.string(), z.number().int()])).default([]),
            message: z.string(),
            remedy: z.string(),
            /** `warning`: it may be meant. `deployed`: it is wrong as this entry is deployed; in a file of somebody's own it is a warning. */
            level: z.enum(['error', 'warning', 'deployed']).default('error'),
            rule: z
              .string()
              .regex(/^R\d+$/, 'write R and a number, such as R9')
              .optional(),
            source: source.optional(),
          }),
        )
        .default([]),
      verify: z
        .strictObject({
          service: z.string(),
          argv: z.array(z.string()).min(1),
          /** What it says of a mistake: a regular expression (RE2) with the groups `message` and, where it tells, `line` and `column`. */
          problem: z.string().optional(),
          source: source.optional(),
        })
        .optional(),
      source: source.optional(),
    })
    .optional(),
  websocket: z.boolean().default(false),
  /**
   * Wants HTTPS like those of the group security (R9), because people log in on its page and that has no TLS of its own. Not said of what asks nobody who they
   * are, and of programs' ports alone. Where the catalog says something else, `justifies` says why.
   */
  sensitive: z.boolean().optional(),
  /** What it needs at least of the host. */
  needs: z.strictObject({ memory: size.optional(), disk: size.optional(), source: source.optional() }).optional(),
  /**
   * What other components use of this one, by name: an address `scheme://<id>:<container port>` on the network `quarterdeck-<id>`. All of it is one service's.
   */
  provides: z
    .record(name, z.strictObject({ port: name, scheme: z.string().regex(/^[a-z][a-z0-9+.-]*$/, 'write a scheme, such as http') }))
    .optional(),
  /**
   * Where an address that another component provides goes: a field, and the services that have to reach it (the main one where none is named). Without a field it
   * is typed in the product's own page: the entry joins the provider's network in any case, and needs nobody there.
   */
  uses: z
    .array(z.strictObject({ component: name, what: name, field: z.string().optional(), services: z.array(z.string()).min(1).optional() }))
    .optional(),
  /**
   * Which stages of the way from a release to the library it serves (R55). `aside`: the stage goes on without it, as without the page on which people ask for films.
   */
  chain: z.array(z.strictObject({ stage: z.enum(chainStages), does: z.string().min(1), aside: z.boolean().default(false) })).default([]),
  /** How the reverse proxy serves it, where that is more than the port marked `web` (R11). */
  site: z
    .strictObject({
      port: name.optional(),
      /** Paths that go to another port (R51); `otherwise` gets them where nobody answers there. */
      routes: z
        .array(
          z.strictObject({
            path: z.string().regex(/^\/[\w./-]*\*?$/, 'write a path, such as /api/*'),
            port: name,
            otherwise: name.optional(),
          }),
        )
        .default([]),
      /**
       * Further names, each the value of a field: while the component has a site each gets one too, which leads to that port. `suggest` is put in front of the site's own
       * name where nobody said another. The portal stands before those that lead to the same port as the site; programs at another one cannot log in there.
       */
      names: z.array(z.strictObject({ field: z.string(), port: name, suggest: name.optional() })).default([]),
      /** Of the portal that decides who may pass (R36): the field with the address at which browsers find it. */
      portal: z.string().optional(),
    })
    .optional(),
  /** An API for which there are procedures with questions (`source/products/`), and where: a port, or the service whose own command is run. */
  speaks: z
    .strictObject({
      api: z.enum(['vault', 'headscale', 'crowdsec', 'authelia', 'vaultwarden', 'oidc', 'ldap', 'step-ca', 'wg-easy', 'gluetun', 's3']),
      port: name.optional(),
      service: name.optional(),
      /** Variables of the main service that hold the keys which requests are signed with. */
      keys: z.strictObject({ access: z.string(), secret: z.string() }).optional(),
    })
    .optional(),
  auth: z.string().default('none'),
  calls: z.record(name, call).default({}),
  probe: probe.optional(),
  operations: z.array(operation).default([]),
  checks: z.array(check).default([]),
  /** Moves that the specification or the product names; nothing invented (R64). */
  states: z
    .array(
      z.strictObject({
        from: z.string(),
        trigger: z.string(),
        condition: z.string().optional(),
        to: z.string(),
        also: z.string().optional(),
        line: line.optional(),
        source: source.optional(),
      }),
    )
    .default([]),
  limits: z
    .array(
      z.strictObject({
        item: z.string(),
        value: z.string(),
        kind: z.enum(['stated', 'example', 'suggested', 'guidance']),
        line: line.optional(),
      }),
    )
    .default([]),
  /** What an operator runs inside: commands, not HTTP (R32). */
  cli: z.array(z.string()).default([]),
  objects: z
    .array(
      z.strictObject({
        name: z.string(),
        fields: z
          .array(
            z.strictObject({
              name: z.string(),
              type: z.string(),
              required: z.boolean().default(false),
              secret: z.boolean().default(false),
              rule: z.string().optional(),
            }),
          )
          .default([]),
        note: z.string().optional(),
      }),
    )
    .default([]),
  /** What goes wrong and how it shows. `check`: id of the check that finds it, where one can: its own, or one of `standing-checks.ts`. */
  errors: z
    .array(z.strictObject({ condition: z.string(), outcome: z.string(), check: z.string().optional(), line: line.optional() }))
    .default([]),
  events: z.array(z.string()).default([]),
  /** Files that no catalog can deliver, and without which it does not start: nothing is started before they are there. */
  beforeStart: z
    .array(
      z.strictObject({
        id: name,
        /** As the main service sees them: absolute paths below a mounted folder, or names of fields whose values are such paths. */
        files: z.array(z.string().min(1)).min(1),
        message: z.string(),
        remedy: z.string(),
        /** The procedure that makes them, by the id of its flow (`source/flows/`), with options of its verb. */
        flow: z
          .strictObject({ id: name, title: z.string(), options: z.record(z.string(), z.union([z.string(), z.boolean()])).default({}) })
          .optional(),
        source: source.optional(),
      }),
    )
    .default([]),
  firstRun: z
    .array(
      z.strictObject({
        id: name,
        title: z.string(),
        detail: z.string().default(''),
        /** When it is done, as the answers of calls that only read tell. Without it an operator confirms it by hand. */
        done: condition.optional(),
        /** It is done once the reverse proxy has a site for it. */
        bySite: z.boolean().optional(),
        /** Path of its own page where it is done (R38). */
        page: z.string().startsWith('/').optional(),
        /** Until it is done everybody gets in: a default password, no password (R47). */
        urgent: z.boolean().default(false),
        rule: z.string().optional(),
        line: line.optional(),
        source: source.optional(),
      }),
    )
    .default([]),
  upgrade: z
    .strictObject({
      rollback: z.enum(['safe', 'unsafe']).default('unsafe'),
      steps: z.array(z.string()).default([]),
      notes: z.array(z.string()).default([]),
    })
    .optional(),
  /** How its data is saved, volume by volume: every one is named here. */
  backup: z.array(backupItem).default([]),
  dependsOn: z.array(name).default([]),
  notes: z.array(z.string()).default([]),
  sources: z.array(z.string()).default([]),
  /** Why compose.yaml uses a key beyond the usual ones (R3, R4): the key to the reason. */
  justifies: z.record(z.string(), z.string().min(1)).default({}),
  /** Lines of the specification this entry rests on. */
  lines: z.array(line).default([]),
});

export type Component = z.output<typeof componentSchema>;
export type ComponentCall = z.output<typeof call>;
export type BackupItem = z.output<typeof backupItem>;
export type ComponentField = z.output<typeof field>;
export type FieldType = (typeof fieldTypes)[number];
