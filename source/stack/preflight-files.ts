import { join } from 'node:path';
import { installationFolder } from '../config/installation.ts';
import { readConfigSchema } from './component-source.ts';
import type { Finding } from './finding.ts';
import { blocking, type PreflightCheck, type PreflightContext, warning } from './preflight-context.ts';

/** What is wrong with the files that a plan writes. */
export const fileChecks: readonly PreflightCheck[] = [{ id: 'config-file', what: 'Configuration file', run: checkConfigFile }];

/** Answers can be right each for itself and wrong together; the product would say so by not starting. What stands there already is left to it. */
async function checkConfigFile({ plan, entry }: PreflightContext): Promise<Finding[]> {
  const { configFile } = entry;
  const file = configFile && plan.files.find(({ path }) => path === `${entry.id}/${configFile.path}`);
  if (!configFile || file?.after === undefined || file.after === file.before) return [];
  const { product } = entry;
  if (configFile.format === undefined)
    return file.edited && configFile.verify
      ? [
          warning(
            'config-unread',
            `${configFile.path} is not read here: only ${product.name} itself can tell what is wrong with it.`,
            `Ask it once this is applied: quarterdeck config check ${entry.id}`,
          ),
        ]
      : [];
  // Loads the validator: only who writes such a file waits for it.
  const { checkConfig } = await import('../products/config-check.ts');
  const schema = configFile.schema === undefined ? undefined : await readConfigSchema(entry, join(installationFolder(), 'catalog'));
  const [first, ...others] = checkConfig(file.after, configFile, schema).filter(({ level }) => level === 'error');
  if (!first) return [];
  const { field, message, remedy, line, rule } = first;
  const more = others.length === 0 ? '' : ` It is the first of ${others.length + 1} mistakes.`;
  // A text of somebody's own may be right for a release that the catalog does not know.
  const finding = file.edited ? warning : blocking;
  return [
    finding(
      'config-file',
      `${configFile.path} would be wrong in line ${line}${field === '' ? '' : `, ${field}`}: ${message}${more}`,
      remedy === '' ? 'Change the answers that it is made of.' : remedy,
      rule === undefined ? {} : { rule },
    ),
  ];
}
