import { nameRemedy } from '../text/nearest-name.ts';
import type { YamlDocument, YamlPath } from '../yaml/document.ts';
import type { ComposeFile, ComposePort, ComposeService } from './compose-file.ts';
import { parseImage } from './images.ts';
import type { Component } from './schema.ts';

/** A catalog folder that matches the schema, before it is joined into an entry. The input of the rules. */
export interface Draft {
  component: Component;
  componentDocument: YamlDocument;
  /** Missing for entries that do not deploy. */
  compose: ComposeFile | undefined;
  composeDocument: YamlDocument | undefined;
  /** Paths under `files/`, folders too, as compose.yaml would name them after delivery: `files/config/server.hcl`. */
  files: ReadonlySet<string>;
  /** Texts of the templates among them, by their path in the catalog: `files/haproxy.cfg.liquid`. */
  templates: ReadonlyMap<string, string>;
  schemas: ReadonlyMap<string, string>;
  own: boolean;
  folderName: string;
  groupName: string | undefined;
  /** `id port/protocol` of every port that the specification allows beyond loopback (R7); undefined outside the built-in catalog. */
  widePorts: ReadonlySet<string> | undefined;
}

export interface RuleFinding {
  file: 'component' | 'compose';
  /** In another file of the folder: `files/haproxy.cfg.liquid`. */
  below?: { path: string; line: number; column: number };
  path: YamlPath;
  part?: 'key' | 'value';
  offset?: number;
  message: string;
  remedy: string;
  level?: 'error' | 'warning';
}

export interface LintRule {
  /** `R7` of the specification, or a name of our own. */
  id: string;
  check(draft: Draft): Iterable<RuleFinding>;
}

type Part = NonNullable<RuleFinding['part']>;

const finding =
  (file: RuleFinding['file']) =>
  (path: YamlPath, message: string, remedy: string, part: Part = 'value'): RuleFinding => ({ file, path, part, message, remedy });
export const inComponent = finding('component');
export const inCompose = finding('compose');
export const warning = (reported: RuleFinding): RuleFinding => ({ ...reported, level: 'warning' });
/** In an operator's own catalog only a warning: it may be older than a rule, and every host may have a newer compose program. */
export const warningIfOwn = ({ own }: Draft, reported: RuleFinding): RuleFinding => ({ ...reported, level: own ? 'warning' : 'error' });

export function unknown(path: YamlPath, what: string, written: string, known: Iterable<string>, part?: Part): RuleFinding {
  return inComponent(path, `Unknown ${what} "${written}".`, nameRemedy(written, known, 'Declare this name, or remove it.'), part);
}

export const portAnnotation = (component: Component, port: ComposePort): [string, Component['ports'][string]] | undefined => {
  const annotations = Object.entries(component.ports);
  if (port.name !== undefined) return annotations.find(([name]) => name === port.name);
  return annotations.find(
    ([name, annotation]) =>
      ((annotation.container === port.container || annotation.container === port.range.first) &&
        (annotation.protocol ?? port.protocol) === port.protocol &&
        (annotation.service ?? port.service) === port.service) ||
      (annotation.container === undefined && annotation.number === undefined && name === port.service),
  );
};

export const servicesOf = (draft: Draft): ComposeService[] => [...(draft.compose?.services.values() ?? [])];

export const portsOf = (draft: Draft): ComposePort[] => servicesOf(draft).flatMap(({ ports }) => ports);

/** Undefined for fields with another destination that name no variable of compose.yaml. */
export function variableOf(field: Component['fields'][number]): string | undefined {
  return field.env ?? (/^[A-Z][A-Z0-9_]*$/.test(field.name) ? field.name : undefined);
}

export const repositoryOf = (service: ComposeService): string | undefined => parseImage(service.image)?.repository;
