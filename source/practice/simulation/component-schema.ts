import { z } from 'zod';

/**
 * The shape of `practice.yaml`, beside the `component.yaml` of a component that the practice stack has. Images, mounts and environment come
 * from its `compose.yaml`. The build checks these files and writes them to `dist/practice.json`; nothing else loads this schema.
 */

const duration = z.string().regex(/^\d+(ms|s|m|h|d)$/, 'use a number followed by ms, s, m, h or d, such as 500ms');
const texts = z.record(z.string(), z.string());
const byPort = <Schema extends z.ZodType>(schema: Schema) =>
  z.record(z.string().regex(/^\d+$/, 'use the number of a container port'), schema);

/** Templates: see `log-templates.ts`. One can have several lines: a stack trace. */
const log = z.strictObject({
  /** Average time between entries; without it there are none. */
  every: duration.optional(),
  stderr: z.boolean().optional(),
  start: z.array(z.string()).optional(),
  /** The first are the most frequent. */
  entries: z.array(z.string()).optional(),
});

/** Text is sent as it is, any other body as JSON. */
const answer = { status: z.number().int().min(100).max(599).optional(), headers: texts.optional(), body: z.unknown().optional() };

const requirement = z
  .strictObject({
    header: z.string(),
    contains: z.string().optional(),
    /** `${NAME}` is a variable of the container's environment. */
    equals: z.string().optional(),
    /** `equals` is a JSON object, and the header has to be this property of it. An object without the property requires no header. */
    property: z.string().optional(),
  })
  .refine(({ contains, equals }) => (contains === undefined) !== (equals === undefined), 'must have either contains or equals');

const page = z
  .strictObject({
    ...answer,
    /** An HTML page with this title. */
    title: z.string().optional(),
    /** A computed answer: see `pages.ts`. */
    behaviour: z.enum(['keycloak-discovery', 'keycloak-keys']).optional(),
    requires: requirement.optional(),
    /** The answer to other requests, by default status 401 without a body. */
    refused: z.strictObject(answer).optional(),
  })
  .refine(
    ({ body, title, behaviour }) => [body, title, behaviour].filter((content) => content !== undefined).length <= 1,
    'can have only one of body, title and behaviour',
  );

const figure = z.tuple([z.number(), z.number()]);

const scenario = {
  /** Missing where it writes no log, or its simulator does. */
  log: log.optional(),
  /** By container port, then by path without query; `*` is for every other path. */
  pages: byPort(z.record(z.string().regex(/^(\/|\*$)/, 'use a path, or *'), page)).optional(),
  /** Result of its health check; an image without a check has none. */
  health: z.strictObject({ status: z.enum(['starting', 'healthy', 'unhealthy']), output: z.string().default('') }).optional(),
  /** Average and amplitude of what it uses; by default those of a program that only waits. */
  figures: z.strictObject({ cpuPercent: figure, memoryMb: figure }).optional(),
  /** What commands in its containers print, by their first words. A program without a path is found under any path. */
  exec: texts.optional(),
  /** It ends by itself soon after each start. */
  dies: z.strictObject({ exitCode: z.number().int(), after: duration, log }).optional(),
};

const service = z.strictObject({
  /** A service of `base-services.yaml`. Maps of this service are merged into its maps, other values replace its values. */
  extends: z.string().optional(),
  /** The parameters of that service. */
  with: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  ...scenario,
  /** Between its start and its first answer: half a second by default. */
  boot: duration.optional(),
  tty: z.boolean().optional(),
  /** Command lines; the first is that of the container. */
  processes: z.tuple([z.string()], z.string()).optional(),
  /** Files of a new container, by path. */
  files: texts.optional(),
  /** During an incident of this name, and for `settles` and `restarted`. Answers of `exec` are added, everything else is replaced. */
  scenarios: z.record(z.string(), z.strictObject(scenario)).optional(),
  /** It changes to this scenario a while after its start: a feed that is loading is loaded then. */
  settles: z.strictObject({ after: duration, scenario: z.string() }).optional(),
  /** The scenario after a restart, where a restart fixes it. */
  restarted: z.string().optional(),
  /** A job that has ended with 0. */
  finished: z.boolean().optional(),
});

export const practiceSchema = z.strictObject({
  /** Its container was started without compose. */
  byHand: z.boolean().optional(),
  /** How long ago. Missing where it is not deployed, but can be. */
  past: z.strictObject({ created: duration, started: duration, stopped: duration.optional() }).optional(),
  /** Host ports by container port, where another component has the catalog's own. */
  hostPorts: byPort(z.number().int()).optional(),
  /** Values of variables in compose.yaml. */
  values: texts.optional(),
  /** What the operator has written into its files, by path below its folder. */
  files: texts.optional(),
  services: z.record(z.string(), service),
});

export type LogTemplates = z.output<typeof log>;
export type Page = z.output<typeof page>;
export type Requirement = z.output<typeof requirement>;
export type Scenario = z.output<z.ZodObject<typeof scenario>>;
export type PracticeService = z.output<typeof service>;
export type PracticeComponent = z.output<typeof practiceSchema> & { component: string };
