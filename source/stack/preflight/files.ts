import { readConfigSchema } from '../component-source.ts';
import { blocking, type Finding, warning } from '../finding.ts';
import type { PreflightContext } from './context.ts';

/** Answers can be valid individually and invalid together, and the product would then fail to start. Deployed files are not checked. */
export async function* checkConfigFile({ plan, entry }: PreflightContext): AsyncIterable<Finding> {
  const { configFile, product } = entry;
  const file = configFile && plan.files.find(({ path }) => path === `${entry.id}/${configFile.path}`);
  if (!configFile || file?.after === undefined || file.after === file.before) return;
  if (configFile.format === undefined) {
    if (file.edited && configFile.verify) {
      const message = `${configFile.path} was not checked, because only ${product.name} can check it.`;
      yield warning('config-unread', message, `Check the file after you apply the plan: quarterdeck config check ${entry.id}`);
    }
    return;
  }
  // Loads the validator: only a plan that writes such a file waits for it.
  const { checkConfig } = await import('../../config-files/config-check.ts');
  const schema = await readConfigSchema(entry);
  const [first, ...others] = checkConfig(file.after, configFile, schema).filter(({ level }) => level === 'error');
  if (!first) return;
  const { field, message, remedy, line, rule } = first;
  const more = others.length === 0 ? '' : ` First of ${others.length + 1} errors.`;
  // An operator's own text may be valid for a release that the catalog does not know.
  const finding = file.edited ? warning : blocking;
  const problem = `${configFile.path} would be invalid at line ${line}${field === '' ? '' : `, ${field}`}: ${message}${more}`;
  const advice = remedy || (file.edited ? 'Correct the file.' : 'Change the settings from which the file is rendered.');
  yield finding('config-file', problem, advice, { rule });
}
