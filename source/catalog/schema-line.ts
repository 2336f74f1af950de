import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installationFolder } from '../config/installation.ts';

export const schemaName = 'dist/component.schema.json';
export const schemaFile = (): string => join(installationFolder(), schemaName);

/** For YAML language servers, so that they know its schema. */
export const schemaLine = (): string => `# yaml-language-server: $schema=${pathToFileURL(schemaFile()).href}`;
