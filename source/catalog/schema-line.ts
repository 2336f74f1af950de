import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installationFolder } from '../config/installation.ts';

/** The JSON Schema of component.yaml, as the build writes it for editors. */
export function schemaFile(): string {
  return join(installationFolder(), 'dist', 'component.schema.json');
}

/** What a YAML language server wants as the first line of a file, to know its keys. */
export function schemaLine(): string {
  return `# yaml-language-server: $schema=${pathToFileURL(schemaFile()).href}`;
}
