import type { YamlDocument, YamlPath } from '../config/yaml-document.ts';
import { nameRemedy } from '../text/nearest-name.ts';
import type { ComposeFile, ComposePort, ComposeService } from './compose-file.ts';
import { parseImage } from './images.ts';
import type { Component } from './schema.ts';

/** A catalog folder that has been read and fits the schema, before it is joined into an entry. What the rules look at. */
export interface Draft {
  component: Component;
  componentDocument: YamlDocument;
  /** Missing for entries that do not deploy. */
  compose: ComposeFile | undefined;
  composeDocument: YamlDocument | undefined;
  /** What lies under `files/`, folders too, as compose.yaml would name it when it is delivered: `files/config/server.hcl`. */
  files: ReadonlySet<string>;
  /** Texts of those that are filled in first, by their path in the catalog: `files/haproxy.cfg.liquid`. */
  templates: ReadonlyMap<string, string>;
  /** JSON Schemas beside component.yaml, by name. */
  schemas: ReadonlyMap<string, string>;
  /** From the operator's own catalog folder? */
  own: boolean;
  /** Names of the folder and of the one above it, where the catalog is grouped. */
  folderName: string;
  groupName: string | undefined;
  /** `id port/protocol` of every port that the specification allows beyond loopback (R7); undefined outside the built-in catalog. */
  widePorts: ReadonlySet<string> | undefined;
}

/** What a rule found. `file` says in which of the two files the path is. */
export interface RuleFinding {
  file: 'component' | 'compose';
  /** In another file of the folder: `files/haproxy.cfg.liquid`. */
  below?: { path: string; line: number; column: number };
  path: YamlPath;
  part?: 'key' | 'value';
  /** Characters into the text at that path. */
  offset?: number;
  message: string;
  remedy: string;
  level?: 'error' | 'warning';
}

/** One rule of the lint. */
export interface LintRule {
  /** `R7` of the specification, or a name of our own. */
  id: string;
  check(draft: Draft): Iterable<RuleFinding>;
}

const finding =
  (file: RuleFinding['file']) =>
  (path: YamlPath, message: string, remedy: string, part: 'key' | 'value' = 'value'): RuleFinding => ({
    file,
    path,
    part,
    message,
    remedy,
  });
export const inComponent = finding('component');
export const inCompose = finding('compose');

/** Something names what is not there. */
export function unknown(
  path: YamlPath,
  what: string,
  written: string,
  known: Iterable<string>,
  part: 'key' | 'value' = 'value',
): RuleFinding {
  return inComponent(path, `There is no ${what} "${written}".`, nameRemedy(written, known, 'Declare it first, or remove this.'), part);
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

export function servicesOf(draft: Draft): ComposeService[] {
  return [...(draft.compose?.services.values() ?? [])];
}

export function portsOf(draft: Draft): ComposePort[] {
  return servicesOf(draft).flatMap(({ ports }) => ports);
}

/** The variable of compose.yaml that a field fills; undefined for fields that go elsewhere and name none. */
export function variableOf(field: Component['fields'][number]): string | undefined {
  return field.env ?? (/^[A-Z][A-Z0-9_]*$/.test(field.name) ? field.name : undefined);
}

export function isLoopback(address: string): boolean {
  return address === '::1' || /^127\./.test(address);
}

export function repositoryOf(service: ComposeService): string | undefined {
  return parseImage(service.image)?.repository;
}
