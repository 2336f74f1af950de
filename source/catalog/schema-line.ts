import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installationFolder } from '../config/installation.ts';

export function schemaFile(): string {
  return join(installationFolder(), 'dist', 'component.schema.json');
}

/** For YAML language servers, so that they know its schema. */
export function schemaLine(): string {
  return `# yaml-language-server: $schema=${pathToFileURL(schemaFile()).href}`;
}
